import { describe, expect, test } from "bun:test";
import { MessageStream } from "@anthropic-ai/sdk/lib/MessageStream";
import * as fc from "fast-check";
import { answer, finish, type Json, part, type Said, start } from "../../../../test/protocols/chat-events.ts";
import {
  blocksOf,
  decoded,
  MESSAGE_USAGE,
  messageEvents,
  messageOf,
  readBack,
} from "../../../../test/protocols/message-events.ts";
import {
  apart,
  base64,
  input,
  none,
  reason,
  said,
  signed,
  unsigned,
  words,
} from "../../../../test/protocols/made-answers.ts";
import { runsOf } from "../../../../test/runs.ts";
import type { ChatEvent } from "../../../core/chat.ts";
import { openThinkingListener, withThinking } from "../../recalled-thinking.ts";

// What holds for every answer that can be told: A stream read back is the plain answer, and no cut looks whole. What
// was said comes back with the next request.

const RUNS = runsOf(1_000, 20_000);

const issuer = fc.constantFrom("google", "openai", "anthropic");
const id = fc.oneof(fc.uuid(), fc.string({ minLength: 1, maxLength: 12 }));
const anyPart: fc.Arbitrary<Said> = fc.oneof(
  said(fc.constant({ type: "text" }), words, unsigned),
  said(
    issuer.map((by) => ({ type: "thinking", issuer: by })),
    words,
    signed,
  ),
  said(fc.constant({ type: "thinking" }), words, unsigned),
  said(
    fc.tuple(base64, issuer).map(([data, by]) => ({ type: "redacted_thinking", data, issuer: by })),
    none,
    unsigned,
  ),
  said(
    id.map((own) => ({ type: "tool_call", id: own, name: "f" })),
    input,
    signed,
  ),
);
const image = said(fc.constant({ type: "image", mediaType: "image/png", data: "AAAA" }), none, signed);
const events: fc.Arbitrary<ChatEvent[]> = fc
  .tuple(fc.array(fc.oneof(anyPart, image), { maxLength: 6 }), reason)
  .map(([parts, end]) => [...answer(...parts), finish(end)]);

describe("whatever an answer says", () => {
  test("a stream read back is the plain answer, one block open at a time and one end", () => {
    fc.assert(
      fc.property(events, (told) => {
        const { content, end } = readBack(messageEvents(told));
        const plain = messageOf(told);
        expect(content).toEqual(plain.content);
        expect({ ...end.delta, usage: end.usage }).toMatchObject({
          stop_reason: plain.stop_reason,
          stop_sequence: null,
          usage: MESSAGE_USAGE,
        });
      }),
      RUNS,
    );
  });

  test("the official helper reads the same", async () => {
    await fc.assert(
      fc.asyncProperty(events, async (told) => {
        const lines = messageEvents(told)
          .filter(({ type }) => type !== "ping")
          .map((event) => `${JSON.stringify(event)}\n`);
        const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
        const writer = writable.getWriter();
        const written = writer.write(new TextEncoder().encode(lines.join(""))).then(() => writer.close());
        const [message] = await Promise.all([
          MessageStream.fromReadableStream(readable as Json).finalMessage(),
          written,
        ]);
        const { content, stop_reason: why } = messageOf(told);
        expect(JSON.parse(JSON.stringify(message.content))).toEqual(JSON.parse(JSON.stringify(content)));
        expect(message.stop_reason).toBe(why);
        expect(message.usage as Json).toMatchObject({ input_tokens: 5, output_tokens: 2 });
      }),
      { ...RUNS, numRuns: Math.min(RUNS.numRuns, 300) },
    );
  });

  test("however the text of a part is cut, the answer is the same but for where a signature stands", () => {
    const unsignedBlocks = (told: readonly ChatEvent[]): Json[] =>
      blocksOf(told).filter(({ type, thinking }) => type !== "thinking" || thinking !== "");
    fc.assert(
      fc.property(events, (told) => {
        expect(unsignedBlocks(apart(told))).toEqual(unsignedBlocks(told));
        expect(readBack(messageEvents(apart(told))).content).toEqual(blocksOf(apart(told)));
      }),
      RUNS,
    );
  });

  test("wherever a stream breaks, it is told by an error, last and once, and never looks whole", () => {
    fc.assert(
      fc.property(events, fc.nat(), (told, at) => {
        const types = messageEvents(told.slice(0, at % told.length), "broken").map(({ type }) => type);
        expect(types.filter((type) => type === "error")).toEqual(["error"]);
        expect(types.at(-1)).toBe("error");
        expect(types).not.toContain("message_delta");
        expect(types).not.toContain("message_stop");
      }),
      RUNS,
    );
  });

  test("an answer without its finish is no whole one either", () => {
    fc.assert(
      fc.property(events, (told) => {
        const types = messageEvents(told.slice(0, -1)).map(({ type }) => type);
        expect(types.at(-1)).toBe("error");
        expect(types).not.toContain("message_stop");
      }),
      RUNS,
    );
  });

  test("it comes back with the next request and what is remembered, signatures and order and all", () => {
    const round = fc
      .uniqueArray(anyPart, { minLength: 1, maxLength: 7 })
      .map((parts) => parts.filter((one) => !isSilent(one)))
      .filter((parts) => parts.length > 0);
    fc.assert(
      fc.property(round, (parts) => {
        const said = [start, ...parts.flatMap((one, i) => part(i, one)), finish("stop")];
        const content = blocksOf(said);
        const listener = openThinkingListener();
        for (const event of said) listener.hear(event);
        const known = Object.fromEntries(listener.calls.map(({ key, thinking }) => [key, thinking]));
        const messages = [
          { role: "user", content: "hi" },
          { role: "assistant", content },
          { role: "user", content: "go on" },
        ];
        const { chat, warnings } = decoded({ messages });
        expect(warnings).toEqual([]);
        expect(withThinking(chat, known).turns[1]?.parts as Json).toEqual(parts.map(partOf));
      }),
      RUNS,
    );
  });
});

function isSilent({ begun, deltas = [], signature }: Said): boolean {
  const canBe = begun.type === "text" || begun.type === "thinking";
  return canBe && deltas.join("") === "" && signature === undefined;
}

/** A part as it comes back. */
function partOf({ begun, deltas = [], signature }: Said): object {
  const by = signature === undefined ? {} : { signature };
  const whole = deltas.join("");
  if (begun.type === "tool_call") return { ...begun, input: inputOf(whole), ...by };
  return begun.type === "redacted_thinking" ? begun : { ...begun, text: whole, ...by };
}

function inputOf(json: string): string {
  return json === "" ? "{}" : json;
}
