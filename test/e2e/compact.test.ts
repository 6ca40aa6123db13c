import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { type Json, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import type { UpstreamDouble } from "../upstream/double.ts";
import { messageAnswer } from "../upstream/messages-bytes.ts";
import { response } from "../upstream/responses-bytes.ts";
import { askKept, KEPT_MODELS, startKeptDouble, startKeptGateway } from "./kept-station.ts";

// Conversations of Responses that are made shorter, and their counts. The provider shortens them where it has a call
// for that, else the model writes a summary.

const RELAYED = "openai/gpt-5.6-luna";
let double: UpstreamDouble;
let says: Awaited<ReturnType<typeof startKeptDouble>>["says"];
let gateway: TestGateway;
let openai: OpenAI;

beforeAll(async () => {
  ({ double, says } = await startKeptDouble());
  const environment = { OPENAI_API_KEY: UPSTREAM_KEY, OPENAI_BASE_URL: `${double.url}/v1` };
  gateway = await startKeptGateway(double, { environment });
  openai = new OpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});
beforeEach(() => says((round) => ({ text: `Answer ${round}.` })));

const sent = (): Json => double.requests.at(-1)!.json();
const USAGE = { input_tokens: 100, output_tokens: 20, total_tokens: 120 };
const CUT = { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } };
const USER = { role: "user" as const, content: "Ask 1" };
const SAID = { role: "assistant" as const, content: "Answer 0." };

describe("a conversation is made shorter", () => {
  test("by the provider: its answer keeps its bytes, and has the charge", async () => {
    const answer = {
      id: "resp_c",
      object: "response.compaction",
      created_at: 1,
      output: [
        {
          id: "msg_1",
          type: "message",
          status: "completed",
          role: "user",
          content: [{ type: "input_text", text: "Ask 1" }],
        },
        { id: "cmp_1", type: "compaction", encrypted_content: "gAAAA" },
      ],
      usage: USAGE,
    };
    double.enqueue(jsonAnswer(200, answer));
    const before = (await gateway.account()).balance;
    const compacted = await openai.responses.compact({
      model: RELAYED,
      input: [USER, SAID],
      instructions: "Be short.",
      prompt_cache_key: "k",
    });
    expect(double.requests[0]!.target).toBe("/v1/responses/compact");
    expect(sent()).toEqual({
      model: "gpt-5.6-luna",
      input: [USER, SAID],
      instructions: "Be short.",
      prompt_cache_key: expect.stringMatching(/^[0-9a-f]{40}$/),
    });
    const { credit, ...rest }: Json = compacted;
    expect(rest).toEqual(answer);
    expect(credit).toBeGreaterThan(0);
    await gateway.settled();
    expect(before - (await gateway.account()).balance).toBeCloseTo(credit, 6);
  });

  for (const model of KEPT_MODELS)
    test(`by a summary of ${model}, which it can go on from`, async () => {
      says(() => ({ text: "All that was said." }));
      const compacted = await openai.responses.compact({ model, input: [USER, SAID] });
      expect(JSON.stringify(sent())).toContain("hand-over");
      expect(compacted.object).toBe("response.compaction");
      const [kept, item, ...others] = compacted.output as Json[];
      expect(others).toEqual([]);
      expect(kept).toMatchObject({
        type: "message",
        role: "user",
        content: [{ type: "input_text", text: "Ask 1" }],
      });
      expect([item.type, item.encrypted_content.slice(0, 4)]).toEqual(["compaction", "sw1."]);
      expect((compacted as Json).credit).toBeGreaterThan(0);
      const next = await askKept(gateway, {
        model,
        input: [...compacted.output, { role: "user", content: "Ask 2" }],
      });
      expect(next.status).toBe("completed");
      const text = JSON.stringify(sent());
      expect([
        text.includes("All that was said."),
        text.includes("Ask 2"),
        text.includes("Answer 0"),
      ]).toEqual([true, true, false]);
    });

  test("never by half a summary: it is an error, and free; a bound on output is no field of it", async () => {
    for (const model of KEPT_MODELS) {
      double.handle(({ target }) =>
        target.endsWith("/responses")
          ? jsonAnswer(200, { ...response([{ type: "output_text", text: "All th" }], [1, 2]), ...CUT })
          : messageAnswer({ stopReason: "max_tokens" }),
      );
      const before = (await gateway.account()).balance;
      const asked = await gateway.post("/api/v1/responses/compact", {
        model,
        input: [USER, SAID],
        max_output_tokens: 20,
      });
      expect(asked.status).toBe(502);
      expect(((await asked.json()) as Json).error.message).toContain("summary");
      expect([sent().max_output_tokens, sent().max_tokens]).not.toContain(20);
      await gateway.settled();
      expect((await gateway.account()).balance).toBe(before);
    }
  });

  test("that is kept, by the name of its last answer", async () => {
    const model = "anthropic/claude-haiku-4.5";
    const first = await askKept(gateway, { model, input: "Ask 1" });
    const compacted = await openai.responses.compact({ model, previous_response_id: first.id });
    expect(compacted.output.map(({ type }) => type)).toEqual(["message", "compaction"]);
    expect(JSON.stringify(sent().messages)).toContain("Answer 1.");
  });

  test("for nobody who has no credit, no model or no conversation", async () => {
    const ask = async (body: Json): Promise<number> =>
      (await gateway.post("/api/v1/responses/compact", body)).status;
    expect(await ask({ input: [USER] })).toBe(400);
    expect(await ask({ model: RELAYED })).toBe(400);
    expect(await ask({ model: RELAYED, previous_response_id: "resp_x" })).toBe(400);
    expect(await ask({ model: "nobody/nothing", input: [USER] })).toBe(400);
    expect(double.requests).toHaveLength(0);
  });
});

describe("input tokens are counted", () => {
  test("by a provider that speaks Responses, without what would change an answer", async () => {
    double.enqueue(jsonAnswer(200, { object: "response.input_tokens", input_tokens: 42 }));
    const tools = [{ type: "function" as const, name: "f", parameters: {}, strict: true }];
    const count = await openai.responses.inputTokens.count({ model: RELAYED, input: [USER], tools });
    expect(count).toEqual({ object: "response.input_tokens", input_tokens: 42 });
    expect(double.requests[0]!.target).toBe("/v1/responses/input_tokens");
    expect(sent()).toEqual({ model: "gpt-5.6-luna", input: [USER], tools });
  });

  test("with all that they name, of what is kept", async () => {
    const first = await askKept(gateway, { model: RELAYED, input: "Ask 1" });
    double.enqueue(jsonAnswer(200, { object: "response.input_tokens", input_tokens: 43 }));
    const count = await openai.responses.inputTokens.count({
      model: RELAYED,
      previous_response_id: first.id,
    });
    expect(count.input_tokens).toBe(43);
    expect(sent().input).toEqual([{ type: "message", role: "user", content: "Ask 1" }, ...first.output]);
    expect(sent()).not.toHaveProperty("previous_response_id");
  });

  test("by an estimate where the provider speaks another format, or does not count", async () => {
    double.enqueue(jsonAnswer(404, { error: { message: "no such path" } }));
    for (const model of [RELAYED, "anthropic/claude-haiku-4.5"]) {
      const counted = await gateway.post("/api/v1/responses/input_tokens", { model, input: "Ask 1" });
      expect([counted.status, counted.headers.get("x-switchyard-estimate")]).toEqual([200, "true"]);
      expect(((await counted.json()) as Json).input_tokens).toBeGreaterThan(0);
    }
  });
});
