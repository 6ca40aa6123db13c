import { describe, expect, test } from "bun:test";
import { ANSWER_CONTEXT } from "../../test/protocols/answer-context.ts";
import { type Spoken, streamBytes } from "../../test/e2e/fault-matrix.ts";
import { joinBytes } from "../core/bytes/bytes.ts";
import { RELAYS } from "./index.ts";

// Comments and pings of a provider: the relay would hold all of them until content comes.

const MIB = 1024 * 1024;
const SILENCE = {
  "comments without a word": ":\n\n",
  comments: `: ${"OPENROUTER PROCESSING".repeat(3)}\n\n`,
  "large comments": `:${"x".repeat(100_000)}\n\n`,
  pings: 'event: ping\ndata: {"type": "ping"}\n\n',
  "large pings": `event: ping\ndata: {"type":"ping","pad":"${"x".repeat(100_000)}"}\n\n`,
  keepalives: 'event: keepalive\ndata: {"type":"keepalive","sequence_number":1}\n\n',
} as const;

/** The formats that have each of them. */
const SAID: readonly (readonly [Spoken & keyof typeof FORMATS, readonly (keyof typeof SILENCE)[]])[] = [
  ["chat_completions", ["comments without a word", "comments", "large comments"]],
  ["messages", ["comments without a word", "comments", "large comments", "pings", "large pings"]],
  ["generate_content", ["comments without a word", "comments", "large comments"]],
  ["responses", ["comments without a word", "comments", "large comments", "keepalives"]],
];

const FORMATS = {
  chat_completions: RELAYS.compat_chat_completions,
  messages: RELAYS.compat_messages,
  generate_content: RELAYS.compat_generate_content,
  responses: RELAYS.compat_responses,
} as const;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

for (const [format, kinds] of SAID)
  describe(`a stream of ${format}`, () => {
    for (const kind of kinds) {
      const one = encoder.encode(SILENCE[kind]);
      const many = joinBytes(Array.from({ length: Math.ceil(MIB / one.length) }, () => one));

      test(`holds at most 4 KiB of ${kind} before its content, however many come, and all of the answer`, () => {
        const stream = FORMATS[format].openStream(ANSWER_CONTEXT);
        let held = 0;
        for (let i = 0; i < 16; i += 1) held += stream.push(many)?.length ?? 0;
        expect([stream.hasContent, stream.failure, held <= 4_096]).toEqual([false, undefined, true]);
        const text = decoder.decode(stream.push(streamBytes(format)));
        stream.end(true);
        expect([stream.hasContent, stream.isComplete, text.includes("Hel")]).toEqual([true, true, true]);
      });
    }
  });

test("comments and pings that come before content are passed on, as far as they are few", () => {
  const stream = FORMATS.messages.openStream(ANSWER_CONTEXT);
  const few = `${SILENCE.comments}${SILENCE.pings}`;
  expect(decoder.decode(stream.push(encoder.encode(few)))).toBe(few);
});

test("comments and pings behind content are all passed on", () => {
  const stream = FORMATS.messages.openStream(ANSWER_CONTEXT);
  const start = '{"type":"message_start","message":{"id":"m","model":"up","usage":{"input_tokens":1}}}';
  const delta = '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}';
  stream.push(encoder.encode(`data: ${start}\n\ndata: ${delta}\n\n`));
  expect(stream.hasContent).toBe(true);
  const many = `${SILENCE["large comments"]}${SILENCE["large pings"]}`;
  expect(decoder.decode(stream.push(encoder.encode(many)))).toBe(many);
});

test("a stream of messages holds back at most eight of its last events", () => {
  const stream = FORMATS.messages.openStream(ANSWER_CONTEXT);
  const start = '{"type":"message_start","message":{"id":"m","model":"up","usage":{"input_tokens":1}}}';
  stream.push(encoder.encode(`data: ${start}\n\n`));
  const delta = (n: number): string =>
    `event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":${n}}}\n\n`;
  let given = "";
  for (let n = 0; n < 100; n += 1) given += decoder.decode(stream.push(encoder.encode(delta(n))));
  expect(given).toBe(Array.from({ length: 92 }, (_, n) => delta(n)).join(""));
  const tail = decoder.decode(stream.tail(stream.metered(), 1n));
  for (let n = 92; n < 99; n += 1) expect(tail).toContain(delta(n));
  expect(tail).toContain('"output_tokens":99');
});
