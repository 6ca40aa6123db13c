import type { JsonObject } from "../../core/json-value.ts";
import type { Answer, Choice, Piece, SandboxUsage } from "./answer.ts";
import type { Refusal } from "./ask.ts";
import { dataEvent, type SandboxFormat, type WriteContext } from "./format.ts";
import { readGenerateAsk } from "./generate-request.ts";
import { piecesOf, tokensOf } from "./text-pieces.ts";

/** Gemini's generateContent, as Google's servers speak it. */
export const generateFormat: SandboxFormat = {
  readAsk: readGenerateAsk,
  writePlain: (answer, context) => ({
    candidates: answer.choices.map((choice, index) => candidate(index, parts(choice), FINISH[choice.finish])),
    ...tail(answer, context),
  }),
  *writeStream(answer, context) {
    const named = tail(answer, context);
    for (const [index, choice] of answer.choices.entries()) {
      const isLast = index === answer.choices.length - 1;
      for (const { part, tokens } of choice.pieces.flatMap((piece, i) => streamed(piece, choice, i))) {
        yield dataEvent(
          { candidates: [candidate(index, [part])], ...named, usageMetadata: inputOnly(answer) },
          tokens,
        );
      }
      yield dataEvent({
        candidates: [candidate(index, [{ text: "" }], FINISH[choice.finish])],
        ...named,
        usageMetadata: isLast ? usage(answer.usage) : inputOnly(answer),
      });
    }
  },
  writeCount: (inputTokens) => ({
    totalTokens: inputTokens,
    promptTokensDetails: [{ modality: "TEXT", tokenCount: inputTokens }],
  }),
  writeRefusal: ({ status, message, meaning, param }) => ({
    error: {
      code: status,
      message,
      status: STATUSES[meaning],
      ...(param === undefined ? {} : { param }),
      ...(meaning === "moderation" ? { details: [{ reason: "CONTENT_FILTER" }] } : {}),
    },
  }),
};

/** A function call ends an answer as any other part does. */
const FINISH = { stop: "STOP", length: "MAX_TOKENS", calls: "STOP" } as const;

const STATUSES: Readonly<Record<Refusal["meaning"], string>> = {
  invalid: "INVALID_ARGUMENT",
  too_long: "INVALID_ARGUMENT",
  moderation: "INVALID_ARGUMENT",
  overloaded: "UNAVAILABLE",
  timeout: "DEADLINE_EXCEEDED",
  not_found: "NOT_FOUND",
};

function candidate(index: number, ofIt: readonly JsonObject[], finishReason?: string): JsonObject {
  return {
    content: { role: "model", parts: ofIt },
    ...(finishReason === undefined ? {} : { finishReason }),
    index,
  };
}

function tail({ id, usage: used }: Answer, { model }: WriteContext): JsonObject {
  return { usageMetadata: usage(used), modelVersion: model.id, responseId: id };
}

function inputOnly({ usage: { input } }: Answer): JsonObject {
  return { promptTokenCount: input, totalTokenCount: input };
}

function usage({ input, text, thinking, image }: SandboxUsage): JsonObject {
  return {
    promptTokenCount: input,
    candidatesTokenCount: text + image,
    ...(thinking === 0 ? {} : { thoughtsTokenCount: thinking }),
    totalTokenCount: input + text + image + thinking,
    ...(image === 0 ? {} : { candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: image }] }),
  };
}

function parts(choice: Choice): readonly JsonObject[] {
  return choice.pieces.flatMap((piece, i) => part(piece, choice, i));
}

function part(piece: Piece, choice: Choice, place: number): readonly JsonObject[] {
  switch (piece.type) {
    case "thinking":
      return piece.shown ? [{ text: piece.text, thought: true }] : [];
    case "text":
      return [{ text: piece.text, ...signatureOfText(piece.signature, choice) }];
    case "call": {
      // Of parallel calls the first carries it.
      const first = choice.pieces.findIndex(({ type }) => type === "call") === place;
      return [
        {
          functionCall: { id: piece.id, name: piece.name, args: piece.input },
          ...(first ? { thoughtSignature: piece.signature } : {}),
        },
      ];
    }
    case "image":
      return [{ inlineData: { mimeType: "image/png", data: piece.data }, thoughtSignature: piece.signature }];
  }
}

/** An answer of text alone is signed on its last part, where there was thinking to sign. */
function signatureOfText(thoughtSignature: string, { pieces }: Choice): JsonObject {
  return pieces.some(({ type }) => type === "thinking") ? { thoughtSignature } : {};
}

interface StreamedPart {
  readonly part: JsonObject;
  readonly tokens: number;
}

function streamed(piece: Piece, choice: Choice, place: number): readonly StreamedPart[] {
  if (piece.type === "call" || piece.type === "image")
    return part(piece, choice, place).map((whole) => ({ part: whole, tokens: 0 }));
  if (piece.type === "thinking" && !piece.shown) return [];
  const mark = piece.type === "thinking" ? { thought: true } : {};
  const texts = piecesOf(piece.text).map((text) => ({ part: { text, ...mark }, tokens: tokensOf(text) }));
  const signature = piece.type === "text" ? signatureOfText(piece.signature, choice) : {};
  return Object.keys(signature).length === 0
    ? texts
    : [...texts, { part: { text: "", ...signature }, tokens: 0 }];
}
