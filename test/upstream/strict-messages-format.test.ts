import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { startUpstreamDouble, type UpstreamDouble } from "./double.ts";
import { messageAnswer } from "./messages-bytes.ts";
import { loadRecordings, recordingsFor } from "./recordings.ts";
import { strictMessages } from "./strict-messages-format.ts";

let double: UpstreamDouble;
beforeAll(async () => {
  double = await startUpstreamDouble();
});
afterAll(() => double.close());
const strict = strictMessages({ keys: ["good"] });
beforeEach(() => double.handle((request) => strict(request) ?? messageAnswer()));

const HEADERS = { "x-api-key": "good", "anthropic-version": "2023-06-01" };
const user = (content: unknown) => ({ role: "user", content });
const haiku = { model: "claude-haiku-4-5", max_tokens: 2_000, messages: [user("hi")] };
const opus = { ...haiku, model: "claude-opus-5-5" };
const call = { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "f", input: {} }] };
const thought = {
  role: "assistant",
  content: [{ type: "thinking", thinking: "Hm.", signature: "AA==" }, ...call.content],
};
const image = (data: string) => ({
  type: "image",
  source: { type: "base64", media_type: "image/png", data },
});
const result = { type: "tool_result", tool_use_id: "t1", content: "x" };

async function send(body: unknown, headers: Record<string, string> = HEADERS, path = "/v1/messages") {
  const response = await fetch(`${double.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, text };
}

describe("what Anthropic takes is taken", () => {
  const thinking = { type: "enabled", budget_tokens: 1_024 };
  const cases: readonly object[] = [
    haiku,
    { ...haiku, temperature: 1, thinking },
    { ...haiku, thinking, top_p: 0.95 },
    { ...opus, thinking: { type: "adaptive", display: "omitted" }, output_config: { effort: "max" } },
    { ...opus, thinking: { type: "disabled" } },
    { ...haiku, messages: [user("hi"), call, user([result, { type: "text", text: "and?" }])] },
    { ...haiku, messages: [user("hi"), { role: "system", content: "now" }] },
    { ...haiku, messages: [user("hi"), { role: "assistant", content: "So" }] },
    { ...haiku, thinking, messages: [user("hi"), thought, user([result])] },
    { ...opus, thinking: { type: "adaptive" }, messages: [user("hi"), call, user([result])] },
    { ...haiku, messages: [user([image("iVBORw0KGgo=")])] },
  ];
  for (const body of cases) {
    test(JSON.stringify(body).slice(40, 160), async () => expect((await send(body)).status).toBe(200));
  }
});

describe("a request to count", () => {
  const { max_tokens: _, ...counted } = haiku;
  const count = (body: object) => send(body, HEADERS, "/v1/messages/count_tokens");
  test("is taken without a bound on output", async () => expect((await count(counted)).status).toBe(200));
  for (const field of ["max_tokens", "stream", "temperature", "stop_sequences", "metadata"])
    test(`is refused with ${field}`, async () => {
      const { status, text } = await count({ ...counted, [field]: 1 });
      expect([status, text.includes(`${field}: Extra inputs are not permitted`)]).toEqual([400, true]);
    });
  test("is checked as any request", async () =>
    expect((await count({ ...counted, messages: [call] })).status).toBe(400));
});

describe("what Anthropic refuses is refused, in its words", () => {
  const cases: readonly { body: unknown; headers?: Record<string, string>; says: string }[] = [
    { body: haiku, headers: { ...HEADERS, "x-api-key": "bad" }, says: "authentication_error" },
    { body: haiku, headers: { "x-api-key": "good" }, says: "anthropic-version" },
    { body: "{", says: "valid JSON" },
    { body: '{"model":"a","model":"b"}', says: "stands twice" },
    { body: { ...haiku, max_tokens: undefined }, says: "max_tokens: Field required" },
    { body: { ...haiku, messages: [] }, says: "at least one message" },
    { body: { ...haiku, n: 1 }, says: "n: Extra inputs are not permitted" },
    { body: { ...haiku, context_management: {} }, says: "context_management: Extra inputs" },
    { body: { ...opus, temperature: 0.5 }, says: "temperature" },
    { body: { ...opus, thinking: { type: "enabled", budget_tokens: 2_000 } }, says: "adaptive" },
    { body: { ...haiku, model: "claude-sonnet-5-5", thinking: { type: "disabled" } }, says: "disabled" },
    { body: { ...haiku, thinking: { type: "adaptive" } }, says: "adaptive" },
    { body: { ...haiku, thinking: { type: "enabled", budget_tokens: 1 } }, says: "1024" },
    { body: { ...haiku, thinking: { type: "enabled", budget_tokens: 2_000 } }, says: "max_tokens" },
    { body: { ...haiku, output_config: { effort: "low" } }, says: "effort" },
    { body: { ...haiku, temperature: 1.5 }, says: "temperature" },
    { body: { ...haiku, temperature: 1, top_p: 0.5 }, says: "only one" },
    { body: { ...haiku, stop_sequences: [" "] }, says: "non-whitespace" },
    { body: { ...haiku, messages: [{ role: "system", content: "x" }] }, says: "system" },
    { body: { ...haiku, messages: [user([{ type: "text", text: "" }])] }, says: "non-empty" },
    { body: { ...haiku, messages: [user([{ type: "input_text", text: "x" }])] }, says: "input_text" },
    {
      body: { ...haiku, messages: [user([{ type: "text", text: "x", detail: "y" }])] },
      says: "detail: Extra",
    },
    { body: { ...haiku, messages: [user([{ type: "thinking", thinking: "x" }])] }, says: "signature" },
    { body: { ...haiku, messages: [user([result])] }, says: "unexpected `tool_use_id`" },
    { body: { ...haiku, messages: [user("x"), call, user("y")] }, says: "immediately after: t1" },
    { body: { ...haiku, messages: [user("x"), call] }, says: "without `tool_result`" },
    {
      body: { ...haiku, messages: [user("x"), call, user([{ type: "text", text: "y" }, result])] },
      says: "come first",
    },
    {
      body: { ...haiku, messages: [user("x"), call, user([result]), call, user([result])] },
      says: "must be unique",
    },
    { body: { ...haiku, messages: [user("")] }, says: "non-empty content" },
    {
      body: { ...haiku, thinking: { type: "enabled", budget_tokens: 1_024 }, tool_choice: { type: "any" } },
      says: "forces tool use",
    },
    {
      body: {
        ...haiku,
        thinking: { type: "enabled", budget_tokens: 1_024 },
        messages: [user("x"), call, user([result])],
      },
      says: "but found `tool_use`",
    },
    { body: { ...haiku, messages: [user("x"), { role: "assistant", content: "So " }] }, says: "whitespace" },
    { body: { ...haiku, messages: [user([image("AAAAA")])] }, says: "invalid base64 data" },
    {
      body: { ...haiku, messages: [user("x"), call, user([{ ...result, content: [image("?")] }])] },
      says: "invalid base64 data",
    },
    {
      body: {
        ...haiku,
        messages: [user([{ type: "image", source: { type: "url", url: "http://10.0.0.1/a.png" } }])],
      },
      says: "Unable to download",
    },
    {
      body: {
        ...haiku,
        messages: [
          user(
            Array.from({ length: 5 }, () => ({
              type: "text",
              text: "x",
              cache_control: { type: "ephemeral" },
            })),
          ),
        ],
      },
      says: "maximum of 4",
    },
  ];
  for (const { body, headers, says } of cases) {
    test(`${says}: ${JSON.stringify(body).slice(0, 120)}`, async () => {
      const { status, text } = await send(body, headers);
      expect([400, 401]).toContain(status);
      expect(JSON.parse(text).type).toBe("error");
      expect(text).toContain(says);
    });
  }
});

const isAvailable = recordingsFor("recorded messages requests");

test.if(isAvailable)(
  "every recorded request that Anthropic took is taken, but for what only previews and others know",
  async () => {
    const taken = loadRecordings("messages/anthropic").filter(
      ({ response, request: { body } }) =>
        response.status === 200 && typeof body === "object" && body !== null && "messages" in body,
    );
    const refused: string[] = [];
    for (const { path, request } of taken) {
      const headers = {
        ...HEADERS,
        "anthropic-beta": "context-management,structured-outputs,mcp-client,interleaved-thinking",
      };
      const { status, text } = await send(request.body, headers);
      if (status !== 200) refused.push(`${path}: ${JSON.parse(text).error.message}`);
    }
    expect(taken.length).toBeGreaterThan(70);
    expect(refused).toEqual([]);
  },
);
