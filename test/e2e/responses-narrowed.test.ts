import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import type { SeenRequest } from "../upstream/seen-request.ts";
import { sse } from "../upstream/sse-bytes.ts";
import { strictResponses } from "../upstream/strict-responses.ts";
import { askKept } from "./kept-station.ts";

// What agents send to every model, at vendors that speak Responses and refuse each type of tool or item which they do
// not know. All of it is told in functions, and comes back as the client has it.

const strict = strictResponses({ keys: [UPSTREAM_KEY], functionsOnly: true });
const MODEL = "xai/grok-4.7";
let double: UpstreamDouble;
let gateway: TestGateway;

beforeAll(async () => {
  double = await startUpstreamDouble();
  const environment = { XAI_API_KEY: UPSTREAM_KEY, XAI_BASE_URL: `${double.url}/v1` };
  gateway = await startGateway({ environment });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});

const THOUGHT = {
  id: "rs_1",
  type: "reasoning",
  summary: [],
  status: "completed",
  encrypted_content: "x+/=",
};
const text = (said: string): Json => ({
  id: "msg_1",
  type: "message",
  status: "completed",
  role: "assistant",
  content: [{ type: "output_text", text: said, annotations: [] }],
});
const call = (n: number, name: string, input: object): Json => ({
  id: `fc_${n}`,
  type: "function_call",
  status: "completed",
  call_id: `call_${n}`,
  name,
  arguments: JSON.stringify(input),
});

/** The vendor's answer to a request, of these items; its stream cuts a call's arguments at every character. */
function answerOf(request: SeenRequest, output: readonly Json[]): Answer {
  const base = { id: "resp_1", object: "response", created_at: 1, model: "grok", error: null };
  const usage = { input_tokens: 50, output_tokens: 10, total_tokens: 60 };
  const whole = { ...base, status: "completed", output, usage };
  if ((request.json() as Json).stream !== true) return jsonAnswer(200, whole);
  const told = output.flatMap((item, output_index): Json[] => [
    { type: "response.output_item.added", output_index, item: { ...item, arguments: "" } },
    ...(item.type === "function_call"
      ? [...item.arguments].map((delta) => ({
          type: "response.function_call_arguments.delta",
          item_id: item.id,
          output_index,
          delta,
        }))
      : []),
    { type: "response.output_item.done", output_index, item },
  ]);
  const begun = { ...base, status: "in_progress", output: [], usage: null };
  return sseAnswer(
    sse([
      { type: "response.created", response: begun },
      ...told,
      { type: "response.completed", response: whole },
    ]),
  );
}

let output: readonly Json[] = [];
beforeEach(() => {
  double.reset();
  double.handle((request) => strict(request) ?? answerOf(request, output));
});
const sent = (): Json => double.requests.at(-1)!.json();

const parameters = { type: "object", properties: { q: { type: "string" } } };
const search = { type: "function", name: "search", description: "", parameters, strict: false };
const PATCH = '*** Begin\n+ "a\\b" é 😀\n*** End';
const TOOLS = [
  { type: "function", name: "exec_command", parameters, strict: false },
  { type: "namespace", name: "one", description: "", tools: [search] },
  { type: "namespace", name: "two", description: "", tools: [search] },
  {
    type: "custom",
    name: "apply_patch",
    format: { type: "grammar", syntax: "lark", definition: "start: A" },
  },
  { type: "tool_search", execution: "client", description: "Finds tools.", parameters },
  { type: "web_search", external_web_access: false },
];
const USER = { type: "message", role: "user", content: [{ type: "input_text", text: "Mend it." }] };

for (const stream of [false, true])
  describe(stream ? "streamed," : "plain,", () => {
    test("tools of every kind are told as functions, and their calls come back as the client's own, and back again", async () => {
      const body = { model: MODEL, stream, store: false, tools: TOOLS, tool_choice: "auto" };
      output = [
        THOUGHT,
        call(1, "two__search", { q: "x" }),
        call(2, "apply_patch", { input: PATCH }),
        call(3, "tool_search", { query: "y" }),
      ];
      const answer = await askKept(gateway, { ...body, input: [USER] });
      expect(sent().tools.map(({ type, name }: Json) => [type, name])).toEqual([
        ["function", "exec_command"],
        ["function", "one__search"],
        ["function", "two__search"],
        ["function", "apply_patch"],
        ["function", "tool_search"],
      ]);
      expect(answer).toMatchObject({
        status: "completed",
        model: MODEL,
        tools: TOOLS.map(({ type }) => ({ type })),
      });
      expect(answer.credit).toBeGreaterThan(0);
      expect(answer.output).toMatchObject([
        { type: "reasoning" },
        { type: "function_call", name: "search", namespace: "two", call_id: "call_1" },
        { type: "custom_tool_call", name: "apply_patch", input: PATCH, call_id: "call_2" },
        { type: "tool_search_call", execution: "client", arguments: { query: "y" }, call_id: "call_3" },
      ]);
      output = [text("Done.")];
      const next = await askKept(gateway, {
        ...body,
        input: [
          USER,
          ...answer.output,
          { type: "function_call_output", call_id: "call_1", output: "found" },
          { type: "custom_tool_call_output", call_id: "call_2", output: "patched" },
          { type: "tool_search_output", call_id: "call_3", execution: "client", tools: [] },
        ],
      });
      expect(next.output).toMatchObject([{ type: "message" }]);
      expect(sent().input.slice(1, 5)).toMatchObject([
        { type: "reasoning", encrypted_content: THOUGHT.encrypted_content },
        ...[call(1, "two__search", { q: "x" }), call(2, "apply_patch", { input: PATCH })].map(
          ({ name, arguments: given }) => ({ type: "function_call", name, arguments: given }),
        ),
        { type: "function_call", name: "tool_search" },
      ]);
    });

    test("tools that an item alone brings are told, too", async () => {
      const exec = { type: "namespace", name: "functions", tools: [{ type: "custom", name: "exec" }] };
      output = [call(1, "exec", { input: "ls" })];
      const input = [{ type: "additional_tools", role: "developer", tools: [exec] }, USER];
      const answer = await askKept(gateway, { model: MODEL, stream, input });
      expect(sent().tools).toMatchObject([{ type: "function", name: "exec" }]);
      expect(answer.output).toMatchObject([
        { type: "custom_tool_call", name: "exec", namespace: "functions", input: "ls" },
      ]);
    });

    test("a conversation is compacted into exactly one item", async () => {
      output = [text("All that was said.")];
      const input = [USER, { type: "compaction_trigger" }];
      const answer = await askKept(gateway, { model: MODEL, stream, input });
      expect(answer.output.map(({ type }: Json) => type)).toEqual(["compaction"]);
      await askKept(gateway, { model: MODEL, stream, input: [...answer.output, USER] });
      expect(JSON.stringify(sent().input)).toContain("All that was said.");
    });

    test("what has functions alone is relayed: its bytes stay the vendor's", async () => {
      output = [THOUGHT, call(1, "search", { q: "x" })];
      const answer = await askKept(gateway, { model: MODEL, stream, input: [USER], tools: [search] });
      expect(answer).toMatchObject({ id: "resp_1", output });
    });
  });
