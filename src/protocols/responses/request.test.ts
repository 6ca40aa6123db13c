import { describe, expect, test } from "bun:test";
import { wireRequest } from "../../../test/protocols/wire-request.ts";
import { GatewayError } from "../../core/errors.ts";
import { readConversation, readRequest } from "./request.ts";

const user = { role: "user", content: "hi" };
const read = (body: object) => readRequest(wireRequest({ model: "v/m", input: "hi", ...body }));

/** The refusal of a body: its code, its field and its sentence. */
function refusalOf(body: object): unknown[] {
  try {
    read(body);
  } catch (error) {
    if (error instanceof GatewayError) return [error.code, error.param, error.message];
    throw error;
  }
  return [];
}

describe("a field of chat completions is refused, with where what it says belongs", () => {
  const meant = {
    messages: "input",
    response_format: "text.format",
    reasoning_effort: "reasoning.effort",
    max_tokens: "max_output_tokens",
    max_completion_tokens: "max_output_tokens",
  };
  for (const [name, field] of Object.entries(meant))
    test(name, () => {
      const sentence = `${name} is not a field of Responses: use ${field}.`;
      expect(refusalOf({ [name]: 1 })).toEqual(["unknown_parameter", name, sentence]);
      expect(refusalOf({ [name]: null })).toEqual([]);
    });

  for (const name of ["stop", "n", "seed", "logit_bias"])
    test(`${name}, which has no place here`, () => {
      const sentence = `${name} is not a field of Responses: leave it out.`;
      expect(refusalOf({ [name]: 1 })).toEqual(["unknown_parameter", name, sentence]);
    });
});

test("what a provider would keep for itself is refused, and saying that it is not wanted is fine", () => {
  for (const name of ["background", "conversation", "prompt"])
    expect(refusalOf({ [name]: true }).slice(0, 2)).toEqual(["unsupported_parameter", name]);
  expect(refusalOf({ background: false })).toEqual([]);
});

test("an item without a type is refused unless it is a message or names another, wherever it stands", () => {
  expect(refusalOf({ input: [user, { content: "hi" }] }).slice(1)).toEqual([
    "input[1].type",
    "input[1].type is required: only messages and references are known without it.",
  ]);
  expect(refusalOf({ input: [user, { type: "reasoning", summary: [] }] })).toEqual([]);
});

test("a request streams and is kept only where it says so, and the account's answers are named by it", () => {
  expect(read({}).stream).toBe(false);
  expect(read({ stream: true }).stream).toBe(true);
  expect([read({}).state, read({ store: false }).state]).toEqual([{ keeps: true }, { keeps: false }]);
  expect(read({ previous_response_id: "resp_1" }).state.names).toEqual({ items: [], previous: "resp_1" });
  expect(read({ input: [user, { id: "msg_1" }] }).state.names).toEqual({ items: ["msg_1"] });
});

test("nothing that names an answer is left to be answered", () => {
  const found = { before: JSON.stringify(user), items: {}, size: 0 };
  const naming = { model: "v/m", previous_response_id: "resp_1", input: [{ type: "compaction_trigger" }] };
  expect(() => readRequest(wireRequest(naming, { found }))).toThrow("input must have an item");
});

test("a conversation that asks for no answer neither streams nor is kept", () => {
  const { stream, state } = readConversation(wireRequest({ model: "v/m", input: "hi", stream: true }));
  expect([stream, state]).toEqual([false, { keeps: false }]);
});

test("a member that stands twice where money depends on it is refused", () => {
  for (const body of [
    '{"model":"v/m","input":[{"role":"user","content":"a","content":"b"}]}',
    '{"model":"v/m","input":"a","reasoning":{"effort":"low","effort":"high"}}',
    '{"model":"v/m","input":"a","tools":[{"type":"function","type":"custom"}]}',
  ])
    expect(() => readRequest(wireRequest(body))).toThrow("stands twice");
});

test("a body that is not of the form names the field at fault", () => {
  expect(refusalOf({ input: [] }).slice(1, 2)).toEqual(["input"]);
  expect(refusalOf({ input: [user], max_output_tokens: 0 }).slice(1, 2)).toEqual(["max_output_tokens"]);
});

test("values are taken at their bounds and refused beyond, by the field", () => {
  const tool = (more: object) => ({ tools: [{ type: "function", name: "f", ...more }] });
  const texts = (count: number, length: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`key${i}`, "x".repeat(length)]));
  const cases: readonly (readonly [field: string, taken: object, refused: object])[] = [
    ["input", { input: "a" }, { input: "" }],
    ["input[0].type", { input: [{ ...user, type: "m" }] }, { input: [{ ...user, type: "" }] }],
    ["input[0].role", { input: [{ ...user, role: "developer" }] }, { input: [{ ...user, role: "tool" }] }],
    ["max_output_tokens", { max_output_tokens: 1 }, { max_output_tokens: 0 }],
    ["max_tool_calls", { max_tool_calls: 1 }, { max_tool_calls: 0 }],
    ["top_logprobs", { top_logprobs: 0 }, { top_logprobs: -1 }],
    ["top_logprobs", { top_logprobs: 20 }, { top_logprobs: 21 }],
    ["tools[0].type", tool({ type: "t" }), tool({ type: "" })],
    ["tools[0].name", tool({ name: "f" }), tool({ name: "" })],
    ["truncation", { truncation: "auto" }, { truncation: "never" }],
    ["metadata", { metadata: texts(16, 512) }, { metadata: texts(17, 1) }],
    ["metadata.key0", { metadata: texts(1, 512) }, { metadata: texts(1, 513) }],
  ];
  for (const [field, taken, refused] of cases)
    expect([field, refusalOf(taken), refusalOf(refused)[1]]).toEqual([field, [], field]);
});
