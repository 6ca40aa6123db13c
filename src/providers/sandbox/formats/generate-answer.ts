import { type JsonObject, present } from "../../../core/json/json-value.ts";
import type { Answer, Choice, SandboxUsage } from "../answer.ts";
import { REFUSAL_WORDS } from "./ask.ts";
import { eventOf, type SandboxFormat, type WriteContext } from "./format.ts";
import { readGenerateAsk } from "./generate-request.ts";
import { textOf } from "../members.ts";
import { piecesOf, tokensOf } from "../text-pieces.ts";

/** Gemini's generateContent, as Google's servers speak it. */
export const generateFormat: SandboxFormat = {
  readAsk: readGenerateAsk,
  writePlain: (answer, context) => ({
    candidates: answer.choices.map((choice, index) => candidate(index, partsOf(choice), choice)),
    ...named(answer, context),
    usageMetadata: usage(answer.usage),
  }),
  *writeStream(answer, context) {
    const { input } = answer.usage;
    const about = {
      ...named(answer, context),
      usageMetadata: { promptTokenCount: input, totalTokenCount: input },
    };
    for (const [index, choice] of answer.choices.entries()) {
      for (const whole of partsOf(choice))
        for (const part of streamed(whole))
          yield eventOf({ candidates: [candidate(index, [part])], ...about }, tokensOf(textOf(part.text)));
      const isLast = index === answer.choices.length - 1;
      yield eventOf({
        candidates: [candidate(index, [{ text: "" }], choice)],
        ...about,
        ...(isLast ? { usageMetadata: usage(answer.usage) } : {}),
      });
    }
  },
  writeCount: (inputTokens) => ({
    totalTokens: inputTokens,
    promptTokensDetails: [{ modality: "TEXT", tokenCount: inputTokens }],
  }),
  writeRefusal: ({ status, message, meaning, param }) => ({
    error: present({
      code: status,
      message,
      status: REFUSAL_WORDS[meaning][2],
      param,
      details: meaning === "moderation" ? [{ reason: "CONTENT_FILTER" }] : undefined,
    }),
  }),
};

/** A function call ends an answer as any other part does. */
const FINISH = { stop: "STOP", length: "MAX_TOKENS", calls: "STOP" } as const;

/** A candidate, or what a chunk says of one; with `ended` its end. */
function candidate(index: number, parts: readonly JsonObject[], ended?: Choice): JsonObject {
  return present({ content: { role: "model", parts }, finishReason: ended && FINISH[ended.finish], index });
}

function named({ id }: Answer, { model }: WriteContext): JsonObject {
  return { modelVersion: model.id, responseId: id };
}

function usage({ input, text, thinking, image }: SandboxUsage): JsonObject {
  return present({
    promptTokenCount: input,
    candidatesTokenCount: text + image,
    thoughtsTokenCount: thinking || undefined,
    totalTokenCount: input + text + image + thinking,
    candidatesTokensDetails: image === 0 ? undefined : [{ modality: "IMAGE", tokenCount: image }],
  });
}

function partsOf({ pieces }: Choice): readonly JsonObject[] {
  const isThought = pieces.some(({ type }) => type === "thinking");
  const firstCall = pieces.find(({ type }) => type === "call");
  return pieces.flatMap((piece): JsonObject[] => {
    const signed = { thoughtSignature: piece.signature };
    switch (piece.type) {
      case "thinking":
        return piece.shown ? [{ text: piece.text, thought: true }] : [];
      case "text":
        // An answer of text alone is signed on its last part, where there was thinking to sign.
        return [{ text: piece.text, ...(isThought ? signed : {}) }];
      case "call": {
        const functionCall = { id: piece.id, name: piece.name, args: piece.input };
        // Of parallel calls the first carries it.
        return [{ functionCall, ...(piece === firstCall ? signed : {}) }];
      }
      case "image":
        return [{ inlineData: { mimeType: "image/png", data: piece.data }, ...signed }];
    }
  });
}

/** A part as it is streamed: text piece by piece, with its signature behind it; all else whole. */
function* streamed(part: JsonObject): Iterable<JsonObject> {
  const { text, thoughtSignature, ...mark } = part;
  if (typeof text !== "string") yield part;
  for (const piece of piecesOf(textOf(text))) yield { text: piece, ...mark };
  if (typeof text === "string" && thoughtSignature !== undefined) yield { text: "", thoughtSignature };
}
