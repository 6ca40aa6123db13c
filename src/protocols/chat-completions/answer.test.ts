import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { ANSWER_CONTEXT } from "../../../test/protocols/answer-context.ts";
import { runsOf } from "../../../test/runs.ts";
import { GatewayError } from "../../core/errors.ts";
import type { AnswerContext } from "../protocol.ts";
import { readAnswer } from "./answer.ts";

const RUNS = runsOf(300, 5_000);
const CONTEXT: AnswerContext = { ...ANSWER_CONTEXT, padding: ["obfuscation"], expectedInput: 11 };
const CHOICES =
  '"choices":[{"index":0,"message":{"role":"assistant","content":"four letters"},"finish_reason":"stop"}]';
const USAGE = '"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}';
const CREDIT = ',"credit":1.5';

const read = (text: string | Uint8Array, context = CONTEXT) =>
  readAnswer(typeof text === "string" ? new TextEncoder().encode(text) : text, context);
const shown = (text: string | Uint8Array, context = CONTEXT): string =>
  new TextDecoder().decode(read(text, context).encode(1_500_000n));

describe("an answer keeps its bytes but for", () => {
  const cases = [
    {
      name: "the model, and the credit at the end",
      sent: `{"id":"a", "model" : "up",${CHOICES},${USAGE}}`,
      want: `{"id":"a", "model" : "v/m",${CHOICES},${USAGE}${CREDIT}}`,
    },
    {
      name: "a model that was not told",
      sent: `{${CHOICES},${USAGE}}`,
      want: `{${CHOICES},${USAGE},"model":"v/m"${CREDIT}}`,
    },
    {
      name: "documented padding",
      sent: `{"obfuscation":"xx","model":"up",${CHOICES},${USAGE}}`,
      want: `{"model":"v/m",${CHOICES},${USAGE}${CREDIT}}`,
    },
    {
      name: "a credit of somebody else",
      sent: `{"model":"up","credit":0,${CHOICES},${USAGE}}`,
      want: `{"model":"v/m",${CHOICES},${USAGE}${CREDIT}}`,
    },
    {
      name: "an escaped credit of somebody else",
      sent: `{"model":"up","cr\\u0065dit":0,${CHOICES},${USAGE}}`,
      want: `{"model":"v/m",${CHOICES},${USAGE}${CREDIT}}`,
    },
    {
      name: "a model told twice",
      sent: `{"model":"up","model":"up",${CHOICES},${USAGE}}`,
      want: `{"model":"v/m","model":"v/m",${CHOICES},${USAGE}${CREDIT}}`,
    },
  ];
  for (const { name, sent, want } of cases) test(name, () => expect(shown(sent)).toBe(want));

  test("nothing, whatever else is in it", () => {
    const member = fc.tuple(
      fc.constantFrom("id", "object", "created", "x", "é", "system_fingerprint"),
      fc.oneof(
        fc.jsonValue({ maxDepth: 2 }).map((v) => JSON.stringify(v)),
        fc.constantFrom("1.50", "1e3", "9007199254740993", '"\\u0041"'),
      ),
    );
    const space = fc.constantFrom("", " ", "\n", "\t");
    fc.assert(
      fc.property(
        fc.uniqueArray(member, { selector: ([name]) => name }),
        space,
        fc.nat(5),
        (members, gap, place) => {
          const texts = members.map(([name, value]) => `"${name}"${gap}:${value}`);
          texts.splice(place, 0, `"model":${gap}"up"`, CHOICES, USAGE);
          const sent = `${gap}{${gap}${texts.join(`${gap},${gap}`)}`;
          const want = `${sent.replace('"up"', '"v/m"')}${CREDIT}${gap}}`;
          expect(shown(`${sent}${gap}}`)).toBe(want);
        },
      ),
      RUNS,
    );
  });
});

describe("usage", () => {
  test("of the provider is what counts, without a flag", () => {
    expect(read(`{${CHOICES},${USAGE}}`).metered).toMatchObject({
      usage: { input: 3, output: 2 },
      flags: [],
    });
  });

  test("that says that there is no output, though there is, is our count of it", () => {
    const sent = `{${CHOICES},"usage":{"prompt_tokens":7,"completion_tokens":0,"total_tokens":7}}`;
    expect(read(sent).metered).toMatchObject({ usage: { input: 7, output: 3 }, flags: ["estimated"] });
    expect(JSON.parse(shown(sent)).usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 3 });
  });

  test("that is missing counts images too", () => {
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
    const message = { role: "assistant", content: null, images: [image, image] };
    const sent = JSON.stringify({ choices: [{ index: 0, message, finish_reason: "stop" }] });
    expect(read(sent).metered.usage).toMatchObject({ output: 0, imageOutput: 2_240 });
  });

  test("of a choice without a message is taken as it is", () => {
    const sent =
      '{"choices":[{"index":0,"finish_reason":"content_filter"}],"usage":{"prompt_tokens":7,"completion_tokens":0,"total_tokens":7}}';
    expect(read(sent, { ...CONTEXT, native: false }).metered.usage).toMatchObject({ input: 7, output: 0 });
  });

  for (const usage of ["", '"usage":null,', '"usage":{},', '"usage":5,']) {
    test(`missing (${usage}) is our count, flagged and told`, () => {
      const sent = `{${usage}${CHOICES}}`;
      expect(read(sent).metered).toMatchObject({ usage: { input: 11, output: 3 }, flags: ["estimated"] });
      expect(JSON.parse(shown(sent)).usage).toMatchObject({
        prompt_tokens: 11,
        completion_tokens: 3,
        total_tokens: 14,
      });
    });
  }

  test("that cannot be is told as it was charged: output below nothing by our count", () => {
    const sent = `{${CHOICES},"usage":{"prompt_tokens":3,"completion_tokens":-2,"total_tokens":1}}`;
    expect(read(sent).metered.flags).toEqual(["clamped", "estimated"]);
    expect(JSON.parse(shown(sent)).usage).toMatchObject({
      prompt_tokens: 3,
      completion_tokens: 3,
      total_tokens: 6,
    });
  });

  test("without a total, or with reasoning beside it, gets the true one", () => {
    const usage =
      '"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":9,"completion_tokens_details":{"reasoning_tokens":4}}';
    expect(JSON.parse(shown(`{${CHOICES},${usage}}`)).usage).toMatchObject({
      completion_tokens: 6,
      total_tokens: 9,
    });
  });
});

describe("a 200 that is no answer is upstream_error", () => {
  const cases = [
    "",
    "<html>",
    "{",
    `{${CHOICES}`,
    "null",
    "[]",
    '"x"',
    "{}",
    '{"choices":null}',
    '{"choices":"x"}',
    '{"choices":[]}',
    '{"choices":[{}]}',
    '{"choices":[null]}',
    '{"choices":[{"message":null}]}',
    '{"choices":[{"message":"x"}]}',
    '{"error":"boom"}',
    '{"error":{"message":"boom","code":500}}',
    `{"error":{"message":"boom"},${CHOICES}}`,
    `{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"},"choices":null}`,
    `{"choices":[{"index":0,"finish_reason":"error","message":{"role":"assistant","content":""},"error":{"code":502,"message":"boom"}}]}`,
    `{"object":"error","message":"boom","code":500}`,
    "[".repeat(1_000_000),
  ];
  for (const sent of cases) {
    for (const context of [CONTEXT, { ...CONTEXT, native: false }]) {
      test(`${sent.slice(0, 60)} ${context.native ? "" : "(compatible)"}`, () => {
        let thrown: unknown;
        try {
          read(sent, context);
        } catch (error) {
          thrown = error;
        }
        expect(thrown).toBeInstanceOf(GatewayError);
        expect((thrown as GatewayError).kind as string).toBe("upstream_error");
        expect((thrown as GatewayError).message).not.toContain("boom");
      });
    }
  }

  test("a base_resp that is fine is no error", () => {
    expect(() => read(`{"base_resp":{"status_code":0},${CHOICES},${USAGE}}`)).not.toThrow();
  });
});

const unreadable = [
  { name: "with a byte order mark", sent: `\ufeff{${CHOICES},${USAGE}}` },
  { name: "that nests 300 levels", sent: `{${CHOICES},${USAGE},"x":${"[".repeat(300)}${"]".repeat(300)}}` },
];
for (const { name, sent } of unreadable) {
  test(`an answer ${name} is refused before it is charged, or it can be encoded`, () => {
    let answer: ReturnType<typeof read> | undefined;
    try {
      answer = read(sent);
    } catch (error) {
      expect(error).toBeInstanceOf(GatewayError);
    }
    expect(() => answer?.encode(1n)).not.toThrow();
  });
}

test("a compatible answer that needs no repair keeps its bytes, one that does is told so", () => {
  const compatible = { ...CONTEXT, native: false };
  const good = `{ "object":"chat.completion", "model":"up", ${CHOICES}, ${USAGE}, "x":1.0 }`;
  expect(shown(good, compatible)).toBe(good.replace('"up"', '"v/m"').replace("1.0 }", `1.0${CREDIT} }`));
  const bad = read(good.replace('"stop"', '"eos"'), compatible);
  expect(bad.repairs).toEqual(["finish_reason_word"]);
  expect(JSON.parse(new TextDecoder().decode(bad.encode(0n))).choices[0].finish_reason).toBe("stop");
});
