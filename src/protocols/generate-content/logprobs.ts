import type { TokenChance, TokenLogprob } from "../../core/chat.ts";
import { isJsonObject, type JsonObject, objectsIn } from "../../core/json/json-value.ts";
import { numberIn } from "../logprobs.ts";

// Source: `LogprobsResult` of https://ai.google.dev/api/generate-content.

/** How likely the tokens of a candidate's piece were, as one list; none where it does not say so. */
export function readLogprobs(result: unknown): readonly (readonly TokenLogprob[])[] {
  if (!isJsonObject(result)) return [];
  const tops = objectsIn(result.topCandidates);
  const tokens = objectsIn(result.chosenCandidates).flatMap((chosen, i) =>
    chancesIn([chosen]).map((chance) =>
      Object.assign(chance, { top: chancesIn(objectsIn(tops[i]?.candidates)) }),
    ),
  );
  return tokens.length === 0 ? [] : [tokens];
}

function chancesIn(list: readonly JsonObject[]): readonly TokenChance[] {
  return list.flatMap(({ token, logProbability }) => {
    const logprob = numberIn(logProbability);
    return typeof token === "string" && logprob !== undefined ? [{ token, logprob }] : [];
  });
}

/** The same as it is written: one list of the tokens, and one of what else was likely in the place of each. */
export function writeLogprobs(tokens: readonly TokenLogprob[]): JsonObject {
  const written = ({ token, logprob }: TokenChance) => ({ token, logProbability: logprob });
  const tops = tokens.map(({ top }) => ({ candidates: top.map(written) }));
  return {
    chosenCandidates: tokens.map(written),
    ...(tokens.some(({ top }) => top.length > 0) ? { topCandidates: tops } : {}),
  };
}
