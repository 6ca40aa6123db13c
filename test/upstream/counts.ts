import { gunzipSync } from "node:zlib";
import type { Answer } from "./answer.ts";
import { toBytes, toText } from "./bytes.ts";
import { valuesOf } from "./http-grammar.ts";
import type { SeenRequest } from "./seen-request.ts";
import { sseData } from "./sse-bytes.ts";

/** What the double itself delivered for one request: the measure that bills are compared with. */
export interface Delivered {
  /** Whether the whole answer went out. */
  readonly complete: boolean;
  /** The data of every SSE event that was written to its last byte; empty for other answers. */
  readonly events: readonly string[];
  /** The usage in what was delivered: of a plain answer only when it is complete. */
  readonly usage: unknown;
}

/** Finds the usage in one JSON value of an answer; undefined when it has none. */
export type ReadUsage = (value: unknown) => unknown;

/**
 * Counts what was delivered for a request, up to the last byte the kernel took.
 * Events inside a compressed body are counted only when it is complete.
 */
export function delivered(request: SeenRequest, readUsage: ReadUsage = chatUsage): Delivered {
  const complete = request.outcome === "delivered";
  const { answer, bodyBytes } = request.answered;
  if (answer === undefined) return { complete, events: [], usage: undefined };
  const text = toText(deliveredBody(answer, bodyBytes, complete));
  const isStream = valuesOf(answer.headers ?? [], "content-type").some((type) =>
    type.includes("event-stream"),
  );
  const events = isStream ? sseData(text) : [];
  const values = isStream ? events : [complete ? text : ""];
  const usages = values.map((value) => readUsage(parseOrUndefined(value)));
  return { complete, events, usage: usages.findLast((usage) => usage !== undefined && usage !== null) };
}

/** The usage of a chat completion or chunk: at the top, in the first choice (Moonshot) or under `x_groq`. */
export function chatUsage(value: unknown): unknown {
  const choices = field(value, "choices");
  const firstChoice = Array.isArray(choices) ? choices[0] : undefined;
  return field(value, "usage") ?? field(firstChoice, "usage") ?? field(field(value, "x_groq"), "usage");
}

function deliveredBody(answer: Answer, bodyBytes: number, complete: boolean): Uint8Array {
  const body = toBytes(answer.body ?? "");
  const isGzip = valuesOf(answer.headers ?? [], "content-encoding").includes("gzip");
  if (!isGzip) return body.subarray(0, bodyBytes);
  try {
    return complete ? gunzipSync(body) : new Uint8Array();
  } catch {
    return new Uint8Array();
  }
}

function field(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return (value as Record<string, unknown>)[name];
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
