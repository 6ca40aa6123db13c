import { messages } from "../../../src/protocols/messages/index.ts";
import { sse, type SseData, type SseOptions } from "../../upstream/sse-bytes.ts";
import type { CutFormat, SourceStream } from "../cut-format.ts";
import type { Json } from "../wire-json.ts";
import { messagesEvents } from "./events.ts";
import { breachesOf, looksBroken } from "./stream-rules.ts";

/** Streams of messages that are cut. */
export const messagesCutFormat: CutFormat = {
  protocol: "messages",
  stages: messages,
  ownStreams,
  choicesOf: () => 1,
  contentOf,
  breachesOf: (text) => breachesOf(messagesEvents(text)),
  looksBroken: (text) => looksBroken(messagesEvents(text)),
  creditOf: (text) => messagesEvents(text).find(({ name }) => name === "credit")?.value.credit,
  settings: () => ({ protocol: "messages", dialect: "native" }),
  request: (modelId) => ({
    path: "/api/v1/messages",
    body: {
      model: modelId,
      max_tokens: 4_000,
      messages: [{ role: "user", content: "Say it." }],
      stream: true,
    },
  }),
};

/** The message as official clients put it together: its blocks with all their deltas, and how it stopped. */
function contentOf(text: string): Json {
  const blocks: Json[] = [];
  let stop: Json;
  for (const { value } of messagesEvents(text)) {
    if (value.type === "content_block_start")
      blocks[value.index] = { start: value.content_block, deltas: {} };
    if (value.type === "content_block_stop") blocks[value.index].stopped = true;
    if (value.type === "message_delta") stop = value.delta;
    if (value.type !== "content_block_delta") continue;
    const { type, ...members } = value.delta;
    for (const [name, piece] of Object.entries(members)) {
      const { deltas } = blocks[value.index];
      const key = `${type}.${name}`;
      if (typeof piece === "string") deltas[key] = (deltas[key] ?? "") + piece;
      else (deltas[key] ??= []).push(piece);
    }
  }
  return { blocks, stop };
}

const START = {
  type: "message_start",
  message: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "up",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 21, cache_read_input_tokens: 5, output_tokens: 1 },
  },
};

const END = [
  {
    type: "message_delta",
    delta: { stop_reason: "end_turn", stop_sequence: null },
    usage: { output_tokens: 9 },
  },
  { type: "message_stop" },
];

/** A block of one kind with its deltas. */
function block(index: number, start: Json, ...deltas: readonly Json[]): Json[] {
  return [
    { type: "content_block_start", index, content_block: start },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ];
}

const textBlock = (index: number, ...words: readonly string[]): Json[] =>
  block(index, { type: "text", text: "" }, ...words.map((text) => ({ type: "text_delta", text })));

const toolBlock = (index: number, id: string, ...pieces: readonly string[]): Json[] =>
  block(
    index,
    { type: "tool_use", id, name: "find", input: {} },
    ...pieces.map((piece) => ({ type: "input_json_delta", partial_json: piece })),
  );

const THINKING = block(
  0,
  { type: "thinking", thinking: "", signature: "" },
  { type: "thinking_delta", thinking: "Hm. " },
  { type: "thinking_delta", thinking: "So." },
  { type: "signature_delta", signature: "c2lnbmF0dXJl" },
);

const OWN: readonly (readonly [string, readonly Json[], SseOptions])[] = [
  ["plain words", textBlock(0, "One", " two", " three."), {}],
  ["characters of many bytes", textBlock(0, "é", "ß中", "文 🎉", "🏳️‍🌈\u2028"), {}],
  [
    "thinking, words, two tool calls",
    [
      ...THINKING,
      ...textBlock(1, "Well"),
      ...toolBlock(2, "toolu_a", '{"x"', ":1}"),
      ...toolBlock(3, "toolu_b"),
    ],
    {},
  ],
  [
    "redacted thinking and pings",
    [{ type: "ping" }, ...block(0, { type: "redacted_thinking", data: "b3BhcXVl" }), { type: "ping" }],
    {},
  ],
  ["a long word", textBlock(0, "x".repeat(9_000)), {}],
  ["CRLF, comments", textBlock(0, "a", "b"), { lineEnding: "\r\n", comment: " quiet" }],
  ["no space after the colon", textBlock(0, "a", "b"), { space: false }],
  [
    "a byte order mark, no blank line at the end",
    textBlock(0, "a"),
    { byteOrderMark: true, lastBlankLine: false },
  ],
];

function ownStreams(): readonly SourceStream[] {
  return OWN.map(([name, blocks, options]) => ({
    name: `messages: ${name}`,
    format: messagesCutFormat,
    bytes: sse([START, ...blocks, ...END] as SseData[], {
      ...options,
      eventName: (event) => (typeof event === "string" ? undefined : String(event.type)),
    }),
    choices: 1,
    native: true,
    padding: [],
  }));
}
