import { describe, expect, test } from "bun:test";
import { ANSWER_CONTEXT } from "../../../test/protocols/answer-context.ts";
import { GatewayError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json/json-value.ts";
import type { AnswerContext } from "../protocol.ts";
import { readAnswer } from "./answer.ts";
import { openStream } from "./relay.ts";

// Whether an answer is whole must not depend on whether it was streamed.

const HEAD = { id: "c1", created: 7, model: "up" };
const USAGE = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const encoder = new TextEncoder();

interface Choice {
  readonly message: JsonObject;
  readonly finish: unknown;
}

const cases: readonly {
  readonly name: string;
  readonly choices: readonly Choice[];
  readonly whole: boolean;
}[] = [
  { name: "text with a reason", choices: [{ message: { content: "a" }, finish: "stop" }], whole: true },
  { name: "text without a reason", choices: [{ message: { content: "a" }, finish: null }], whole: true },
  { name: "nothing, with a reason", choices: [{ message: { content: "" }, finish: "length" }], whole: true },
  { name: "nothing, without a reason", choices: [{ message: { content: "" }, finish: null }], whole: false },
  { name: "null, without a reason", choices: [{ message: { content: null }, finish: null }], whole: false },
  {
    name: "nothing, with an empty reason",
    choices: [{ message: { content: "" }, finish: "" }],
    whole: false,
  },
  {
    name: "empty lists, without a reason",
    choices: [{ message: { content: "", tool_calls: [], annotations: [] }, finish: null }],
    whole: false,
  },
  {
    name: "reasoning alone",
    choices: [{ message: { content: "", reasoning_content: "r" }, finish: null }],
    whole: true,
  },
  {
    name: "a call without a reason",
    choices: [
      {
        message: {
          content: null,
          tool_calls: [{ index: 0, id: "a", type: "function", function: { name: "f", arguments: "{}" } }],
        },
        finish: null,
      },
    ],
    whole: true,
  },
  {
    name: "a choice that says something beside one that does not",
    choices: [
      { message: { content: "a" }, finish: "stop" },
      { message: { content: "" }, finish: null },
    ],
    whole: true,
  },
  {
    name: "a choice with a reason beside one without, both empty",
    choices: [
      { message: { content: "" }, finish: "stop" },
      { message: { content: "" }, finish: null },
    ],
    whole: false,
  },
];

function contextOf(native: boolean, choices: number): AnswerContext {
  return { ...ANSWER_CONTEXT, native, choices };
}

function isWholePlain(choices: readonly Choice[], context: AnswerContext): boolean {
  const answer = {
    ...HEAD,
    object: "chat.completion",
    choices: choices.map(({ message, finish }, index) => ({
      index,
      message: { role: "assistant", ...message },
      finish_reason: finish,
    })),
    usage: USAGE,
  };
  try {
    readAnswer(encoder.encode(JSON.stringify(answer)), context);
    return true;
  } catch (error) {
    expect(error instanceof GatewayError && error.kind).toBe("upstream_error");
    return false;
  }
}

function isWholeStreamed(choices: readonly Choice[], context: AnswerContext): boolean {
  const stream = openStream(context);
  const chunk = (index: number, delta: JsonObject, finish: unknown): object => ({
    ...HEAD,
    object: "chat.completion.chunk",
    choices: [{ index, delta, finish_reason: finish }],
  });
  const events = [
    ...choices.map((_, index) => chunk(index, { role: "assistant", content: "" }, null)),
    ...choices.map(({ message }, index) => chunk(index, message, null)),
    ...choices.map(({ finish }, index) => chunk(index, {}, finish)),
    { ...HEAD, object: "chat.completion.chunk", choices: [], usage: USAGE },
  ];
  const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  stream.push(encoder.encode(`${text}data: [DONE]\n\n`));
  stream.end(true);
  return stream.isComplete && stream.failure === undefined;
}

describe("whether an answer is whole is judged the same plain and streamed:", () => {
  for (const { name, choices, whole } of cases) {
    for (const native of [true, false]) {
      test(`${name}, ${native ? "native" : "compatible"}`, () => {
        const context = contextOf(native, choices.length);
        expect({
          plain: isWholePlain(choices, context),
          streamed: isWholeStreamed(choices, context),
        }).toEqual({ plain: whole, streamed: whole });
      });
    }
  }
});
