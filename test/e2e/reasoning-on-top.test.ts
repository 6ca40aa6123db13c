import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { creditsText } from "../../src/core/money/credits.ts";
import { SQLITE } from "../gateway/engines.ts";
import { type Json, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { chatAnswer, chatStreamAnswer } from "../upstream/chat-bytes.ts";
import { type Bank, openBank } from "./money.ts";

// Vendors whose bound on output leaves reasoning out: the hold has room for it, and all of it is charged.

/** Micro-credits for a token: grok-4.7 and qwen3.7-max by their files, the models of the settings by theirs. */
const GROK = { model: "xai/grok-4.7", input: 20_000n, output: 60_000n };
const QWEN = { model: "alibaba/qwen3.7-max", input: 25_000n, output: 75_000n };
const OPEN = { model: "open/thinker", input: 10_000n, output: 50_000n };
const TOLD = { ...OPEN, model: "told/thinker" };
const NATIVE = { ...OPEN, model: "native/thinker" };

/** xAI counts reasoning beside the completion, the others within it. */
function usage(visible: number, reasoning: number, isBeside: boolean): Json {
  const completion = isBeside ? visible : visible + reasoning;
  return {
    prompt_tokens: 20,
    completion_tokens: completion,
    total_tokens: 20 + visible + reasoning,
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

describe("reasoning that comes on top of the bound on output", () => {
  let bank: Bank;
  beforeAll(async () => {
    bank = await openBank(SQLITE, {
      credits: 10_000,
      environment: { XAI_API_KEY: UPSTREAM_KEY, DASHSCOPE_API_KEY: UPSTREAM_KEY },
    });
    const address = `${bank.double.url}/v1`;
    const models = (id: string) => [{ id, max_output: 8_000, prices: { input: 1, output: 5 } }];
    bank.change(
      JSON.stringify({
        providers: {
          open: { base_url: address, models: models(OPEN.model) },
          told: { base_url: address, quirks: { bounds_reasoning: false }, models: models(TOLD.model) },
          native: { base_url: address, dialect: "native", models: models(NATIVE.model) },
        },
      }),
    );
  });
  afterAll(() => bank.close());
  beforeEach(() => bank.double.reset());

  const ask = async (body: Json, told: Json, key?: string): Promise<Json> => {
    const answer = body.stream === true ? chatStreamAnswer : chatAnswer;
    bank.double.handle(() => answer({ words: ["Four."], usage: told }));
    const options = key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } };
    const response = await bank.gateway.chat(
      { messages: [{ role: "user", content: "Two and two?" }], max_tokens: 50, ...body },
      options,
    );
    await response.text();
    expect(response.status).toBe(200);
    await bank.gateway.settled();
    const id = response.headers.get("x-request-id") ?? "";
    const row = (await bank.gateway.admin("GET", `/requests?id=${id}`)).json.data[0];
    const hold = await bank.books
      .selectFrom("holds")
      .selectAll()
      .where("request_id", "=", id)
      .executeTakeFirstOrThrow();
    return {
      credit: row.credit,
      flags: row.flags,
      held: hold.amount,
      sent: bank.double.requests.at(-1)?.json(),
    };
  };

  const priceOf = (of: typeof GROK, tokens: number): bigint => 20n * of.input + BigInt(tokens) * of.output;

  for (const stream of [false, true]) {
    for (const of of [GROK, QWEN, TOLD]) {
      test(`${of.model}, ${stream ? "streamed" : "plain"}: the hold has room for it and the charge is whole`, async () => {
        const { credit, flags, held, sent } = await ask(
          { model: of.model, stream },
          usage(10, 4_000, of === GROK),
        );
        expect(creditsText(priceOf(of, 4_010))).toBe(String(credit));
        expect(flags).toEqual([]);
        expect(held >= priceOf(of, 4_010)).toBe(true);
        // The caller's own bound goes up as it is.
        expect([sent.max_tokens, sent.max_completion_tokens]).toContain(50);
      });
    }

    test(`a server that says nothing of it, ${stream ? "streamed" : "plain"}: what it counts as reasoning is charged`, async () => {
      const { credit, flags, held } = await ask({ model: OPEN.model, stream }, usage(10, 4_000, false));
      expect(String(credit)).toBe(creditsText(priceOf(OPEN, 4_010)));
      expect(flags).toEqual(["above_hold"]);
      expect(held < priceOf(OPEN, 4_010)).toBe(true);
    });

    test(`a native provider, ${stream ? "streamed" : "plain"}: more than was asked for is charged up to the hold`, async () => {
      const { credit, flags, held } = await ask({ model: NATIVE.model, stream }, usage(10, 4_000, false));
      expect(flags).toEqual(["clamped"]);
      expect(String(credit)).toBe(creditsText(held));
    });
  }

  test("text beyond the bound is not believed because reasoning may be", async () => {
    for (const of of [OPEN, GROK]) {
      const { flags } = await ask({ model: of.model }, usage(4_000_000, 10, of === GROK));
      expect(flags).toEqual(["clamped"]);
    }
  });

  test("more reasoning than the model can put out is not believed", async () => {
    const { flags } = await ask({ model: TOLD.model }, usage(10, 80_000, false));
    expect(flags).toEqual(["clamped"]);
  });

  test("thinking that is bounded, or switched off, is held for as far as it goes", async () => {
    const bounded = await ask(
      { model: QWEN.model, thinking: { type: "enabled", budget_tokens: 2_000 } },
      usage(10, 900, false),
    );
    expect(bounded.sent.thinking_budget).toBe(2_000);
    const off = await ask({ model: QWEN.model, thinking: { type: "disabled" } }, usage(10, 0, false));
    expect(off.sent.enable_thinking).toBe(false);
    // The wish itself is a little of the input.
    const room: bigint = BigInt(bounded.held - off.held) - 2_000n * QWEN.output;
    expect(room >= 0n && room < 20n * QWEN.output).toBe(true);
  });

  test("where the hold has less room, the free balance pays, and beyond it the operator", async () => {
    const poor = async (): Promise<string> => {
      const { json: account } = await bank.gateway.admin("POST", "/accounts", { name: "poor" });
      await bank.gateway.admin("POST", `/accounts/${account.id}/credits`, { amount: 100, reason: "test" });
      return (await bank.gateway.admin("POST", "/keys", { account_id: account.id, name: "k" })).json.key;
    };
    // Half of what is free is held, which has room for some 1,000 tokens.
    const above = await ask({ model: TOLD.model }, usage(10, 1_200, false), await poor());
    expect(above.flags).toEqual(["above_hold"]);
    expect(above.held < priceOf(TOLD, 1_210)).toBe(true);
    expect(String(above.credit)).toBe(creditsText(priceOf(TOLD, 1_210)));
    const lost = await ask({ model: TOLD.model }, usage(10, 3_000, false), await poor());
    expect(lost.credit).toBe(100);
    const { amount } = await bank.books
      .selectFrom("ledger")
      .select("amount")
      .where("kind", "=", "loss")
      .executeTakeFirstOrThrow();
    expect(amount).toBe(100_000_000n - priceOf(TOLD, 3_010));
  });
});
