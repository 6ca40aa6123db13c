import { expect, test } from "bun:test";
import * as fc from "fast-check";
import type { Json } from "../../../../test/protocols/chat-events.ts";
import { anyRequest, anyTurns, meantBy } from "../../../../test/protocols/made-requests.ts";
import { sentToResponses } from "../../../../test/protocols/responses-client.ts";
import { wireRequest } from "../../../../test/protocols/wire-request.ts";
import { runsOf } from "../../../../test/runs.ts";
import type { ChatRequest, Turn } from "../../../core/chat.ts";
import { readRequest } from "../request.ts";
import { decodeRequest } from "../server/decode-request.ts";

// What holds for every request that a provider of Responses is sent: The format's own reader takes it. All that was
// said is in it once and in order. What stands before a turn more stays as it was.

const RUNS = runsOf(800, 20_000);

/** The words and calls of a body, in the order of its items. */
function saidIn({ instructions, input }: Json): string[] {
  const said: Json[] = [...(instructions === undefined ? [] : [{ text: instructions }]), ...input];
  return said.flatMap((item) => {
    if (item.type === "function_call") return [`call ${JSON.stringify(JSON.parse(item.arguments))}`];
    const texts: Json[] = item.type === "message" ? item.content : item.text === undefined ? [] : [item];
    return texts.flatMap(({ text }) =>
      text === undefined || (item.role === "assistant" && text.trim() === "")
        ? []
        : [`text ${text.trimEnd()}`],
    );
  });
}

/** Requests without what is put into words of ours, or stands elsewhere: a leading message of several texts, files. */
const plainRequest = anyRequest.map(({ responseFormat: _format, ...rest }): ChatRequest => {
  const turns = rest.turns.map(({ role, parts }): Turn => {
    const kept = parts.filter((part) => part.type !== "document");
    return { role, parts: role === "system" ? kept.slice(0, 1) : kept };
  });
  return { ...rest, turns };
});

/**
 * What is sealed in an answer, up to its last text or call. The provider refuses what led to nothing. It also refuses
 * what it did not seal itself, which has letters of another base64.
 */
function sealedThatLed({ parts }: Turn): string[] {
  const last = parts.findLastIndex(
    (part) => part.type === "tool_call" || (part.type === "text" && part.text !== ""),
  );
  return parts
    .slice(0, last + 1)
    .flatMap((part) => (part.type === "redacted_thinking" && !/[+/]/.test(part.data) ? [part.data] : []));
}

/** Whether an item is reasoning, and nothing of the same answer stands next. */
function leadsNowhere({ type }: Json, at: number, input: readonly Json[]): boolean {
  const { type: next, role } = input[at + 1] ?? {};
  return type === "reasoning" && role !== "assistant" && next !== "function_call" && next !== "reasoning";
}

test("every request that is written is one that the format's reader takes", () => {
  fc.assert(
    fc.property(anyRequest, (made) => {
      const { toolChoice, ...rest } = made;
      // A choice is of a tool that is there.
      const isThere = toolChoice?.type !== "tool" || made.tools.some(({ name }) => name === toolChoice.name);
      const chat = isThere ? made : rest;
      const { up } = sentToResponses(chat);
      const { chat: read } = decodeRequest(readRequest(wireRequest(up)));
      const calls = ({ turns }: ChatRequest) =>
        turns.flatMap(({ parts }) => parts).filter(({ type }) => type === "tool_call").length;
      expect(calls(read)).toBe(calls(chat));
    }),
    RUNS,
  );
});

test("all words and calls are sent once and in order, results with their calls, own sealed thinking as it was", () => {
  fc.assert(
    fc.property(plainRequest, (chat) => {
      const { up } = sentToResponses(chat);
      expect(saidIn(up)).toEqual(meantBy(chat));
      const calls: Json[] = up.input.filter(({ type }: Json) => type === "function_call");
      const outputs: Json[] = up.input.filter(({ type }: Json) => type === "function_call_output");
      expect(outputs.map(({ call_id: id }) => id)).toEqual(calls.map(({ call_id: id }) => id));
      // Others' models have signed what these requests hold, but for what nobody is named of.
      const sealed = up.input.flatMap(({ encrypted_content: blob }: Json) => blob ?? []);
      expect(sealed).toEqual(chat.turns.flatMap(sealedThatLed));
      expect(up.input.filter(leadsNowhere)).toEqual([]);
    }),
    RUNS,
  );
});

test("a turn more leaves what was written before it as it was", () => {
  fc.assert(
    fc.property(anyTurns, (all) => {
      // A prompt cache is found again by the bytes of what stands before.
      const next: Turn[] = [
        { role: "assistant", parts: [{ type: "text", text: "x" }] },
        { role: "user", parts: [{ type: "text", text: "more" }] },
      ];
      const written = (turns: readonly Turn[]): Json =>
        sentToResponses({ turns, tools: [], stop: [], choices: 1 }).up;
      const [before, after] = [written(all), written([...all, ...next])];
      expect(after.instructions).toBe(before.instructions);
      expect(after.input.slice(0, before.input.length)).toEqual(before.input);
    }),
    RUNS,
  );
});
