import type { JsonObject } from "../../../core/json/json-value.ts";
import type { Model } from "../../../core/model.ts";
import type { Answer } from "../answer.ts";
import type { Ask, AskContext, Refusal } from "./ask.ts";

/** A format as its vendor's server speaks it. */
export interface SandboxFormat {
  /** Reads a request. Throws a `Refusal` in the vendor's words. */
  readAsk(body: JsonObject, context: AskContext): Ask;
  writePlain(answer: Answer, context: WriteContext): JsonObject;
  /** The events of a stream, in order, each one whole. */
  writeStream(answer: Answer, context: WriteContext): Iterable<SandboxEvent>;
  /** The answer of the call that counts, in the formats that have one. */
  writeCount?(inputTokens: number): JsonObject;
  writeRefusal(refusal: Refusal): JsonObject;
}

export interface WriteContext {
  readonly body: JsonObject;
  readonly model: Model;
  readonly nowSec: number;
}

/** One event as it goes over the wire, and how many tokens it says. */
export interface SandboxEvent {
  readonly text: string;
  readonly tokens: number;
}

/** An event, under the name of its type where it has one. */
export function eventOf(data: JsonObject, tokens = 0): SandboxEvent {
  const name = typeof data.type === "string" ? `event: ${data.type}\n` : "";
  return { text: `${name}data: ${JSON.stringify(data)}\n\n`, tokens };
}
