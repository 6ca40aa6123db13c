import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { jsonAnswer } from "../../test/upstream/answer.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../../test/upstream/double.ts";
import { handOver } from "../core/handover.ts";
import { PROTOCOLS } from "../core/model.ts";
import { permitCount, permitList } from "./permits.ts";
import { callUpstream, type UpstreamCall } from "./upstream.ts";

let double: UpstreamDouble;
beforeAll(async () => {
  double = await startUpstreamDouble();
});
afterAll(() => double.close());
beforeEach(() => {
  double.reset();
  double.handle(() => jsonAnswer(200, {}));
});

const MESSAGES = "/v1/messages/count_tokens";
const GEMINI = "/v1beta/models/gemini-3.8-flash:countTokens";

const callWith = (
  permit: Parameters<typeof callUpstream>[0],
  path: string,
  more: Partial<UpstreamCall> = {},
) =>
  callUpstream(permit, {
    provider: { baseUrl: double.url, headers: {} },
    path,
    headers: {},
    stream: false,
    signal: new AbortController().signal,
    ...more,
  });

/** What the call failed with; nothing where it was answered. */
const failureOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "",
    (error: unknown) => (error as Error).message,
  );

describe("a permit to count", () => {
  for (const path of [MESSAGES, GEMINI])
    test(`is good for one call of ${path}`, async () => {
      const permit = permitCount(path);
      expect((await callWith(permit, path)).status).toBe(200);
      expect(await failureOf(callWith(permit, path))).toContain("without a hold");
      expect(double.requests.map(({ target }) => target)).toEqual([path]);
    });

  for (const path of [
    "/v1/messages",
    "/v1/messages/",
    "/v1/messages/count_tokens/",
    "/v1/messages/count_tokens?beta=true",
    "/v1/messages/batches",
    "/v1beta/models/gemini-3.8-flash:generateContent",
    "/v1beta/models/gemini-3.8-flash:generateContent?:countTokens",
    "/v1beta/models/gemini-3.8-flash:generateContent#:countTokens",
    "/v1beta/models/gemini-3.8-flash:countTokensX",
    "/chat/completions",
    "https://api.anthropic.com/v1/messages/count_tokens",
    "",
  ])
    test(`is not made for ${JSON.stringify(path)}`, () => expect(() => permitCount(path)).toThrow("counted"));

  test("is good for no other path, no other method and no stream", async () => {
    const others: readonly (readonly [path: string, more?: Partial<UpstreamCall>])[] = [
      ["/v1/messages"],
      [GEMINI],
      [`${double.url}/v1/messages`],
      [`${double.url}${MESSAGES}`],
      [MESSAGES, { method: "GET" }],
      [MESSAGES, { stream: true }],
    ];
    for (const [path, more] of others)
      expect([path, await failureOf(callWith(permitCount(MESSAGES), path, more))]).toEqual([
        path,
        `${path} was called without a hold.`,
      ]);
    expect(double.requests).toEqual([]);
  });
});

describe("a permit to list models", () => {
  const LISTS = {
    compat_chat_completions: "/models",
    compat_responses: "/models",
    compat_messages: "/v1/models?limit=1",
    compat_generate_content: "/v1beta/models?pageSize=1",
  } as const;
  for (const format of PROTOCOLS)
    test(`is good for one call of the list of ${format}`, async () => {
      const { permit, path } = permitList(format);
      expect(path).toBe(LISTS[format]);
      expect((await callWith(permit, path, { method: "GET" })).status).toBe(200);
      expect(await failureOf(callWith(permit, path, { method: "GET" }))).toContain("without a hold");
      expect(double.requests.map(({ method, target }) => [method, target])).toEqual([["GET", path]]);
    });

  test("is good for no other path, no other method, no stream and no body", async () => {
    const body = handOver([new TextEncoder().encode("{}")]);
    const others: readonly (readonly [path: string, more: Partial<UpstreamCall>])[] = [
      ["/models", {}],
      ["/models", { method: "POST" }],
      ["/models", { method: "DELETE" }],
      ["/models", { method: "GET", stream: true }],
      ["/models", { method: "GET", body }],
      ["/models/gpt-5.6-luna", { method: "GET" }],
      ["/models?limit=1", { method: "GET" }],
      ["/v1/models?limit=1", { method: "GET" }],
      ["/chat/completions", { method: "GET" }],
      [`${double.url}/models`, { method: "GET" }],
    ];
    for (const [path, more] of others)
      expect([
        path,
        await failureOf(callWith(permitList("compat_chat_completions").permit, path, more)),
      ]).toEqual([path, `${path} was called without a hold.`]);
    expect(double.requests).toEqual([]);
  });

  test("is none to count, and one to count is none to list", async () => {
    const { permit } = permitList("compat_messages");
    expect(await failureOf(callWith(permit, MESSAGES))).toContain("without a hold");
    const list = { method: "GET" } as const;
    expect(await failureOf(callWith(permitCount(MESSAGES), "/v1/models?limit=1", list))).toContain("hold");
    expect(double.requests).toEqual([]);
  });
});
