import { describe, expect, test } from "bun:test";
import { sse, type SseData } from "../../upstream/sse-bytes.ts";
import { expectSameStream } from "./compare.ts";
import { chatCutFormat } from "./cut-format.ts";
import { runStage } from "../cut-streams.ts";
import { eventsOf } from "./fold.ts";
import { breachesOf } from "./stream-rules.ts";
import type { Json } from "../wire-json.ts";

// Quirks of the vendors table that no recorded stream shows. Each is put into a stream of our own, which must come down
// with the same content and fit for official clients.

const head = { id: "c", object: "chat.completion.chunk", created: 1, model: "up" };
const USAGE = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };

/** A chunk of one choice. */
function chunk(delta: Json, finish: string | null = null, more: Json = {}): SseData {
  return { ...head, choices: [{ index: 0, delta, finish_reason: finish, ...more }] };
}

const first = chunk({ role: "assistant", content: "" });
const usage = { ...head, choices: [], usage: USAGE };
const called = (...fragments: Json[]): SseData => chunk({ tool_calls: fragments });
const named = (index: Json, id: Json, name: string, text: Json = "{}"): Json => ({
  index,
  id,
  type: "function",
  function: { name, arguments: text },
});
const rest = (index: Json, text: string): Json => ({ index, function: { arguments: text } });
const end = (finish: string): SseData[] => [chunk({}, finish), usage, "[DONE]"];

const cases: readonly { readonly name: string; readonly events: readonly SseData[] }[] = [
  {
    name: "two calls with one id, told apart by index",
    events: [first, called(named(0, "0", "a"), named(1, "0", "b")), ...end("tool_calls")],
  },
  {
    name: "calls without ids, told apart by index",
    events: [
      first,
      called(named(0, "", "a", ""), named(1, "", "b", "")),
      called(rest(0, "{}"), rest(1, '{"x":1}')),
      ...end("tool_calls"),
    ],
  },
  {
    name: "a new id on an index that is taken",
    events: [first, called(named(0, "p", "a")), called(named(0, "q", "b")), ...end("tool_calls")],
  },
  {
    name: "no index: a new id begins a call, fragments without id go on with it",
    events: [
      first,
      called(named(null, "p", "a", "")),
      called(rest(null, '{"x":')),
      called(rest(null, "1}")),
      called(named(null, "q", "b", "")),
      called(rest(null, "{}")),
      ...end("tool_calls"),
    ],
  },
  {
    name: "indexes with a gap",
    events: [first, called(named(1, "p", "a")), called(named(4, "q", "b")), ...end("tool_calls")],
  },
  {
    name: "arguments as an object",
    events: [first, called(named(0, "p", "a", { x: [1] })), ...end("tool_calls")],
  },
  {
    name: "calls that end in stop",
    events: [first, called(named(0, "p", "a")), ...end("stop")],
  },
  {
    name: "usage inside the choice",
    events: [first, chunk({ content: "x" }), chunk({}, "stop", { usage: USAGE }), "[DONE]"],
  },
  ...["eos", "model_length", "sensitive", "tool_use", "network_error", "insufficient_system_resource"].map(
    (word) => ({ name: `the reason ${word}`, events: [first, chunk({ content: "x" }), ...end(word)] }),
  ),
  {
    name: "an empty reason before the real one",
    events: [chunk({ role: "assistant", content: "x" }, ""), chunk({ content: "y" }, ""), ...end("stop")],
  },
  {
    name: "content after the first of two reasons",
    events: [first, chunk({ content: "x" }, "stop"), chunk({ content: "y" }, "stop"), usage, "[DONE]"],
  },
  {
    name: "no role at all",
    events: [chunk({ content: "x" }), chunk({ content: "y" }), ...end("stop")],
  },
  {
    name: "a signature on a tool call",
    events: [
      first,
      called({ ...named(0, "p", "a"), extra_content: { google: { thought_signature: "c2ln" } } }),
      ...end("tool_calls"),
    ],
  },
];

describe("quirks that nobody recorded", () => {
  for (const { name, events } of cases) {
    test(name, () => {
      const stream = {
        name,
        format: chatCutFormat,
        bytes: sse(events),
        native: false,
        padding: [],
        choices: 1,
      };
      const { whole, text, facts } = runStage(stream, stream.bytes, []);
      expect(whole).toBe(true);
      expectSameStream(new TextDecoder().decode(stream.bytes), text, []);
      expect(breachesOf(eventsOf(text))).toEqual([]);
      expect(facts.metered).toMatchObject({ usage: { input: 5, output: 2 }, flags: [] });
    });
  }
});
