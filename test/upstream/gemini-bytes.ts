import type { Answer } from "./answer.ts";
import { jsonAnswer, sseAnswer } from "./answer.ts";
import { sse } from "./sse-bytes.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** What a made-up generateContent answer says; everything has a default. */
export interface GeminiForm {
  /** One part each; strings are text. */
  readonly parts?: readonly (string | JsonObject)[];
  /** `STOP` when not given; null leaves it out. */
  readonly finishReason?: string | null;
  /** Null leaves the usage out. */
  readonly usage?: JsonObject | null;
  readonly model?: string;
}

const DEFAULT_USAGE = { promptTokenCount: 5, candidatesTokenCount: 2, totalTokenCount: 7 };

/** A plain answer as Gemini would send it. */
export function geminiAnswer(form: GeminiForm = {}): JsonObject {
  return chunk(form, partsOf(form), form.finishReason === undefined ? "STOP" : form.finishReason);
}

/** The chunks of a streamed answer: one part each, the finish reason and the full usage on the last. */
export function geminiChunks(form: GeminiForm = {}): JsonObject[] {
  const parts = partsOf(form);
  const finish = form.finishReason === undefined ? "STOP" : form.finishReason;
  return parts.map((part, i) => chunk(form, [part], i === parts.length - 1 ? finish : null));
}

/** A plain answer of the double. */
export function geminiPlain(form: GeminiForm = {}): Answer {
  return jsonAnswer(200, geminiAnswer(form));
}

/** A streamed answer of the double. */
export function geminiStream(form: GeminiForm = {}, more: Partial<Answer> = {}): Answer {
  return sseAnswer(sse(geminiChunks(form)), more);
}

function partsOf({ parts = ["Hel", "lo."] }: GeminiForm): JsonObject[] {
  return parts.map((part) => (typeof part === "string" ? { text: part } : part));
}

function chunk(form: GeminiForm, parts: readonly JsonObject[], finishReason: string | null): JsonObject {
  return {
    candidates: [
      { content: { parts, role: "model" }, ...(finishReason === null ? {} : { finishReason }), index: 0 },
    ],
    ...(form.usage === null ? {} : { usageMetadata: form.usage ?? DEFAULT_USAGE }),
    modelVersion: form.model ?? "gemini-3.8-flash",
    responseId: "resp-1",
  };
}
