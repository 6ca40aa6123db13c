import { joinBytes } from "../../core/bytes/bytes.ts";
import { wireRequest } from "../../../test/protocols/wire-request.ts";
import { runsOf } from "../../../test/runs.ts";
import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { GatewayError } from "../../core/errors.ts";
import type { Model } from "../../core/model.ts";
import type { RelayTarget } from "../protocol.ts";
import { CHAT_FIELDS } from "./schema.ts";
import { readRequest } from "./request.ts";
import { upstreamBody } from "./upstream-body.ts";

const RUNS = runsOf(300, 5_000);
const MESSAGES = '"messages":[{"role":"user","content":"hi"}]';

interface Aim {
  readonly model?: Partial<Model>;
  readonly target?: Partial<RelayTarget>;
}

function send(text: string, { model = {}, target = {} }: Aim = {}) {
  const whole = {
    id: "v/m",
    outputModalities: ["text"],
    ignoredParameters: [],
    maxTokensField: "max_completion_tokens",
    maxOutput: 100,
    ...model,
  };
  const { body, warnings } = upstreamBody(readRequest(wireRequest(text)), {
    model: whole as unknown as Model,
    upstreamId: "up",
    unknownFields: "remove",
    native: true,
    streamUsageOption: true,
    ...target,
  });
  return { text: new TextDecoder().decode(joinBytes(body)), warnings };
}

const old: Aim = { model: { maxTokensField: "max_tokens" } };

describe("each rewrite does what it is named for and leaves every other byte", () => {
  const cases: readonly (Aim & { name: string; sent: string; got: string; warns?: string[] })[] = [
    { name: "the model's upstream id", sent: "", got: "" },
    {
      name: "text, where a model would put out images unasked",
      model: { outputModalities: ["text", "image"] },
      sent: "",
      got: ',"modalities":["text"]',
    },
    {
      name: "the same for a null",
      model: { outputModalities: ["text", "image"] },
      sent: ',"modalities":null',
      got: ',"modalities":["text"]',
    },
    {
      name: "images where they are asked for",
      model: { outputModalities: ["text", "image"] },
      sent: ',"modalities":["image"]',
      got: ',"modalities":["image"]',
    },
    {
      name: "a bound under the name the target knows",
      sent: ',"max_tokens" : 1e1',
      got: ',"max_completion_tokens" : 1e1',
    },
    { name: "the same the other way", ...old, sent: ',"max_completion_tokens":7', got: ',"max_tokens":7' },
    {
      name: "of two bounds the first word wins",
      sent: ',"max_tokens":5,"max_completion_tokens":6',
      got: ',"max_completion_tokens":6',
    },
    {
      name: "also for a target with the old word",
      ...old,
      sent: ',"max_tokens":5,"max_completion_tokens":6',
      got: ',"max_tokens":6',
    },
    {
      name: "a bound beyond the model's most is lowered",
      sent: ',"max_completion_tokens":1000000000',
      got: ',"max_completion_tokens":100',
      warns: ["max_completion_tokens"],
    },
    {
      name: "also under its other name",
      sent: ',"max_tokens":101',
      got: ',"max_completion_tokens":100',
      warns: ["max_tokens"],
    },
    {
      name: "a bound the hold asks for",
      target: { outputBound: 33 },
      sent: "",
      got: ',"max_completion_tokens":33',
    },
    {
      name: "no bound where the caller set one",
      target: { outputBound: 33 },
      sent: ',"max_completion_tokens":50',
      got: ',"max_completion_tokens":50',
    },
    {
      name: "usage of a stream is asked for",
      sent: ',"stream":true',
      got: ',"stream":true,"stream_options":{"include_usage":true}',
    },
    {
      name: "also when it was declined",
      sent: ',"stream":true,"stream_options":{ "include_usage" : false }',
      got: ',"stream":true,"stream_options":{ "include_usage" : true }',
    },
    {
      name: "beside other options",
      sent: ',"stream":true,"stream_options":{"include_obfuscation":false}',
      got: ',"stream":true,"stream_options":{"include_obfuscation":false,"include_usage":true}',
    },
    {
      name: "in empty options",
      sent: ',"stream":true,"stream_options":{}',
      got: ',"stream":true,"stream_options":{"include_usage":true}',
    },
    {
      name: "not when it was asked for",
      sent: ',"stream":true,"stream_options":{"include_usage":true}',
      got: ',"stream":true,"stream_options":{"include_usage":true}',
    },
    {
      name: "and options of a stream go where there is none",
      sent: ',"stream":false,"stream_options":{"include_usage":true}',
      got: ',"stream":false',
    },
    {
      name: "not of a target that does not know it",
      target: { streamUsageOption: false },
      sent: ',"stream":true',
      got: ',"stream":true',
    },
    {
      name: "a parameter that the model ignores goes",
      model: { ignoredParameters: ["temperature"] },
      sent: ',"temperature":1,"top_p":1',
      got: ',"top_p":1',
      warns: ["temperature"],
    },
    {
      name: "fields that nobody knows go",
      sent: ',"api_base":"http://x","api_key":"k","base_url":"u","headers":{},"credit":1',
      got: "",
      warns: ["api_base", "api_key", "base_url", "headers", "credit"],
    },
    {
      name: "or stay, where the target takes them",
      target: { unknownFields: "pass" },
      sent: ',"top_k":4.0',
      got: ',"top_k":4.0',
    },
    {
      name: "reasoning in the target's word",
      sent: ',"reasoning":{"effort":"low"}',
      got: ',"reasoning_effort":"low"',
    },
    {
      name: "reasoning_effort wins over reasoning",
      sent: ',"reasoning":{"effort":"low"},"reasoning_effort":"high"',
      got: ',"reasoning_effort":"high"',
      warns: ["reasoning"],
    },
    {
      name: "thinking goes with a warning",
      sent: ',"thinking":{"type":"enabled"}',
      got: "",
      warns: ["thinking"],
    },
    {
      name: "image_config goes with a warning",
      sent: ',"image_config":{}',
      got: "",
      warns: ["image_config"],
    },
    {
      name: "our own words stay where the target takes them",
      target: { unknownFields: "pass" },
      sent: ',"thinking":{"type":"enabled"}',
      got: ',"thinking":{"type":"enabled"}',
    },
    {
      name: "user and metadata stay",
      sent: ',"user":"u","metadata":{"a":"b"}',
      got: ',"user":"u","metadata":{"a":"b"}',
    },
    {
      name: "free values of a priced field stay",
      sent: ',"service_tier":"default"',
      got: ',"service_tier":"default"',
    },
  ];
  for (const { name, sent, got, warns = [], ...aim } of cases) {
    test(name, () => {
      const { text, warnings } = send(`{"model":"v/m",${MESSAGES}${sent}}`, aim);
      expect(text).toBe(`{"model":"up",${MESSAGES}${got}}`);
      expect(warnings.map((warning) => warning.split(" ")[0] as string)).toEqual(warns);
    });
  }

  for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
    test(`${name} is a field that nobody knows`, () => {
      expect(send(`{"model":"v/m",${MESSAGES},"${name}":{"x":1}}`).text).toBe(`{"model":"up",${MESSAGES}}`);
    });
  }

  test("reasoning is left out for a model that ignores reasoning_effort", () => {
    const aim = { model: { ignoredParameters: ["reasoning_effort"] } };
    expect(send(`{"model":"v/m",${MESSAGES},"reasoning":{"effort":"low"}}`, aim).text).toBe(
      `{"model":"up",${MESSAGES}}`,
    );
  });

  test("the upstream id is written as JSON, whatever is in it", () => {
    const { text } = send(`{"model":"v/m",${MESSAGES}}`, { target: { upstreamId: 'a"b\\c' } });
    expect(JSON.parse(text).model).toBe('a"b\\c');
  });

  test("a warning can stand in a header, whatever the field is called", () => {
    const { warnings } = send(`{"model":"v/m",${MESSAGES},"a\\"\\r\\nb\u00e9${"x".repeat(999)}":1}`);
    expect(warnings[0]).toMatch(/^[\x20-\x7e]+$/);
    expect(warnings[0]).not.toMatch(/["\\]/);
    expect(warnings[0]?.length).toBeLessThan(200);
  });
});

describe("what the target cannot express is a 400 that names it", () => {
  const part = '"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"magic"}]}]';
  const cases = [
    { text: `{"model":"m",${MESSAGES},"service_tier":"priority"}`, param: "service_tier" },
    { text: `{"model":"m",${MESSAGES},"service_tier":"flex"}`, param: "service_tier" },
    { text: `{"model":"m",${MESSAGES},"web_search_options":{}}`, param: "web_search_options" },
    { text: `{"model":"m",${MESSAGES},"moderation":{}}`, param: "moderation" },
    { text: `{"model":"m",${part}}`, param: "messages[0].content[1].type" },
    {
      text: `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}]}]}`,
      param: "messages[0].content[0].cache_control.ttl",
    },
    {
      text: `{"model":"m",${MESSAGES},"tools":[{"function":{"name":"f"},"cache_control":{"ttl":"1h"}}]}`,
      param: "tools[0].cache_control.ttl",
    },
    {
      text: `{"model":"m",${MESSAGES},"stream":true,"stream_options":{"include_usage":true,"include_us\\u0061ge":false}}`,
      param: "stream_options",
    },
  ];
  for (const { text, param } of cases) {
    test(param, () => {
      let thrown: unknown;
      try {
        send(text);
      } catch (error) {
        thrown = error;
      }
      expect(thrown).toBeInstanceOf(GatewayError);
      expect(thrown).toMatchObject({ kind: "invalid_request_error", param });
    });
  }
});

test("null is a free value of every field that has a price", () => {
  for (const field of Object.values(CHAT_FIELDS.fields))
    if (field.rule === "priced") expect(field.freeValues).toContain(null);
});

test("any request for a target that takes it keeps every byte but the model's", () => {
  const space = fc.constantFrom("", " ", "\n", "\t\r\n");
  const number = fc.constantFrom("1", "1.0", "1e0", "10e-1", "0.50", "-0", "0.0", "1E-0");
  const field = fc.oneof(
    fc.tuple(fc.constantFrom("temperature", "top_p"), fc.constantFrom("1", "1.0", "1e0", "0.50", "-0")),
    fc.tuple(fc.constantFrom("seed", "x-1", "é", "logit_bias"), number),
    fc.tuple(
      fc.constantFrom("user", "metadata", "y"),
      fc.jsonValue({ maxDepth: 2 }).map((v) => JSON.stringify(v)),
    ),
  );
  fc.assert(
    fc.property(
      fc.uniqueArray(field, { selector: ([name]) => name, maxLength: 6 }),
      fc.array(space, { minLength: 5, maxLength: 5 }),
      fc.nat(6),
      (fields, [a = "", b = "", c = "", d = "", e = ""], place) => {
        const members = fields.map(([name, value]) => `${JSON.stringify(name)}${b}:${c}${value}`);
        members.splice(place, 0, `"model"${b}:${c}"v/m"`, MESSAGES);
        const text = `${a}{${d}${members.join(`${e},${a}`)}${e}}${c}`;
        const sent = send(text, { target: { unknownFields: "pass", streamUsageOption: false } });
        expect(sent.text).toBe(text.replace('"v/m"', '"up"'));
        expect(sent.warnings).toEqual([]);
      },
    ),
    RUNS,
  );
});

describe("a null where we put a value gives way to it", () => {
  test("a bound on output stands once", () => {
    const { text } = send(`{"model":"v/m",${MESSAGES},"max_tokens":null,"max_completion_tokens":null}`, {
      target: { outputBound: 9 },
    });
    expect(text).toBe(`{"model":"up",${MESSAGES},"max_completion_tokens":9}`);
  });

  test("a bound under the other name drops the null under its own", () => {
    const { text } = send(`{"model":"v/m",${MESSAGES},"max_completion_tokens":null,"max_tokens":5}`);
    expect(text).toBe(`{"model":"up",${MESSAGES},"max_completion_tokens":5}`);
  });

  test("stream_options asks for usage", () => {
    const { text } = send(`{"model":"v/m",${MESSAGES},"stream":true,"stream_options":null}`);
    expect(text).toBe(`{"model":"up",${MESSAGES},"stream":true,"stream_options":{"include_usage":true}}`);
  });
});
