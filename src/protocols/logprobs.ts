import type { TokenChance, TokenLogprob } from "../core/chat.ts";
import { isJsonObject, type JsonObject, objectsIn } from "../core/json/json-value.ts";

// How likely a model found its tokens, as chat completions and Responses both have it.

/** The tokens of a list that name themselves and how likely they were. */
export function readLogprobs(list: unknown): readonly TokenLogprob[] {
  return objectsIn(list).flatMap((token) =>
    chancesIn([token]).map((chance) =>
      Object.assign(chance, { top: chancesIn(objectsIn(token.top_logprobs)) }),
    ),
  );
}

function chancesIn(list: readonly JsonObject[]): readonly TokenChance[] {
  return list.flatMap(({ token, logprob, bytes }) => {
    const value = numberIn(logprob);
    if (typeof token !== "string" || value === undefined) return [];
    return [{ token, logprob: value, ...(isBytes(bytes) ? { bytes } : {}) }];
  });
}

function isBytes(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((byte) => typeof byte === "number");
}

/** A number, also one that keeps its digits. */
export function numberIn(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  const digits = isJsonObject(value) ? value.rawJSON : undefined;
  return typeof digits === "string" ? Number(digits) : undefined;
}

/** The same as it is written. A token without its bytes is whole characters. */
export function writeLogprobs(tokens: readonly TokenLogprob[]): readonly JsonObject[] {
  return tokens.map(({ top, ...token }) => ({ ...written(token), top_logprobs: top.map(written) }));
}

function written({ token, logprob, bytes }: TokenChance): JsonObject {
  return { token, logprob, bytes: bytes ?? [...encoder.encode(token)] };
}

const encoder = new TextEncoder();
