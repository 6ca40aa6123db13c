import { describe, expect, test } from "bun:test";
import { createChunkRepairs, repairAnswer, type RepairName } from "./repairs.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- wire data of a test
type Json = any;

const chunk = (choice: Json, more: Json = {}): Json => ({
  object: "chat.completion.chunk",
  choices: [{ index: 0, ...choice }],
  ...more,
});
const say = (delta: Json, finish: string | null = null): Json => chunk({ delta, finish_reason: finish });
const first = say({ role: "assistant", content: "" });
const call = (fragment: Json, finish: string | null = null): Json => say({ tool_calls: [fragment] }, finish);
const begun = { index: 0, id: "a", type: "function", function: { name: "f", arguments: "" } };
const more = (text: string, index: unknown = 0): Json => ({ index, function: { arguments: text } });

/** Repairs a stream of chunks; gives what is sent and which repairs were needed. */
function repair(...chunks: readonly Json[]): { sent: Json[]; names: readonly string[] } {
  const repairs = createChunkRepairs();
  const sent = chunks.flatMap((next) => {
    const text = typeof next === "string" ? next : JSON.stringify(next);
    return (repairs.apply(text) ?? []).map((out) => JSON.parse(out));
  });
  return { sent, names: repairs.applied() };
}

interface Case {
  readonly name: string;
  readonly repairs: readonly RepairName[];
  readonly got: readonly Json[];
  readonly want: readonly Json[];
}

/** Source: https://platform.minimax.io/docs/api-reference/text-openai-api (reasoning_split). */
const miniMax = (text: string): Json => ({
  type: "reasoning.text",
  id: "reasoning-text-1",
  format: "MiniMax-response-v1",
  index: 0,
  text,
});

const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
const twoCalls = [
  { ...begun, function: { name: "f", arguments: "{}" } },
  { index: 1, id: "b", type: "function", function: { name: "g", arguments: "{}" } },
];

const CASES: readonly Case[] = [
  {
    name: "Moonshot: usage inside the last choice",
    repairs: ["usage_in_choice"],
    got: [first, chunk({ delta: {}, finish_reason: "stop", usage })],
    want: [first, chunk({ delta: {}, finish_reason: "stop" }, { usage })],
  },
  {
    name: "Moonshot: usage in both places is the one at the top",
    repairs: ["usage_in_choice"],
    got: [first, chunk({ delta: {}, finish_reason: "stop", usage: {} }, { usage })],
    want: [first, chunk({ delta: {}, finish_reason: "stop" }, { usage })],
  },
  {
    name: "Groq: usage in x_groq",
    repairs: ["usage_in_x_groq"],
    got: [first, { ...say({}, "stop"), x_groq: { id: "x", usage } }],
    want: [first, { ...say({}, "stop"), x_groq: { id: "x", usage }, usage }],
  },
  {
    name: "Groq: an error in x_groq",
    repairs: ["error_in_x_groq"],
    got: [first, { ...say({}), x_groq: { error: { message: "boom" } } }],
    want: [first, { ...say({}), x_groq: { error: { message: "boom" } }, error: { message: "boom" } }],
  },
  {
    name: "a chunk without object",
    repairs: ["chunk_object"],
    got: [{ choices: first.choices }],
    want: [first],
  },
  {
    name: "a choice without index",
    repairs: ["choice_index"],
    got: [{ ...first, choices: [{ delta: { role: "assistant", content: "a" } }] }],
    want: [{ ...first, choices: [{ index: 0, delta: { role: "assistant", content: "a" } }] }],
  },
  {
    name: "Perplexity, Cerebras: a finish without a delta",
    repairs: ["choice_delta"],
    got: [first, chunk({ finish_reason: "stop" })],
    want: [first, say({}, "stop")],
  },
  {
    name: "a choice with a message for a delta",
    repairs: ["choice_delta", "first_role"],
    got: [chunk({ message: { content: "a" }, finish_reason: null })],
    want: [chunk({ delta: { role: "assistant", content: "a" }, finish_reason: null })],
  },
  {
    name: "a first delta without role",
    repairs: ["first_role"],
    got: [say({ content: "a" }), say({ content: "b" })],
    want: [say({ role: "assistant", content: "a" }), say({ content: "b" })],
  },
  {
    name: "an empty role",
    repairs: ["first_role"],
    got: [say({ role: "", content: "a" })],
    want: [say({ role: "assistant", content: "a" })],
  },
  ...(
    [
      ["Together", "eos", "stop"],
      ["Mistral", "model_length", "length"],
      ["Zhipu", "sensitive", "content_filter"],
      ["Zhipu", "network_error", "error"],
      ["DeepSeek", "insufficient_system_resource", "error"],
      ["vLLM", "abort", "error"],
      ["Anthropic", "end_turn", "stop"],
      ["Anthropic", "max_tokens", "length"],
      ["Anthropic", "tool_use", "tool_calls"],
    ] as const
  ).map(([vendor, word, reason]): Case => ({
    name: `${vendor}: finish ${word} is ${reason}`,
    repairs: ["finish_reason_word"],
    got: [first, say({}, word)],
    want: [first, say({}, reason)],
  })),
  {
    name: "an empty finish reason is none",
    repairs: ["finish_reason_word"],
    got: [first, say({ content: "a" }, ""), say({}, "stop")],
    want: [first, say({ content: "a" }), say({}, "stop")],
  },
  {
    name: "a second finish that says nothing is dropped",
    repairs: ["second_finish"],
    got: [first, say({}, "stop"), say({ content: "" }, "stop")],
    want: [first, say({}, "stop")],
  },
  {
    name: "a second finish that carries usage keeps it",
    repairs: ["second_finish"],
    got: [first, say({}, "stop"), { ...say({}, "stop"), usage }],
    want: [first, say({}, "stop"), { object: first.object, choices: [], usage }],
  },
  {
    name: "Gemini: stop after tool calls",
    repairs: ["finish_after_tool_calls"],
    got: [first, call({ ...begun, function: { name: "f", arguments: "{}" } }), say({}, "stop")],
    want: [first, call({ ...begun, function: { name: "f", arguments: "{}" } }), say({}, "tool_calls")],
  },
  {
    name: "Mistral: content as parts, thinking and text",
    repairs: ["content_parts"],
    got: [
      first,
      say({ content: [{ type: "thinking", thinking: [{ type: "text", text: "hm" }] }] }),
      say({
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ],
      }),
    ],
    want: [first, say({ content: null, reasoning_content: "hm" }), say({ content: "ab" })],
  },
  {
    name: "Mistral: parts of another kind stand beside the text, and lose nothing",
    repairs: ["content_parts"],
    got: [
      first,
      say({ content: [{ type: "reference", reference_ids: [1] }] }),
      say({
        content: [
          { type: "text", text: "a" },
          { type: "reference", reference_ids: [2] },
        ],
      }),
    ],
    want: [
      first,
      say({ content: null, content_parts: [{ type: "reference", reference_ids: [1] }] }),
      say({ content: "a", content_parts: [{ type: "reference", reference_ids: [2] }] }),
    ],
  },
  {
    name: "DashScope, Moonshot: a null index",
    repairs: ["tool_call_index"],
    got: [first, call({ ...begun, index: null }), call(more("{}", null))],
    want: [first, call(begun), call(more("{}"))],
  },
  {
    name: "Gemini: parallel calls that share index 0",
    repairs: ["tool_call_index"],
    got: [first, call(twoCalls[0]), call({ ...twoCalls[1], index: 0 })],
    want: [first, call(twoCalls[0]), call(twoCalls[1])],
  },
  {
    name: "vLLM: indexes that begin at 1",
    repairs: ["tool_call_index"],
    got: [first, call({ ...begun, index: 1 }), call(more("{}", 1))],
    want: [first, call(begun), call(more("{}"))],
  },
  {
    name: "fragments that cross go to their own calls",
    repairs: [],
    got: [
      first,
      call(begun),
      call({ ...begun, index: 1, id: "b" }),
      call(more("{}", 0)),
      call(more("[]", 1)),
    ],
    want: [
      first,
      call(begun),
      call({ ...begun, index: 1, id: "b" }),
      call(more("{}", 0)),
      call(more("[]", 1)),
    ],
  },
  {
    name: "a call without id",
    repairs: ["tool_call_id"],
    got: [first, call({ index: 0, type: "function", function: { name: "f", arguments: "{}" } })],
    want: [
      first,
      call({ index: 0, id: "call_0", type: "function", function: { name: "f", arguments: "{}" } }),
    ],
  },
  {
    name: "a call without type",
    repairs: ["tool_call_type"],
    got: [first, call({ index: 0, id: "a", function: { name: "f", arguments: "{}" } })],
    want: [first, call({ index: 0, id: "a", type: "function", function: { name: "f", arguments: "{}" } })],
  },
  {
    name: "DashScope: id, type and name said again",
    repairs: ["tool_call_repeated"],
    got: [
      first,
      call(begun),
      call({ index: 0, id: "", type: "function", function: { name: "", arguments: "{}" } }),
    ],
    want: [first, call(begun), call(more("{}"))],
  },
  {
    name: "the same id said again is the same call",
    repairs: ["tool_call_repeated"],
    got: [first, call(begun), call({ ...more("{}"), id: "a" })],
    want: [first, call(begun), call(more("{}"))],
  },
  {
    name: "Ollama: arguments as an object",
    repairs: ["arguments_object"],
    got: [first, call({ ...begun, function: { name: "f", arguments: { a: 1 } } })],
    want: [first, call({ ...begun, function: { name: "f", arguments: '{"a":1}' } })],
  },
  {
    name: "MiniMax: the whole message again at the end gives only what has not come",
    repairs: ["chunk_object", "choice_delta"],
    got: [
      first,
      say({ content: "Hello, " }),
      {
        object: "chat.completion",
        choices: [
          { index: 0, message: { role: "assistant", content: "Hello, world" }, finish_reason: "stop" },
        ],
      },
    ],
    want: [first, say({ content: "Hello, " }), say({ content: "world" }, "stop")],
  },
  {
    name: "MiniMax: a whole message that has come already gives nothing",
    repairs: ["choice_delta"],
    got: [first, say({ content: "Hi" }), chunk({ message: { content: "Hi" }, finish_reason: "stop" })],
    want: [first, say({ content: "Hi" }), say({}, "stop")],
  },
  {
    name: "MiniMax: reasoning that comes whole each time",
    repairs: ["cumulative_details"],
    got: ["I", "I th", "I think"].map((text, i) =>
      say({ ...(i === 0 ? { role: "assistant" } : {}), reasoning_details: [miniMax(text)] }),
    ),
    want: ["I", " th", "ink"].map((text, i) =>
      say({ ...(i === 0 ? { role: "assistant" } : {}), reasoning_details: [miniMax(text)] }),
    ),
  },
  {
    name: "OpenRouter: reasoning that says the same twice is no such thing",
    repairs: [],
    got: [
      first,
      ...["ha", "haha"].map((text) => say({ reasoning_details: [{ ...miniMax(text), format: "unknown" }] })),
    ],
    want: [
      first,
      ...["ha", "haha"].map((text) => say({ reasoning_details: [{ ...miniMax(text), format: "unknown" }] })),
    ],
  },
  {
    name: "text that begins as it did is text",
    repairs: [],
    got: [first, say({ content: "1" }), say({ content: "10" })],
    want: [first, say({ content: "1" }), say({ content: "10" })],
  },
  {
    name: "<think> in the text is the model's own",
    repairs: [],
    got: [first, say({ content: "<think>a</think>" })],
    want: [first, say({ content: "<think>a</think>" })],
  },
  {
    name: "MiniMax: an error in base_resp",
    repairs: ["error_in_base_resp"],
    got: [{ base_resp: { status_code: 1002, status_msg: "rate limit" }, choices: null }],
    want: [
      {
        base_resp: { status_code: 1002, status_msg: "rate limit" },
        choices: null,
        error: { message: "rate limit", type: "base_resp", code: 1002 },
      },
    ],
  },
  {
    name: "OpenRouter: an error in the choice",
    repairs: ["error_in_choice"],
    got: [first, chunk({ delta: {}, finish_reason: "error", error: { code: 502, message: "x" } })],
    want: [
      first,
      chunk(
        { delta: {}, finish_reason: "error", error: { code: 502, message: "x" } },
        { error: { code: 502, message: "x" } },
      ),
    ],
  },
  {
    name: "vLLM: a chunk that is an error",
    repairs: ["error_without_wrapper"],
    got: [first, { object: "error", message: "x", type: "BadRequestError", code: 400 }],
    want: [
      first,
      {
        object: "error",
        message: "x",
        type: "BadRequestError",
        code: 400,
        error: { message: "x", type: "BadRequestError", code: 400 },
      },
    ],
  },
  {
    name: "choices that are null",
    repairs: ["choices_null", "chunk_object"],
    got: [first, { choices: null, usage }],
    want: [first, { object: "chat.completion.chunk", choices: [], usage }],
  },
  {
    name: "OpenRouter: the model's own reason stays beside the interface's word",
    repairs: ["finish_reason_word"],
    got: [first, chunk({ delta: {}, finish_reason: "end_turn", native_finish_reason: "end_turn" })],
    want: [first, chunk({ delta: {}, finish_reason: "stop", native_finish_reason: "end_turn" })],
  },
  {
    name: "Azure: a first chunk about the prompt alone",
    repairs: [],
    got: [
      { object: "chat.completion.chunk", choices: [], prompt_filter_results: [{ prompt_index: 0 }] },
      first,
    ],
    want: [
      { object: "chat.completion.chunk", choices: [], prompt_filter_results: [{ prompt_index: 0 }] },
      first,
    ],
  },
  {
    name: "a call that ends without arguments",
    repairs: ["empty_arguments"],
    got: [first, call(begun), say({}, "tool_calls")],
    want: [first, call(begun), call(more("{}")), say({}, "tool_calls")],
  },
];

/** A call without arguments that ends in the chunk it began in. */
const WHOLE_CALL = call(begun, "tool_calls");

describe("chunks", () => {
  for (const { name, repairs, got, want } of CASES) {
    test(name, () => {
      const { sent, names } = repair(...got);
      expect(sent).toEqual([...want]);
      expect([...names].toSorted()).toEqual([...repairs].toSorted());
    });
  }

  test("every named repair has its evidence here", () => {
    const shown = new Set(CASES.flatMap(({ repairs }) => repairs));
    const all: Readonly<Record<RepairName, true>> = {
      usage_in_choice: true,
      usage_in_x_groq: true,
      chunk_object: true,
      choice_index: true,
      choice_delta: true,
      first_role: true,
      finish_reason_word: true,
      second_finish: true,
      finish_after_tool_calls: true,
      content_parts: true,
      tool_call_index: true,
      tool_call_id: true,
      tool_call_type: true,
      tool_call_repeated: true,
      arguments_object: true,
      empty_arguments: true,
      choice_message: true,
      error_in_x_groq: true,
      error_in_base_resp: true,
      error_in_choice: true,
      error_without_wrapper: true,
      choices_null: true,
      cumulative_details: true,
    };
    // Only a whole answer can lack a message: see there.
    shown.add("choice_message");
    expect([...shown].toSorted()).toEqual((Object.keys(all) as RepairName[]).toSorted());
  });

  test("a chunk that needs nothing keeps its very text", () => {
    const repairs = createChunkRepairs();
    const text =
      ' { "object":"chat.completion.chunk", "choices":[{"index":0,"delta":{"role":"assistant","content":"\\u0061"}}], "x":1.0 } ';
    expect(repairs.apply(text)).toEqual([text]);
    expect(repairs.applied()).toEqual([]);
  });

  test("choices are repaired each by its own history", () => {
    const two = (choices: Json[]): Json => ({ object: first.object, choices });
    const { sent } = repair(
      two([
        { index: 0, delta: { content: "a" } },
        { index: 1, delta: { content: "b" } },
      ]),
      two([{ index: 1, delta: {}, finish_reason: "eos" }]),
      two([{ index: 0, delta: {}, finish_reason: "eos" }]),
    );
    expect(
      sent.flatMap(({ choices }) => choices.map((c: Json) => [c.index, c.delta.role, c.finish_reason])),
    ).toEqual([
      [0, "assistant", undefined],
      [1, "assistant", undefined],
      [1, undefined, "stop"],
      [0, undefined, "stop"],
    ]);
  });

  for (const text of ["", "{", "[1]", '"x"', "null", "5"]) {
    test(`${JSON.stringify(text)} is no chunk`, () =>
      expect(createChunkRepairs().apply(text)).toBeUndefined());
  }

  for (const choices of [[null], ["x"], [5], [[]], null, {}, "x"]) {
    test(`choices of ${JSON.stringify(choices)} do no harm`, () => {
      expect(createChunkRepairs().apply(JSON.stringify({ object: "x", choices }))).toBeDefined();
    });
  }

  test("two calls without ids under two indexes are two calls", () => {
    const bare = (index: number, name: string): Json => ({
      index,
      type: "function",
      function: { name, arguments: "{}" },
    });
    const { sent } = repair(first, call(bare(0, "f")), call(bare(1, "g")));
    expect(sent.at(-1)?.choices[0].delta.tool_calls[0]).toEqual({ ...bare(1, "g"), id: "call_1" });
  });

  test("a call without arguments that ends in its own chunk begins before its arguments", () => {
    const { sent } = repair(first, WHOLE_CALL);
    const fragments = sent.flatMap(({ choices }) => choices.flatMap((c: Json) => c.delta.tool_calls ?? []));
    expect(fragments[0]?.id).toBe("a");
    expect(fragments.map((f: Json) => f.function.arguments).join("")).toBe("{}");
  });

  test("a finish reason called constructor stays one", () => {
    expect(repair(first, say({}, "constructor")).sent.at(-1)?.choices[0].finish_reason).toBe("constructor");
  });
});

describe("whole answers", () => {
  const answer = (message: Json, rest: Json = {}): Json => ({
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: "stop", ...rest }],
  });
  const cases: readonly { name: string; repairs: RepairName[]; got: Json; want: Json }[] = [
    { name: "nothing wrong", repairs: [], got: answer({ content: "a" }), want: answer({ content: "a" }) },
    {
      name: "usage in the choice",
      repairs: ["usage_in_choice"],
      got: answer({ content: "a" }, { usage }),
      want: { ...answer({ content: "a" }), usage },
    },
    {
      name: "a filtered choice without a message",
      repairs: ["choice_message"],
      got: answer({}, { message: undefined, finish_reason: "content_filter" }),
      want: answer({ content: null }, { finish_reason: "content_filter" }),
    },
    {
      name: "another object",
      repairs: ["chunk_object"],
      got: { ...answer({}), object: "x" },
      want: answer({}),
    },
    {
      name: "no role",
      repairs: ["first_role"],
      got: answer({ role: undefined, content: "a" }),
      want: answer({ content: "a" }),
    },
    { name: "no index", repairs: ["choice_index"], got: answer({}, { index: undefined }), want: answer({}) },
    {
      name: "finish eos",
      repairs: ["finish_reason_word"],
      got: answer({}, { finish_reason: "eos" }),
      want: answer({}),
    },
    {
      name: "no finish",
      repairs: ["finish_reason_word"],
      got: answer({}, { finish_reason: null }),
      want: answer({}),
    },
    {
      name: "content parts",
      repairs: ["content_parts"],
      got: answer({
        content: [
          { type: "thinking", thinking: [{ type: "text", text: "t" }] },
          { type: "text", text: "a" },
        ],
      }),
      want: answer({ content: "a", reasoning_content: "t" }),
    },
    {
      name: "a call without id and type, its arguments an object, finish stop",
      repairs: ["arguments_object", "finish_after_tool_calls", "tool_call_id", "tool_call_type"],
      got: answer({ tool_calls: [{ function: { name: "f", arguments: { a: 1 } } }] }),
      want: answer(
        { tool_calls: [{ id: "call_0", type: "function", function: { name: "f", arguments: '{"a":1}' } }] },
        { finish_reason: "tool_calls" },
      ),
    },
    {
      name: "a call without arguments",
      repairs: ["empty_arguments"],
      got: answer(
        { tool_calls: [{ id: "a", type: "function", function: { name: "f" } }] },
        { finish_reason: "tool_calls" },
      ),
      want: answer(
        { tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: "{}" } }] },
        { finish_reason: "tool_calls" },
      ),
    },
  ];
  for (const { name, repairs, got, want } of cases) {
    test(name, () => {
      const repaired = JSON.parse(JSON.stringify(got));
      expect([...repairAnswer(repaired)].toSorted()).toEqual(repairs);
      expect(JSON.parse(JSON.stringify(repaired))).toEqual(JSON.parse(JSON.stringify(want)));
    });
  }
});
