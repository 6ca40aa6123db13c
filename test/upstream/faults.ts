import { gzipSync } from "node:zlib";
import type { Answer, EndKind, Place } from "./answer.ts";
import { toBytes } from "./bytes.ts";
import type { Gate } from "./gate.ts";

/** Resets the connection (RST) at the place. */
export const resetAt = (answer: Answer, at: Place): Answer => endAt(answer, at, "reset");

/** Closes the connection (FIN) at the place. */
export const finAt = (answer: Answer, at: Place): Answer => endAt(answer, at, "fin");

/** Writes nothing more from the place on and keeps the connection open. */
export const stallAt = (answer: Answer, at: Place): Answer => endAt(answer, at, "stall");

/** Closes only the sending side at the place and goes on reading. */
export const halfCloseAt = (answer: Answer, at: Place): Answer => endAt(answer, at, "half-close");

function endAt(answer: Answer, at: Place, how: EndKind): Answer {
  return { ...answer, end: { at, how } };
}

/** Waits at the place, by the double's clock. */
export function pauseAt(answer: Answer, at: Place, pauseMs: number): Answer {
  return { ...answer, marks: [...(answer.marks ?? []), { at, pauseMs }] };
}

/** Waits at the place until the test releases the gate; put before an end at the same place it comes first. */
export function gateAt(answer: Answer, at: Place, gate: Gate): Answer {
  return { ...answer, marks: [...(answer.marks ?? []), { at, gate }] };
}

/** Promises more bytes than come, then closes. */
export function longContentLength(answer: Answer, missingBytes = 10): Answer {
  const declaredLength = toBytes(answer.body ?? "").length + missingBytes;
  return finAt({ ...answer, framing: "content-length", declaredLength }, "last-byte");
}

/** Sends all chunks but the last, empty one, then closes. */
export function withoutLastChunk(answer: Answer): Answer {
  return finAt({ ...answer, framing: "chunked" }, "body-end");
}

/** Sends a size line that is no size before one of the chunks. */
export function badChunkSize(answer: Answer, index = 0, sizeLine = "zz"): Answer {
  return { ...answer, framing: "chunked", brokenChunk: { index, sizeLine } };
}

/** Sends Content-Length and chunked framing both. */
export function lengthAndChunked(answer: Answer): Answer {
  const length = toBytes(answer.body ?? "").length;
  return { ...withHeader(answer, "content-length", `${length}`), framing: "chunked" };
}

/** Begins with a line that is no status line. */
export function garbageStatusLine(answer: Answer, statusLine = "SSH-2.0-OpenSSH_9.2"): Answer {
  return { ...answer, statusLine };
}

/** Adds one header of so many bytes. */
export function hugeHeader(answer: Answer, valueBytes = 1024 * 1024): Answer {
  return withHeader(answer, "x-huge", "h".repeat(valueBytes));
}

/** Adds so many small headers. */
export function manyHeaders(answer: Answer, count = 10_000): Answer {
  const added = Array.from({ length: count }, (_, index) => [`x-many-${index}`, "m"] as const);
  return { ...answer, headers: [...(answer.headers ?? []), ...added] };
}

/** Adds one header line; the value is written as it is, so it may hold what a header must not. */
export function withHeader(answer: Answer, name: string, value: string): Answer {
  return { ...answer, headers: [...(answer.headers ?? []), [name, value]] };
}

/** Sends interim heads before the answer. */
export function interimStorm(answer: Answer, count = 1_000, status = 103): Answer {
  return { ...answer, interim: Array.from({ length: count }, () => ({ status })) };
}

/** The same answer with its body compressed. */
export function gzipped(answer: Answer): Answer {
  const body = gzipSync(toBytes(answer.body ?? ""));
  return { ...withHeader(answer, "content-encoding", "gzip"), body };
}

/** A compressed body that ends early although the framing says it is complete. */
export function truncatedGzip(answer: Answer, missingBytes = 12): Answer {
  const whole = gzipped(answer);
  return { ...whole, body: toBytes(whole.body ?? "").subarray(0, -missingBytes) };
}

/** A small compressed body that grows to so many bytes. */
export function gzipBomb(answer: Answer, decodedBytes: number): Answer {
  return gzipped({ ...answer, body: new Uint8Array(decodedBytes).fill(32) });
}

/** Sends the client elsewhere. */
export function redirectTo(url: string, status = 302): Answer {
  return { status, headers: [["location", url]], body: "" };
}

/** Goes on writing after the body, faster than anyone reads, until the client is gone. */
export function endlessBody(answer: Answer, bytes: string | Uint8Array = "x".repeat(64 * 1024)): Answer {
  return { ...answer, framing: "chunked", endless: { bytes } };
}

/** After the body, SSE comments only, for ever. */
export function commentsForEver(answer: Answer, pauseMs: number, comment = ": keep-alive\n\n"): Answer {
  return { ...answer, framing: "chunked", endless: { bytes: comment, pauseMs } };
}

/** Every fault that breaks an answer with a body, by name: for tables and for seeded mixes. */
export const FAULTS = {
  "reset before any byte": (answer) => resetAt(answer, "start"),
  "reset in mid-header": (answer) => resetAt(answer, "mid-head"),
  "reset after the head": (answer) => resetAt(answer, "head-end"),
  "reset in mid-body": (answer) => resetAt(answer, middleOf(answer)),
  "FIN before any byte": (answer) => finAt(answer, "start"),
  "FIN in mid-header": (answer) => finAt(answer, "mid-head"),
  "FIN after the head": (answer) => finAt(answer, "head-end"),
  "FIN in mid-body": (answer) => finAt(answer, middleOf(answer)),
  "half-close in mid-body": (answer) => halfCloseAt(answer, middleOf(answer)),
  "stall before any byte": (answer) => stallAt(answer, "start"),
  "stall in mid-body": (answer) => stallAt(answer, middleOf(answer)),
  "content-length too long": (answer) => longContentLength(answer),
  "no last chunk": withoutLastChunk,
  "bad chunk size": (answer) => badChunkSize(answer),
  "garbage status line": (answer) => garbageStatusLine(answer),
  "truncated gzip": (answer) => truncatedGzip(answer),
} as const satisfies Readonly<Record<string, (answer: Answer) => Answer>>;

/** The name of a fault of the table. */
export type FaultName = keyof typeof FAULTS;

function middleOf(answer: Answer): number {
  return Math.floor(toBytes(answer.body ?? "").length / 2);
}
