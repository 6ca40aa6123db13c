import { joinBytes } from "../../core/bytes/bytes.ts";
import { wireRequest } from "../../../test/protocols/wire-request.ts";
import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../core/errors.ts";
import type { Model } from "../../core/model.ts";
import type { RelayTarget } from "../protocol.ts";
import { readRequest } from "./request.ts";
import { upstreamBody } from "./upstream-body.ts";

const encoder = new TextEncoder();
const USER = '{"role":"user","content":"hi"}';
const body = (more: string, messages = USER): string => `{"model":"m","messages":[${messages}]${more}}`;
const part = (json: string): string => body("", `{"role":"user","content":[${json}]}`);
const image = (url: string): string =>
  part(`{"type":"image_url","image_url":{"url":${JSON.stringify(url)}}}`);

function refusalOf(text: string | Uint8Array): GatewayError | undefined {
  try {
    readRequest(wireRequest(text));
    return undefined;
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
}

describe("a field at its bound is taken, and one step beyond it is refused by name", () => {
  const list = (count: number, item: string): string =>
    `[${Array.from({ length: count }, () => item).join()}]`;
  const tool = '{"type":"function","function":{"name":"f"}}';
  const bounds: readonly (readonly [field: string, taken: readonly string[], refused: readonly string[]])[] =
    [
      ["temperature", ["0", "2"], ["-0.001", "2.001"]],
      ["top_p", ["0", "1"], ["-0.001", "1.001"]],
      ["presence_penalty", ["-2", "2"], ["-2.001", "2.001"]],
      ["frequency_penalty", ["-2", "2"], ["-2.001", "2.001"]],
      ["n", ["1", "128"], ["0", "129"]],
      ["max_completion_tokens", ["1"], ["0"]],
      ["max_tokens", ["1"], ["0"]],
      ["stop", [list(16, '"a"')], [list(17, '"a"')]],
      ["tools", [list(1_024, tool)], [list(1_025, tool)]],
    ];
  for (const [field, taken, refused] of bounds)
    test(field, () => {
      for (const value of taken) expect(refusalOf(body(`,"${field}":${value}`))).toBeUndefined();
      for (const value of refused) {
        const { kind, param } = refusalOf(body(`,"${field}":${value}`)) ?? {};
        expect<unknown[]>([kind, param]).toEqual(["invalid_request_error", field]);
      }
    });

  test("messages", () => {
    const many = (count: number): string => body("", list(count, USER).slice(1, -1));
    expect(refusalOf(many(10_000))).toBeUndefined();
    expect(refusalOf(many(10_001))?.param).toBe("messages");
    expect(refusalOf(many(0))?.param).toBe("messages");
  });
});

describe("a body that is no request is a 400", () => {
  const cases: readonly {
    readonly name: string;
    readonly bytes: string | Uint8Array;
    readonly kind?: string;
  }[] = [
    { name: "nothing", bytes: "" },
    { name: "white space", bytes: " \n\t" },
    ...["null", "true", "1", '"x"', "[]"].map((bytes) => ({ name: `${bytes} at the top`, bytes })),
    { name: "truncated JSON", bytes: body("").slice(0, -1) },
    { name: "a trailing comma", bytes: body(",") },
    { name: "a comment", bytes: `/* x */${body("")}` },
    { name: "single quotes", bytes: body("").replaceAll('"', "'") },
    { name: "NaN", bytes: body(',"temperature":NaN') },
    { name: "Infinity", bytes: body(',"temperature":Infinity') },
    { name: "two values", bytes: body("") + body("") },
    { name: "a byte order mark", bytes: `\ufeff${body("")}` },
    { name: "UTF-16", bytes: new Uint8Array(Buffer.from(body(""), "utf16le")) },
    { name: "latin1", bytes: new Uint8Array(Buffer.from(body(',"user":"é"'), "latin1")) },
    { name: "an overlong NUL", bytes: new Uint8Array(Buffer.from(body(',"user":"\u00c0\u0080"'), "latin1")) },
    { name: "a raw control character", bytes: body(',"user":"\u0001"') },
    { name: "65 levels", bytes: body(`,"metadata":${"[".repeat(64)}${"]".repeat(64)}`) },
    { name: "a million levels", bytes: `{"a":${"[".repeat(1_000_000)}` },
    { name: "a million members", bytes: `{${'"a":1,'.repeat(1_000_000)}"b":1}`, kind: "input_too_large" },
    { name: "ten million items", bytes: `{"a":[${"0,".repeat(10_000_000)}0]}`, kind: "input_too_large" },
  ];
  for (const { name, bytes, kind = "invalid_request_error" } of cases) {
    test(name, () => expect(refusalOf(bytes)?.kind as string).toBe(kind));
  }

  test("64 levels are enough for anybody", () => {
    expect(refusalOf(body(`,"metadata":${"[".repeat(63)}${"]".repeat(63)}`))).toBeUndefined();
  });
});

describe("a member that stands twice is a 400 that names it", () => {
  const cases = [
    { name: "plainly", text: body(',"n":1,"n":9'), param: "n" },
    { name: "with an escape", text: body(',"mod\\u0065l":"other"'), param: "model" },
    {
      name: "far apart",
      text: body(`,"max_tokens":1,"x":"${"y".repeat(5_000)}","max_tokens":2`),
      param: "max_tokens",
    },
    { name: "as __proto__", text: body(',"__proto__":1,"__proto__":2'), param: "__proto__" },
  ];
  for (const { name, text, param } of cases) test(name, () => expect(refusalOf(text)?.param).toBe(param));

  const options = [
    { text: body(',"stream_options":{"include_usage":true,"include_usage":false}'), param: "stream_options" },
    {
      text: body(',"tools":[{"type":"custom","type":"function","function":{"name":"f"}}]'),
      param: "tools",
    },
    { text: body(',"tools":[{"type":"function","function":{"name":"f","n\\u0061me":"g"}}]'), param: "tools" },
  ];
  for (const { text, param } of options)
    test(`within ${text.slice(50)}`, () => expect(refusalOf(text)?.param).toBe(param));

  const nested = [
    { name: "content of a message", text: body("", '{"role":"user","content":"a","content":"b"}') },
    { name: "a part's text", text: part('{"type":"text","text":"a","text":"b"}') },
    { name: "an escaped role", text: body("", '{"role":"user","r\\u006fle":"assistant","content":"a"}') },
  ];
  for (const { name, text } of nested) {
    test(`within messages: ${name}`, () => {
      expect(refusalOf(text)?.kind).toBe("invalid_request_error");
    });
  }
});

describe("a field out of its range is a 400 that names it", () => {
  const many = (count: number, json: string): string => Array(count).fill(json).join(",");
  const bad: readonly (readonly [string, string, string])[] = [
    ["model missing", `{"messages":[${USER}]}`, "model"],
    ["model number", `{"model":1,"messages":[${USER}]}`, "model"],
    ["model empty", `{"model":"","messages":[${USER}]}`, "model"],
    ["messages missing", '{"model":"m"}', "messages"],
    ["messages empty", body("", ""), "messages"],
    ["messages an object", '{"model":"m","messages":{}}', "messages"],
    ["10,001 messages", body("", many(10_001, USER)), "messages"],
    ["a message that is text", body("", '"hi"'), "messages[0]"],
    ["role unknown", body("", '{"role":"bot","content":"a"}'), "messages[0].role"],
    ["role null", body("", '{"role":null,"content":"a"}'), "messages[0].role"],
    ["role in capitals", body("", '{"role":"System","content":"a"}'), "messages[0].role"],
    ["role missing", body("", '{"content":"a"}'), "messages[0].role"],
    ["content missing", body("", `${USER},{"role":"user"}`), "messages[1].content"],
    ["content number", body("", '{"role":"user","content":5}'), "messages[0].content"],
    ["content object", body("", '{"role":"user","content":{}}'), "messages[0].content"],
    ["content empty list", body("", '{"role":"user","content":[]}'), "messages[0].content"],
    ["content null of a user", body("", '{"role":"user","content":null}'), "messages[0].content"],
    ["an assistant's content missing", body("", '{"role":"assistant"}'), "messages[0].content"],
    ["a part without a type", part('{"text":"a"}'), "messages[0].content[0].type"],
    ["a part with a type that is no text", part('{"type":1}'), "messages[0].content[0].type"],
    ["a text part without text", part('{"type":"text"}'), "messages[0].content[0].text"],
    ["a text part with a number", part('{"type":"text","text":1}'), "messages[0].content[0].text"],
    ["an image part without image", part('{"type":"image_url"}'), "messages[0].content[0].image_url"],
    [
      "an image part with a string",
      part('{"type":"image_url","image_url":"x"}'),
      "messages[0].content[0].image_url",
    ],
    [
      "an image part without url",
      part('{"type":"image_url","image_url":{}}'),
      "messages[0].content[0].image_url.url",
    ],
    ["temperature below", body(',"temperature":-0.1'), "temperature"],
    ["temperature above", body(',"temperature":2.0001'), "temperature"],
    ["temperature text", body(',"temperature":"1"'), "temperature"],
    ["temperature list", body(',"temperature":[1]'), "temperature"],
    ["temperature 1e309", body(',"temperature":1e309'), "temperature"],
    ["top_p below", body(',"top_p":-1'), "top_p"],
    ["top_p above", body(',"top_p":1.1'), "top_p"],
    ...["0", "-1", "1.5", '"5"', "1e309"].map(
      (value) => [`max_tokens ${value}`, body(`,"max_tokens":${value}`), "max_tokens"] as const,
    ),
    ["max_completion_tokens 0", body(',"max_completion_tokens":0'), "max_completion_tokens"],
    ["stop object", body(',"stop":{}'), "stop"],
    ["stop of numbers", body(',"stop":[1]'), "stop[0]"],
    ["10,000 stops", body(`,"stop":[${many(10_000, '"a"')}]`), "stop"],
    ["stop empty", body(',"stop":""'), "stop"],
    ...['"true"', "1"].map((value) => [`stream ${value}`, body(`,"stream":${value}`), "stream"] as const),
    ["a streamed image", body(',"stream":true,"modalities":["image"]'), "stream"],
    ["stream_options text", body(',"stream_options":"x"'), "stream_options"],
    ["tools object", body(',"tools":{}'), "tools"],
    [
      "10,000 tools",
      body(`,"tools":[${many(10_000, '{"type":"function","function":{"name":"f"}}')}]`),
      "tools",
    ],
    [
      "a tool name with spaces",
      body(',"tools":[{"type":"function","function":{"name":"a b"}}]'),
      "tools[0].function.name",
    ],
    ["a tool without its function", body(',"tools":[{"type":"function"}]'), "tools[0].function"],
    ["a tool type that has a price", body(',"tools":[{"type":"web_search"}]'), "tools[0].type"],
    ["tool_choice any", body(',"tool_choice":"any"'), "tool_choice"],
    ["tool_choice empty", body(',"tool_choice":{}'), "tool_choice.type"],
    ["a tool message without id", body("", '{"role":"tool","content":"x"}'), "messages[0].tool_call_id"],
    ...["-1", "0", "1e9", "1.5", '"2"'].map((value) => [`n ${value}`, body(`,"n":${value}`), "n"] as const),
    ...["-1", '"5"', "0"].map(
      (value) =>
        [
          `thinking.budget_tokens ${value}`,
          body(`,"thinking":{"type":"enabled","budget_tokens":${value}}`),
          "thinking.budget_tokens",
        ] as const,
    ),
    ["modalities empty", body(',"modalities":[]'), "modalities"],
    ["modalities twice", body(',"modalities":["text","text"]'), "modalities"],
    ["modalities unknown", body(',"modalities":["smell"]'), "modalities[0]"],
    [
      "reasoning_details object",
      body("", '{"role":"assistant","content":"a","reasoning_details":{}}'),
      "messages[0].reasoning_details",
    ],
    [
      "a reasoning detail with a number",
      body("", '{"role":"assistant","content":"a","reasoning_details":[{"type":"thinking","thinking":1}]}'),
      "messages[0].reasoning_details[0].thinking",
    ],
    ["response_format unknown", body(',"response_format":{"type":"xml"}'), "response_format.type"],
    ...[
      "javascript:alert(1)",
      " javascript:alert(1)",
      "file:///etc/passwd",
      "ftp://a/b",
      "gopher://a",
      "data:text/html,<p>",
      "data:image/png;base64",
      "data:application/pdf;base64,AA",
      "http://a/\r\nhost: b",
      "https://a b/",
      "http://",
      "//a/b",
      "x",
    ].map(
      (url) => [`image ${JSON.stringify(url)}`, image(url), "messages[0].content[0].image_url.url"] as const,
    ),
  ];
  for (const [name, text, param] of bad) {
    test(name, () => {
      const refusal = refusalOf(text);
      expect(refusal?.kind).toBe("invalid_request_error");
      expect(refusal?.param).toBe(param);
      expect(refusal?.message).toContain(param);
    });
  }

  test("an image of an assistant's turn with a file URL", () => {
    const message =
      '{"role":"assistant","content":"a","images":[{"type":"image_url","image_url":{"url":"file:///x"}}]}';
    expect(refusalOf(body("", message))?.param).toBe("messages[0].images[0].image_url.url");
  });
});

const MODEL = {
  id: "m",
  outputModalities: ["text"],
  ignoredParameters: [],
  maxTokensField: "max_tokens",
  maxOutput: null,
} as unknown as Model;
const TARGET: RelayTarget = {
  model: MODEL,
  upstreamId: "m",
  unknownFields: "pass",
  native: false,
  streamUsageOption: false,
};

describe("what is odd and allowed goes up unchanged, byte for byte", () => {
  const parameters = ";thought_signature=a+/=%22~!*'()".repeat(3);
  const cases = [
    { name: "lone surrogates", text: body(',"user":"\\ud800"') },
    { name: "NUL in text", text: body(',"user":"a\\u0000b"') },
    {
      name: "numbers of every spelling",
      text: body(',"seed":9007199254740993,"temperature":-0,"top_p":1e-400,"x":1e400'),
    },
    { name: "max_tokens as 1e2", text: body(',"max_tokens":1e2') },
    {
      name: "right-to-left, zero-width, emoji",
      text: body("", '{"role":"user","content":"\u202e\u200b👩‍👩‍👧‍👦\\n"}'),
    },
    { name: "a key of a megabyte", text: body(`,"${"k".repeat(1024 * 1024)}":1`) },
    {
      name: "constructor and __proto__ within",
      text: body(',"metadata":{"__proto__":{"admin":1},"constructor":{"prototype":1}}'),
    },
    {
      name: "an assistant's call without content, and its result by an id of one letter",
      text: body(
        "",
        '{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},' +
          '{"role":"tool","tool_call_id":"a","content":"x"}',
      ),
    },
    {
      name: "optional fields that are null",
      text: body(',"temperature":null,"max_tokens":null,"stream":null,"stop":null,"tools":null,"n":null'),
    },
    {
      name: "members that are null inside messages",
      text: body(
        "",
        '{"role":"assistant","content":"a","tool_call_id":null,"images":null,"reasoning_details":null},' +
          '{"role":"assistant","content":"a","reasoning_details":[{"type":"thinking","thinking":null,"signature":null}]},' +
          '{"role":"assistant","tool_calls":[{"id":"a","type":null,"function":{"name":"f","arguments":null}}]},' +
          '{"role":"user","content":[{"type":"file","file":{"file_data":null,"file_id":"a","filename":null}}]}',
      ),
    },
    {
      name: "members that are null inside tools",
      text: body(
        ',"tools":[{"type":null,"function":{"name":"f","description":null,"parameters":null,"strict":null},"custom":null}]',
      ),
    },
    {
      name: "members that are null inside options",
      text: body(',"stream_options":{"include_usage":null}'),
    },
    { name: "an assistant's content null", text: body("", '{"role":"assistant","content":null}') },
    { name: "a data URI's parameters", text: image(`data:image/png${parameters};base64,AAAA`) },
    { name: "a data URI with bad base64", text: image("data:image/png;base64,@@@") },
    {
      name: "a data URI with a million parameters",
      text: image(`data:image/png${";a=b".repeat(1_000_000)},A`),
    },
    { name: "a URL of 100 KB", text: image(`https://a/${"x".repeat(100_000)}`) },
    { name: "a URL with user, fragment and IDN", text: image("https://u:p@bücher.example/x#y") },
    {
      name: "valid reasoning_details",
      text: body(
        "",
        '{"role":"assistant","content":"a","reasoning_details":[{"type":"thinking","thinking":"","signature":"==","x":[1.0]}]}',
      ),
    },
    {
      name: "fields that nobody knows, where the target takes them",
      text: body(',"api_base":"http://x","headers":{},"top_k":1.50'),
    },
    { name: "white space and key order", text: `\r\n{ "messages" :[ ${USER} ] ,\t"model":"m" }\n` },
  ];
  for (const { name, text } of cases) {
    test(name, () => {
      const bytes = encoder.encode(text);
      const sent = upstreamBody(readRequest(wireRequest(bytes)), TARGET);
      expect(new TextDecoder().decode(joinBytes(sent.body))).toBe(text);
      expect(({} as { admin?: unknown }).admin).toBeUndefined();
    });
  }
});

describe("demand", () => {
  const demand = (text: string) => readRequest(wireRequest(text)).demand;

  test("counts media by kind and asks for the buckets that have no parent", () => {
    const parts = [
      '{"type":"image_url","image_url":{"url":"https://a/b"}}',
      '{"type":"input_audio","input_audio":{"data":"AA","format":"wav"}}',
      '{"type":"file","file":{"file_data":"AA"}}',
      '{"type":"video_url","video_url":{"url":"https://a/b"}}',
    ].join(",");
    const { media, buckets } = demand(part(parts));
    expect(media).toEqual({ image: 1, audio: 1, pdf: 1, video: 1 });
    expect(buckets).toEqual(["audio_input"]);
    expect(demand(body(',"modalities":["text","audio"]')).buckets).toEqual(["audio_output"]);
  });

  const bounds = [
    { more: "", want: undefined },
    { more: ',"max_tokens":5', want: 5 },
    { more: ',"max_completion_tokens":6', want: 6 },
    { more: ',"max_tokens":5,"max_completion_tokens":6', want: 6 },
  ];
  for (const { more, want } of bounds) {
    test(`bound on output of {${more.slice(1)}} is ${want}`, () =>
      expect(demand(body(more)).maxOutputTokens).toBe(want));
  }

  const text = "long words of a prompt ".repeat(500);
  const carriers = [
    { name: "content", json: body("", `{"role":"user","content":"${text}"}`) },
    { name: "a text part", json: part(`{"type":"text","text":"${text}"}`) },
    {
      name: "tool arguments",
      json: body("", `{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"${text}"}}]}`),
    },
    {
      name: "reasoning_content",
      json: body("", `{"role":"assistant","content":"a","reasoning_content":"${text}"}`),
    },
    {
      name: "tools",
      json: body(`,"tools":[{"type":"function","function":{"name":"f","description":"${text}"}}]`),
    },
  ];
  const unmeasured = [
    { name: "functions", json: body(`,"functions":[{"name":"f","description":"${text}"}]`) },
    {
      name: "function_call arguments",
      json: body(
        "",
        `{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"${text}"}}`,
      ),
    },
    {
      name: "a custom tool call's input",
      json: body(
        "",
        `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"custom","custom":{"name":"f","input":"${text}"}}]}`,
      ),
    },
    {
      name: "a message's refusal",
      json: body("", `{"role":"assistant","content":null,"refusal":"${text}"}`),
    },
    { name: "a message's name", json: body("", `{"role":"user","content":"a","name":"${text}"}`) },
  ];
  const isMeasured = (json: string) => (): void => {
    expect(demand(json).textTokens.ceiling).toBeGreaterThan(text.length / 4);
  };
  for (const { name, json } of carriers) test(`text in ${name} is held for`, isMeasured(json));
  for (const { name, json } of unmeasured) test(`text in ${name} is held for`, isMeasured(json));
});
