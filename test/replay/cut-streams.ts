import { GatewayError } from "../../src/core/errors.ts";
import { chatCompletions } from "../../src/protocols/chat-completions/index.ts";
import type { AnswerContext } from "../../src/protocols/protocol.ts";
import { joinBytes, toBytes, toText } from "../upstream/bytes.ts";
import { type ChatStreamForm, chatStreamEvents } from "../upstream/chat-bytes.ts";
import { loadRecordings, recordingsAvailable } from "../upstream/recordings.ts";
import { sse, type SseData } from "../upstream/sse-bytes.ts";
import { PADDING, vendorOf } from "./cases.ts";
import { eventsOf } from "./expected-answer.ts";
import type { Json } from "./wire-json.ts";

/** A whole stream of a provider, and how it is to be read. */
export interface SourceStream {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly native: boolean;
  readonly padding: readonly string[];
  /** How many choices were asked for. */
  readonly choices: number;
}

/** What the pure stage made of a stream, or of the beginning of one. */
export interface StageRun {
  /** Everything that a client would be sent, the tail included. */
  readonly text: string;
  /** The stage takes the stream for a good one that has ended. */
  readonly whole: boolean;
  readonly hasContent: boolean;
  readonly facts: Json;
}

/** Every recorded stream, whether its request is known or not. */
export function recordedStreams(): readonly SourceStream[] {
  if (!recordingsAvailable()) return [];
  return loadRecordings("chat-completions")
    .filter(({ response }) => response.status === 200 && typeof response.body === "string")
    .map((recording) => ({
      name: recording.path,
      bytes: toBytes(recording.response.body as string),
      choices: choicesOf(recording.response.body as string),
      native: vendorOf(recording) === "openai",
      padding: PADDING[vendorOf(recording)] ?? [],
    }));
}

/** Choices that a recorded stream has: what its request asked for, also where the request is not known. */
function choicesOf(text: string): number {
  const indexes = eventsOf(text).flatMap((event) =>
    (event.choices ?? []).map((choice: Json) => choice.index ?? 0),
  );
  return Math.max(0, ...indexes) + 1;
}

const USAGE = {
  prompt_tokens: 21,
  completion_tokens: 9,
  total_tokens: 30,
  prompt_tokens_details: { cached_tokens: 5 },
};

const CALLS = [
  { id: "call_a", name: "find", arguments: ['{"x"', ':"é\\u0021', '"}'] },
  { id: "call_b", name: "now", arguments: ["{}"] },
];

const OWN: readonly (readonly [string, ChatStreamForm])[] = [
  ["plain words", { words: ["One", " two", " three."], usage: USAGE }],
  ["two and three and four bytes to a character", { words: ["é", "ß中", "文 🎉", "🏳️‍🌈\u2028"], usage: USAGE }],
  ["thinking, words, two tool calls", { reasoning: ["Hm. ", "So."], words: ["Well"], toolCalls: CALLS }],
  ["a long word", { words: ["x".repeat(9_000)], usage: USAGE }],
  ["no usage", { usage: null }],
  ["CRLF, comments", { lineEnding: "\r\n", comment: " quiet", usage: USAGE }],
  ["CR, no space after the colon", { lineEnding: "\r", space: false, usage: USAGE }],
  ["a byte order mark, no blank line at the end", { byteOrderMark: true, lastBlankLine: false }],
  ["named events", { eventName: () => "message", usage: USAGE }],
];

/** Streams of our own making, so that there is something to test where recordings are absent. */
export function ownStreams(): readonly SourceStream[] {
  const streams = OWN.map(([name, form]) => ({ name, bytes: sse(chatStreamEvents(form), form) }));
  const made = [
    ...streams,
    { name: "two choices, interleaved", bytes: sse(twoChoices(true)) },
    { name: "two choices, one after the other", bytes: sse(twoChoices(false)) },
    { name: "pretty JSON over many data lines", bytes: sse(pretty()) },
  ];
  return made.flatMap(({ name, bytes }) =>
    [true, false].map((native) => ({
      name: `${name} (${native ? "native" : "compatible"})`,
      bytes,
      choices: name.startsWith("two choices") ? 2 : 1,
      native,
      padding: ["obfuscation"],
    })),
  );
}

function twoChoices(interleaved: boolean): SseData[] {
  const events = chatStreamEvents({ words: ["a", "b"], usage: USAGE }) as Json[];
  const [usage, done] = events.slice(-2);
  const first = events.slice(0, -2);
  const second = first.map((event) => ({ ...event, choices: [{ ...event.choices[0], index: 1 }] }));
  const both = interleaved ? first.flatMap((event, i) => [event, second[i]]) : [...first, ...second];
  return [...both, usage, done];
}

function pretty(): SseData[] {
  return chatStreamEvents({ words: ["a", " b"], usage: USAGE }).map((event) =>
    typeof event === "string" ? event : JSON.stringify(event, null, 2),
  );
}

const CREDIT = 1_234_567n;

/** Plays `bytes` to the stage in the pieces that `cuts` make of it, then ends it, and takes the tail that fits. */
export function runStage(stream: SourceStream, bytes: Uint8Array, cuts: readonly number[]): StageRun {
  const context: AnswerContext = {
    model: "vendor/shown",
    native: stream.native,
    padding: stream.padding,
    requestId: "req_cut",
    secrets: [],
    nowSec: 1_700_000_000,
    choices: stream.choices,
    expectedInput: 11,
  };
  const stage = chatCompletions.openStream(context);
  const out: Uint8Array[] = [];
  const take = (piece: Uint8Array | undefined): void => void (piece !== undefined && out.push(piece.slice()));
  let from = 0;
  for (const cut of [...cuts, bytes.length]) {
    const piece = new Uint8Array(bytes.subarray(from, cut));
    from = cut;
    take(stage.push(piece));
    // The runtime may use its buffer again as soon as the call is over.
    piece.fill(0x7d);
  }
  take(stage.end());
  const metered = stage.metered();
  const whole = stage.isComplete && stage.failure === undefined;
  const error = stage.failure ?? new GatewayError("upstream_error", "The provider's answer ended early.");
  take(whole ? stage.tail(metered, CREDIT) : stage.failureTail(error, metered, CREDIT));
  return {
    text: toText(joinBytes(out)),
    whole,
    hasContent: stage.hasContent,
    facts: {
      metered,
      whole,
      failure: stage.failure?.message,
      hasContent: stage.hasContent,
      chunks: stage.chunks,
      isDone: stage.isDone,
      repairs: stage.repairs,
    },
  };
}

/** The same stream with other line endings. */
export function withLineEnding(bytes: Uint8Array, ending: string): Uint8Array {
  return toBytes(toText(bytes).replace(/\r\n|\n|\r/g, ending));
}

/** Cut points from a seed-like list of numbers between 0 and 1. */
export function cutsAt(fractions: readonly number[], length: number): number[] {
  return fractions.map((fraction) => Math.floor(fraction * length)).sort((a, b) => a - b);
}
