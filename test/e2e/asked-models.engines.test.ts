import { afterEach, beforeEach, expect, test } from "bun:test";
import { describeOnEngineOfSuite } from "../gateway/engines.ts";
import type { Json } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer } from "../upstream/answer.ts";
import { chatAnswer } from "../upstream/chat-bytes.ts";
import { type Bank, openBank, usageOf } from "./money.ts";

// The credit of requests that several models may serve: the dearest is held, and the one that served is charged.

const CHEAP = "bank/cheap";
const DEAR = "bank/dear";

/** A token of output costs a credit by the one, and three by the other; input costs nothing. */
const settings = (bank: Bank): string =>
  JSON.stringify({
    providers: Object.fromEntries(
      [
        [CHEAP, 100],
        [DEAR, 300],
      ].map(([id, output]) => [
        String(id).replace("bank/", ""),
        {
          base_url: `${bank.double.url}/${String(id)}`,
          dialect: "native",
          models: [{ id, max_output: 1_000, prices: { input: 0, output } }],
        },
      ]),
    ),
    routing: { breaker_failures: 0 },
  });

describeOnEngineOfSuite("models that a request names", (engine) => {
  let bank: Bank;
  /** Whether the cheap one answers. */
  let isWell: boolean;
  let tokens: number;
  beforeEach(async () => {
    bank = await openBank(engine, { credits: 100 });
    bank.change(settings(bank));
    tokens = 7;
    bank.double.handle(({ target }): Answer => {
      if (!isWell && target.includes(CHEAP)) return jsonAnswer(503, {});
      return chatAnswer({ words: ["a"], usage: usageOf(3, tokens) });
    });
  });
  afterEach(() => bank.close());

  const ask = (more: object): Promise<Response> =>
    bank.gateway.chat({ model: CHEAP, models: [DEAR], messages: [{ role: "user", content: "hi" }], ...more });

  async function lastHold(): Promise<{ readonly amount: bigint; readonly settled: bigint | null }> {
    await bank.gateway.settled();
    const [row] = await bank.books
      .selectFrom("holds")
      .select(["amount", "settled"])
      .orderBy("created_at_ms", "desc")
      .limit(1)
      .execute();
    if (row === undefined) throw new Error("nothing was held");
    return row;
  }

  const credits = (count: number): bigint => BigInt(count) * 1_000_000n;

  for (const [well, charge, model] of [
    [true, 7, CHEAP],
    [false, 21, DEAR],
  ] as const)
    test(`the dearest is held whichever serves; ${model} is charged`, async () => {
      isWell = well;
      const answer: Json = await (await ask({ max_tokens: 20 })).json();
      expect([answer.model, answer.credit]).toEqual([model, charge]);
      expect(await lastHold()).toEqual({ amount: credits(60), settled: credits(charge) });
      expect((await bank.gateway.account()).balance).toBe(100 - charge);
      const { json } = await bank.gateway.admin("GET", "/requests?limit=1");
      expect([json.data[0].model, json.data[0].credit]).toEqual([model, charge]);
    });

  test("credit for the cheap one alone is not enough", async () => {
    isWell = true;
    expect((await ask({ max_tokens: 40 })).status).toBe(402);
    expect(bank.double.requests).toHaveLength(0);
    expect((await ask({ max_tokens: 40, models: [CHEAP] })).status).toBe(200);
  });

  test("without a bound each is sent the one that the balance has room for by its price", async () => {
    isWell = false;
    tokens = 33;
    // Enough for the floor of 1,024 tokens of the dear one.
    const { json: account } = await bank.gateway.admin(
      "POST",
      `/accounts/${bank.gateway.accountId}/credits`,
      { amount: 2_900, reason: "more" },
    );
    expect(account).toBeDefined();
    const answer: Json = await (await ask({})).json();
    expect([answer.model, answer.credit]).toEqual([DEAR, 99]);
    const { amount } = await lastHold();
    const bounds = bank.double.requests.map((request) => {
      const { max_tokens: most, max_completion_tokens: other } = request.json() as Json;
      return most ?? other ?? 1_000;
    });
    const held = Number(amount / 1_000_000n);
    expect(bounds).toEqual([Math.min(1_000, held), Math.min(1_000, Math.floor(held / 3))]);
    expect(held).toBeLessThanOrEqual(3_000);
  });
});
