import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { type Body, encoded, messagesTarget } from "../../../../test/protocols/messages-client.ts";
import { anyRequest, anyTurns, meantBy } from "../../../../test/protocols/made-requests.ts";
import { runsOf } from "../../../../test/runs.ts";
import type { ChatRequest, Turn } from "../../../core/chat.ts";

const RUNS = runsOf(800, 20_000);

function saidIn({ system = [], messages }: Body): string[] {
  return [...system.map((block: Body) => [block]), ...messages.map(({ content }: Body) => content)]
    .flat()
    .flatMap((block: Body) => {
      if (block.type === "tool_use") return [`call ${JSON.stringify(block.input)}`];
      return block.type === "text" ? [`text ${block.text.trimEnd()}`] : [];
    });
}

const signaturesOf = (chat: ChatRequest): string[] =>
  chat.turns.flatMap(({ parts }) =>
    parts.flatMap((part) => {
      if (part.type === "redacted_thinking") return [part.data];
      const isKept = part.type === "thinking" && part.issuer !== "google" && (part.signature ?? "") !== "";
      return isKept ? [`${part.text} ${part.signature}`] : [];
    }),
  );

const names = ["haiku", "opus", "sonnet"] as const;

test("every request that is written is one that the provider takes", () => {
  fc.assert(
    fc.property(anyRequest, fc.constantFrom(...names), fc.boolean(), (chat, name, systemTurns) => {
      expect(encoded(chat, messagesTarget(name, { systemTurns })).refused).toBeUndefined();
    }),
    RUNS,
  );
});

test("all words and calls are sent once and in order, results with their calls, signed thinking as it was", () => {
  fc.assert(
    fc.property(anyRequest, fc.boolean(), (chat, systemTurns) => {
      // An instruction of ours and a system message that had to wait for results are not the caller's order.
      const { responseFormat: _format, ...rest } = chat;
      const { body } = encoded(rest, messagesTarget("opus", { systemTurns }));
      expect(saidIn(body)).toEqual(meantBy(chat));
      const blocks = body.messages.flatMap(({ content }: Body) => content);
      const thoughts = blocks.flatMap(({ type, data, thinking: told, signature }: Body) =>
        type === "redacted_thinking" ? [data] : type === "thinking" ? [`${told} ${signature}`] : [],
      );
      expect(thoughts).toEqual(signaturesOf(chat));
      const uses = blocks.filter(({ type }: Body) => type === "tool_use").map((block: Body) => block.id);
      const results = blocks.filter(({ type }: Body) => type === "tool_result");
      expect(results.map((block: Body) => block.tool_use_id)).toEqual(uses);
      expect(new Set(uses).size).toBe(uses.length);
      const marks = JSON.stringify(body).split('"cache_control":{').length - 1;
      expect(marks).toBeLessThanOrEqual(4);
    }),
    RUNS,
  );
});

test("a turn more leaves what was written before it as it was", () => {
  fc.assert(
    fc.property(anyTurns, (all) => {
      // A prompt cache is found again by the bytes of what stands before.
      const chat = { turns: all, tools: [], stop: [], choices: 1 };
      const plain = JSON.parse(JSON.stringify(chat, (key, value) => (key === "cache" ? undefined : value)));
      const next: Turn[] = [
        { role: "assistant", parts: [{ type: "text", text: "x" }] },
        { role: "user", parts: [{ type: "text", text: "more" }] },
      ];
      const before: Body[] = encoded(plain).body.messages;
      const after: Body[] = encoded({ ...plain, turns: [...plain.turns, ...next] }).body.messages;
      // The end of an unfinished answer is the one place that may change.
      expect(after.slice(0, before.length - 1)).toEqual(before.slice(0, -1));
    }),
    RUNS,
  );
});
