import { describe, expect, test } from "bun:test";
import { ANSWER_CONTEXT } from "../../../test/protocols/answer-context.ts";
import { GatewayError } from "../../core/errors.ts";
import { NO_USAGE } from "../../core/money/usage.ts";
import type { AnswerContext } from "../protocol.ts";
import { readAnswer } from "./answer.ts";
import { encodeError } from "./error-body.ts";
import { limitHeaders } from "./limit-headers.ts";

const CONTEXT: AnswerContext = { ...ANSWER_CONTEXT, expectedInput: 11 };
const USAGE = '"usage":{"input_tokens":3,"output_tokens":2}';
const CONTENT = '"content":[{"type":"text","text":"four letters","citations":null}]';
const read = (text: string, context = CONTEXT) => readAnswer(new TextEncoder().encode(text), context);
const shown = (text: string, context = CONTEXT): string =>
  new TextDecoder().decode(read(text, context).encode(1_500_000n));

describe("a whole answer keeps its bytes", () => {
  test("but for the model and the credit at its end", () => {
    expect(
      shown(`{ "model":"claude-x", "type":"message","id":"msg_1",${CONTENT},"stop_reason":null, ${USAGE} }`),
    ).toBe(
      `{ "model":"v/m", "type":"message","id":"msg_1",${CONTENT},"stop_reason":null, ${USAGE},"credit":1.5 }`,
    );
  });

  test("and a credit of another gateway is replaced", () => {
    expect(shown(`{"type":"message","credit":9,${CONTENT},${USAGE},"model":"x"}`)).toBe(
      `{"type":"message",${CONTENT},${USAGE},"model":"v/m","credit":1.5}`,
    );
  });

  test("and thinking, signatures and redacted thinking are as they came", () => {
    const blocks =
      '"content":[{"type":"thinking","thinking":"\\u0068m","signature":"Eu/+=="},{"type":"redacted_thinking","data":"AA=="}]';
    expect(shown(`{"type":"message",${blocks},${USAGE},"model":"x"}`)).toContain(blocks);
  });

  test("and padding that the provider documents goes", () => {
    expect(
      shown(`{"type":"message","pad":"xx",${CONTENT},${USAGE},"model":"x"}`, {
        ...CONTEXT,
        padding: ["pad"],
      }),
    ).toBe(`{"type":"message",${CONTENT},${USAGE},"model":"v/m","credit":1.5}`);
  });

  test("and an answer of nothing is one, as for a cache that is warmed", () => {
    expect(read(`{"type":"message","content":[],${USAGE}}`).metered.usage).toEqual({
      ...NO_USAGE,
      input: 3,
      output: 2,
    });
  });
});

describe("usage that is missing or cannot be", () => {
  test("is counted by us, flagged, and shown as it was charged", () => {
    const text = `{"type":"message",${CONTENT},"model":"x"}`;
    const { metered } = read(text);
    expect(metered).toEqual({ usage: { ...NO_USAGE, input: 11, output: 3 }, flags: ["estimated"] });
    expect(JSON.parse(shown(text)).usage).toMatchObject({ input_tokens: 11, output_tokens: 3 });
  });

  test("is clamped and shown as it was charged", () => {
    const text = `{"type":"message",${CONTENT},"usage":{"input_tokens":-1,"output_tokens":2}}`;
    expect(read(text).metered.flags).toEqual(["clamped"]);
    expect(JSON.parse(shown(text)).usage).toMatchObject({ input_tokens: 0, output_tokens: 2 });
  });

  test("is our count where it says that there is no output, though there is", () => {
    const text = `{"type":"message",${CONTENT},"usage":{"input_tokens":7,"output_tokens":0}}`;
    expect(read(text).metered).toEqual({
      usage: { ...NO_USAGE, input: 7, output: 3 },
      flags: ["estimated"],
    });
    expect(JSON.parse(shown(text)).usage).toMatchObject({ input_tokens: 7, output_tokens: 3 });
  });

  test("counts tool calls", () => {
    const call = '"content":[{"type":"tool_use","id":"t","name":"weather","input":{"city":"Oslo, Norway"}}]';
    expect(read(`{"type":"message",${call}}`).metered.usage.output).toBeGreaterThan(5);
  });
});

describe("a 200 that is no message is an error of the provider", () => {
  const cases: readonly (readonly [text: string, kind: string])[] = [
    ["", "upstream_error"],
    ["[]", "upstream_error"],
    ["{", "upstream_error"],
    ["{}", "upstream_error"],
    ['{"type":"message","content":"x"}', "upstream_error"],
    ['{"type":"completion","content":[]}', "upstream_error"],
    ['{"choices":[]}', "upstream_error"],
    ['{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', "overloaded_error"],
    ['{"type":"error","error":{"type":"api_error","message":"boom"}}', "upstream_error"],
    ['{"type":"error","error":{"type":"authentication_error","message":"x"}}', "upstream_error"],
    [`{"type":"message","content":[${"[".repeat(300)}${"]".repeat(300)}]}`, "upstream_error"],
  ];
  for (const [text, kind] of cases) {
    test(`${text.slice(0, 70)} is ${kind}`, () => {
      try {
        read(text);
      } catch (error) {
        expect((error as GatewayError).kind as string).toBe(kind);
        return;
      }
      throw new Error("The answer was taken.");
    });
  }
});

test("errors have the outer type and the request id that clients of the format read", () => {
  const error = new GatewayError("insufficient_credits", "No credit.", {});
  expect(encodeError(error, "req_7")).toEqual({
    type: "error",
    error: { type: "insufficient_credits", message: "No credit." },
    request_id: "req_7",
  });
  const named = new GatewayError("invalid_request_error", "x is wrong.", { param: "x" });
  expect(encodeError(named, "r").error).toMatchObject({ param: "x" });
});

test("limits are shown in the headers that the official SDK names, with times in RFC 3339", () => {
  const window = { limit: 10, remaining: 3, resetAtMs: Date.UTC(2026, 10, 21, 12, 0, 5, 250) };
  expect(limitHeaders({ requests: window })).toEqual({
    "anthropic-ratelimit-requests-limit": "10",
    "anthropic-ratelimit-requests-remaining": "3",
    "anthropic-ratelimit-requests-reset": "2026-11-21T12:00:06Z",
  });
  expect(Object.keys(limitHeaders({ tokens: window }))).toEqual(
    ["limit", "remaining", "reset"].map((name) => `anthropic-ratelimit-tokens-${name}`),
  );
});
