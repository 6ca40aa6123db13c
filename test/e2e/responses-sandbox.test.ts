import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";

// Responses with no provider's key set: agents' requests to models of every vendor, answered by the sandbox.

let gateway: TestGateway;
let client: OpenAI;

beforeAll(async () => {
  gateway = await startGateway();
  client = new OpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(() => gateway.close());

const MODELS = [
  "anthropic/claude-opus-5.5",
  "google/gemini-3.8-flash",
  "openai/gpt-5.6-luna",
  "deepseek/deepseek-v4-pro",
  "moonshotai/kimi-k3",
  "zhipu/glm-5.2",
  "alibaba/qwen3.7-max",
  "xai/grok-4.7",
];

describe.each(MODELS)("%s", (model) => {
  test("what it thought comes back with the next turn, and is taken", async () => {
    const asked = { role: "user" as const, content: "hi" };
    const reasoning = { effort: "low", summary: "auto" } as const;
    const first = await client.responses
      .stream({ model, store: false, input: [asked], reasoning })
      .finalResponse();
    expect(first.output.map(({ type }) => type)).toContain("reasoning");
    const input = [asked, ...(first.output as Json), asked];
    const { data, response } = await client.responses.create({ model, store: false, input }).withResponse();
    expect([data.status, response.headers.get("warning")]).toEqual(["completed", null]);
  });

  // GLM cannot be made to call.
  if (model !== "zhipu/glm-5.2")
    test("a custom tool of a namespace is called by the name that the client has for it", async () => {
      const exec = { type: "custom", name: "exec", description: "Runs it." };
      const tools = ["a", "b"].map((name) => ({ type: "namespace", name, description: "", tools: [exec] }));
      const tool_choice = { type: "custom", name: "exec", namespace: "b" };
      const response: Json = await client.responses.create({
        model,
        input: "Go.",
        tools,
        tool_choice,
      } as Json);
      expect(response.output.at(-1)).toMatchObject({
        type: "custom_tool_call",
        name: "exec",
        namespace: "b",
      });
      expect(response.output.at(-1).input).toBeString();
    });

  test("a bound on output, and a stream that breaks, are told in the last event", async () => {
    const last = async (body: object, headers: Record<string, string> = {}): Promise<Json> => {
      const answer = await gateway.post(
        "/api/v1/responses",
        { model, input: "hi", stream: true, ...body },
        { headers },
      );
      return (await answer.text()).match(/^event: .*/gm)?.at(-1);
    };
    expect(await last({ max_output_tokens: 16 })).toBe("event: response.incomplete");
    expect(await last({}, { "x-sandbox": "fail=reset_mid_stream" })).toBe("event: response.failed");
  });
});
