import { describe, expect, test } from "bun:test";
import { toBytes, toText } from "./bytes.ts";
import { loadRecordings, recordingsAvailable } from "./recordings.ts";
import { createRecord } from "./seen-request.ts";
import type { SeenRequest } from "./seen-request.ts";
import { strictChatCompletions } from "./strict.ts";
import { STRICT } from "./strict-profiles.ts";
import type { StrictProfile } from "./strict-profiles.ts";

function seen(
  body: unknown,
  headers: Record<string, string> = { authorization: "Bearer sk-good" },
): SeenRequest {
  const pairs = Object.entries({ "content-type": "application/json", ...headers });
  const head = { method: "POST", target: "/v1/chat/completions", headers: pairs };
  const record = createRecord(head, { id: 1, connection: 1, nthOnConnection: 1, nowMs: 0 });
  const bytes = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
  record.take(toBytes(bytes));
  return record;
}

/** The status and the parsed body of the refusal, or undefined. */
function refused(profile: StrictProfile, request: SeenRequest): [number | undefined, unknown] | undefined {
  const answer = strictChatCompletions(profile)(request);
  return answer && [answer.status, JSON.parse(toText(toBytes(answer.body ?? "")))];
}

const user = { role: "user", content: "hi" };
const call = (id: string) => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id, type: "function", function: { name: "f", arguments: "{}" } }],
});
const result = (id: string) => ({ role: "tool", tool_call_id: id, content: "ok" });
const ask = (more: object = {}) => ({ model: "gpt-4o", messages: [user], ...more });

const profiles: readonly StrictProfile[] = Object.values(STRICT);
for (const profile of profiles) {
  test(`${profile.vendor}: a plain request with any key passes`, () => {
    expect(refused(profile, seen(ask()))).toBeUndefined();
  });

  test(`${profile.vendor}: without a key, and with a wrong one, it is 401`, () => {
    expect(refused(profile, seen(ask(), {}))?.[0]).toBe(401);
    expect(refused({ ...profile, keys: ["other"] }, seen(ask()))?.[0]).toBe(401);
    expect(refused({ ...profile, keys: ["sk-good"] }, seen(ask()))).toBeUndefined();
  });

  test(`${profile.vendor}: an unknown model is refused by name or code`, () => {
    const status = refused({ ...profile, models: ["m"] }, seen(ask()))?.[0];
    expect([400, 404]).toContain(status!);
  });

  test(`${profile.vendor}: an empty list of messages is 400`, () => {
    expect(refused(profile, seen(ask({ messages: [] })))?.[0]).toBe(400);
  });
}

test("media that nobody can read are 400", () => {
  const part = (content: object) => seen(ask({ messages: [{ role: "user", content: [content] }] }));
  const image = (url: string) => part({ type: "image_url", image_url: { url } });
  expect(refused(STRICT.openai, image("data:image/png;base64,AAAA"))).toBeUndefined();
  expect(refused(STRICT.openai, image("https://example.com/a.png"))).toBeUndefined();
  const unread = [
    image("data:image/png;base64,AAAAA"),
    image("http://192.168.0.1/a.png"),
    part({ type: "file", file: { file_data: "data:application/pdf;base64,?" } }),
    part({ type: "input_audio", input_audio: { data: "!", format: "wav" } }),
  ];
  for (const request of unread) expect(refused(STRICT.openai, request)?.[0]).toBe(400);
});

interface Case {
  readonly name: string;
  readonly profile?: StrictProfile;
  readonly body: unknown;
  /** Undefined: it passes. */
  readonly want: object | undefined;
}

const openaiError = (param: string | null, code: string | null, message = "") => ({
  error: {
    type: "invalid_request_error",
    param,
    code,
    message: expect.stringContaining(message),
  },
});

const cases: Case[] = [
  { name: "no JSON", body: "{", want: openaiError(null, null, "could not parse") },
  { name: "bytes that are no UTF-8", body: Uint8Array.of(0x22, 0xff, 0x22), want: openaiError(null, null) },
  { name: "a byte order mark", body: "\uFEFF{}", want: openaiError(null, null) },
  { name: "a list", body: "[]", want: openaiError(null, null, "object") },
  {
    name: "a key given twice",
    body: '{"model":"gpt-4o","model":"gpt-4o","messages":[]}',
    want: openaiError("model", null, "Duplicate key"),
  },
  { name: "no model", body: { messages: [user] }, want: openaiError(null, null, "model") },
  { name: "no messages", body: { model: "m" }, want: openaiError("messages", "missing_required_parameter") },
  {
    name: "messages that are no list",
    body: ask({ messages: {} }),
    want: openaiError("messages", "invalid_type"),
  },
  {
    name: "an unknown property",
    body: ask({ reasoning: {} }),
    want: openaiError("reasoning", "unknown_parameter"),
  },
  {
    name: "stream_options without stream",
    body: ask({ stream_options: { include_usage: true } }),
    want: openaiError("stream_options", null),
  },
  { name: "stream_options with stream", body: ask({ stream: true, stream_options: {} }), want: undefined },
  {
    name: "parallel_tool_calls without tools",
    body: ask({ parallel_tool_calls: false }),
    want: openaiError("parallel_tool_calls", null),
  },
  {
    name: "max_tokens for a reasoning model",
    body: ask({ model: "gpt-5-nano", max_tokens: 5 }),
    want: openaiError("max_tokens", "unsupported_parameter", "Use 'max_completion_tokens' instead."),
  },
  {
    name: "a temperature for a reasoning model",
    body: ask({ model: "o4-mini", temperature: 0.2 }),
    want: openaiError("temperature", "unsupported_value", "0.2"),
  },
  {
    name: "temperature 1 for a reasoning model",
    body: ask({ model: "o4-mini", temperature: 1 }),
    want: undefined,
  },
  {
    name: "top_p for a reasoning model",
    body: ask({ model: "gpt-5.2", top_p: 0.9 }),
    want: openaiError("top_p", "unsupported_parameter"),
  },
  {
    name: "stop for a reasoning model",
    body: ask({ model: "gpt-5-mini", stop: ["x"] }),
    want: openaiError("stop", "unsupported_parameter"),
  },
  {
    name: "max_tokens for a chat model",
    body: ask({ model: "gpt-5-chat-latest", max_tokens: 5 }),
    want: undefined,
  },
  {
    name: "answered tool calls",
    body: ask({ messages: [user, call("a"), result("a"), user] }),
    want: undefined,
  },
  {
    name: "a tool call not answered at the end",
    body: ask({ messages: [user, call("call_a")] }),
    want: openaiError("messages", null, "call_a"),
  },
  {
    name: "a tool call not answered before the next message",
    body: ask({ messages: [user, call("call_a"), user] }),
    want: openaiError("messages.[2].role", null, "must be followed by tool messages"),
  },
  {
    name: "a tool message without a call",
    body: ask({ messages: [user, result("a")] }),
    want: openaiError("messages.[1].role", null, "must be a response"),
  },
  {
    name: "a tool call answered twice",
    body: ask({ messages: [user, call("a"), result("a"), result("a")] }),
    want: openaiError("messages.[3].role", null, "must be a response"),
  },
  {
    name: "an unknown property, to Groq",
    profile: STRICT.groq,
    body: ask({ store: true }),
    want: { error: { type: "invalid_request_error", message: "property 'store' is unsupported" } },
  },
  {
    name: "reasoning in a message, to Groq",
    profile: STRICT.groq,
    body: ask({ messages: [user, { role: "assistant", content: "a", reasoning_content: "b" }] }),
    want: { error: { message: expect.stringContaining("property 'reasoning_content' is unsupported") } },
  },
  {
    name: "a tool id of another vendor, to Mistral",
    profile: STRICT.mistral,
    body: ask({ messages: [user, call("call_abcdefgh"), result("call_abcdefgh")] }),
    want: { object: "error", message: expect.stringContaining("call_abcdefgh"), code: "3280" },
  },
  {
    name: "a tool id of nine characters, to Mistral",
    profile: STRICT.mistral,
    body: ask({ messages: [user, call("abcDEF123"), result("abcDEF123")] }),
    want: undefined,
  },
  {
    name: "history without reasoning, to DeepSeek V4 with tools",
    profile: STRICT.deepseek,
    body: ask({
      model: "deepseek-v4-flash",
      tools: [],
      messages: [user, { role: "assistant", content: "a" }, user],
    }),
    want: { error: { message: expect.stringContaining("reasoning_content") } },
  },
  {
    name: "a plain call that may think, to DashScope",
    profile: STRICT.dashscope,
    body: ask({ model: "qwen3-32b" }),
    want: { error: { code: "invalid_parameter_error" }, request_id: expect.any(String) },
  },
  {
    name: "null content, to Google",
    profile: STRICT.google,
    body: ask({ messages: [user, call("a"), result("a")] }),
    want: [{ error: { code: 400, status: "INVALID_ARGUMENT", message: expect.stringContaining("null") } }],
  },
  {
    name: "a forced tool, to MiniMax",
    profile: STRICT.minimax,
    body: ask({ tools: [], tool_choice: "required" }),
    want: { error: { param: "tool_choice" } },
  },
];
for (const { name, profile, body, want } of cases) {
  test(`${name}: ${want === undefined ? "passes" : "is refused as the vendor does"}`, () => {
    const answer = refused(profile ?? STRICT.openai, seen(body));
    if (want === undefined) expect(answer).toBeUndefined();
    else expect(answer?.[1]).toMatchObject(want);
  });
}

test("a body of another content type is refused", () => {
  const request = seen(ask(), { authorization: "Bearer k", "content-type": "text/plain" });
  expect(refused(STRICT.openai, request)?.[0]).toBe(400);
});

describe.skipIf(!recordingsAvailable())(
  "with the recordings (skipped where ../shared/recordings is absent)",
  () => {
    for (const vendor of ["openai", "groq", "mistral", "deepseek", "zhipu", "openrouter"] as const) {
      test(`${vendor}: what the vendor took in a recording is never refused`, () => {
        const taken = loadRecordings(`chat-completions/${vendor}`).filter(
          (each) => each.request.body !== null,
        );
        expect(taken.length).toBeGreaterThan(3);
        for (const { path, fidelity, request } of taken) {
          if (fidelity === "authored" || fidelity === "mock") continue;
          expect([path, refused(STRICT[vendor], seen(request.body))]).toEqual([path, undefined]);
        }
      });
    }

    const shapes = [
      { path: "openai/gpt-5-nano--400--4c2b08a3", profile: STRICT.openai },
      { path: "openai/gpt-5-nano--400--5ca68833", profile: STRICT.openai },
      { path: "openai/gpt-5-mini--400--95bffbd2", profile: STRICT.openai },
      { path: "openai/gpt-4.1-nano-wrong--404--0c5ce877", profile: { ...STRICT.openai, models: ["m"] } },
      { path: "groq/non-existent--404--c38a1420", profile: { ...STRICT.groq, models: ["m"] } },
      { path: "mistral/mistral-small-latest--401--adae7295", profile: { ...STRICT.mistral, keys: ["m"] } },
    ];
    for (const { path, profile } of shapes) {
      test(`the refusal recorded as ${path} is given word for word`, () => {
        const recording = loadRecordings("errors").find((each) => each.path === `errors/${path}.json`);
        expect(refused(profile, seen(recording?.request.body))).toEqual([
          recording?.response.status,
          recording?.response.body,
        ]);
      });
    }
  },
);
