import { afterEach, beforeEach, expect, test } from "bun:test";
import { describeOnEngineOfSuite } from "../gateway/engines.ts";
import type { Json } from "../gateway/gateway.ts";
import { LONG } from "../runs.ts";
import { chatAnswer } from "../upstream/chat-bytes.ts";
import { gateAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { type Bank, bankSettings, inFull, openBank, seeded, unitBody, usageOf } from "./money.ts";

// The budget of a key: the most that it may ever spend, whatever the account still has.

describeOnEngineOfSuite("the budget of a key", (engine) => {
  let bank: Bank;
  beforeEach(async () => {
    bank = await openBank(engine, { credits: 1_000 });
  });
  afterEach(() => bank.close());

  interface Key {
    readonly id: string;
    readonly chat: (body: object) => Promise<{ readonly status: number; readonly json: Json }>;
    readonly show: () => Promise<Json>;
  }
  const issue = async (budget: number | null): Promise<Key> => {
    const { status, json } = await bank.gateway.admin("POST", "/keys", {
      account_id: bank.gateway.accountId,
      name: "bounded",
      budget,
    });
    expect(status).toBe(201);
    expect(json).toMatchObject({ budget, spent: 0, held: 0 });
    return {
      id: json.id,
      async chat(body) {
        const answer = await bank.gateway.chat(body, { headers: { authorization: `Bearer ${json.key}` } });
        return { status: answer.status, json: await answer.json() };
      },
      async show() {
        const { json: list } = await bank.gateway.admin("GET", "/keys?limit=1000");
        return list.data.find((key: Json) => key.id === json.id);
      },
    };
  };

  test("what is left can be spent to the last, and then a 402 says that it is the key's budget", async () => {
    const key = await issue(10);
    expect((await key.chat(unitBody(7))).json.credit).toBe(7);
    expect((await key.chat(unitBody(4))).status).toBe(402);
    expect((await key.chat(unitBody(3))).json.credit).toBe(3);
    expect(await key.show()).toMatchObject({ budget: 10, spent: 10, held: 0 });
    const refused = await key.chat(unitBody(1));
    expect(refused).toMatchObject({ status: 402, json: { error: { type: "insufficient_credits" } } });
    expect(refused.json.error.message).toContain("budget of this key");
    expect(bank.double.requests.length).toBe(2);
  });

  test("the last micro-credit of a budget can be spent, and it cannot be overdrawn by one", async () => {
    // A token of this price is a millionth of a credit.
    bank.change(bankSettings(bank.double, 0.0001));
    const key = await issue(0.000003);
    expect((await key.chat(unitBody(4))).status).toBe(402);
    expect((await key.chat(unitBody(2))).json.credit).toBe(0.000002);
    expect((await key.chat(unitBody(2))).status).toBe(402);
    expect((await key.chat(unitBody(1))).json.credit).toBe(0.000001);
    expect(await key.show()).toMatchObject({ budget: 0.000003, spent: 0.000003 });
    expect((await key.chat(unitBody(1))).status).toBe(402);
  });

  test("an account with too little says so, and not that it is the budget", async () => {
    const key = await issue(100_000);
    const refused = await key.chat(unitBody(1_001));
    expect(refused.status).toBe(402);
    expect(refused.json.error.message).toContain("The account");
    expect(refused.json.error.message).not.toContain("budget");
  });

  test("a budget of 0 pays for nothing; null is no bound; a PATCH changes it, and one without it does not", async () => {
    const key = await issue(0);
    expect((await key.chat(unitBody(1))).status).toBe(402);
    const patch = (change: object) => bank.gateway.admin("PATCH", `/keys/${key.id}`, change);
    expect((await patch({ budget: null })).json.budget).toBe(null);
    expect((await key.chat(unitBody(5))).status).toBe(200);
    expect((await patch({ name: "renamed" })).json).toMatchObject({
      budget: null,
      name: "renamed",
      spent: 5,
    });
    expect((await patch({ budget: 6.5 })).json.budget).toBe(6.5);
    expect((await patch({ models: null })).json.budget).toBe(6.5);
    expect((await key.chat(unitBody(2))).status).toBe(402);
    expect((await key.chat(unitBody(1))).status).toBe(200);
    // Below what has been spent it can be put; nothing more goes then.
    expect((await patch({ budget: 1 })).json).toMatchObject({ budget: 1, spent: 6 });
    expect((await key.chat(unitBody(1))).status).toBe(402);
  });

  test("a key without a budget member has none", async () => {
    const { json } = await bank.gateway.admin("POST", "/keys", {
      account_id: bank.gateway.accountId,
      name: "free",
    });
    expect(json).toMatchObject({ budget: null, spent: 0, held: 0 });
  });

  for (const budget of [-1, -0.000001, 0.0000001, 1e30, 9_007_199_254.740993, "5", true, [], {}]) {
    test(`a budget of ${JSON.stringify(budget)} is a 400 that names it`, async () => {
      const create = { account_id: bank.gateway.accountId, name: "k", budget };
      for (const answer of [
        await bank.gateway.admin("POST", "/keys", create),
        await bank.gateway.admin("PATCH", `/keys/${bank.gateway.keyId}`, { budget }),
      ]) {
        expect(answer).toMatchObject({
          status: 400,
          json: { error: { type: "invalid_request_error", param: "budget" } },
        });
        expect(answer.json.error.message).toContain("budget");
      }
      const { json } = await bank.gateway.admin("GET", "/keys");
      expect(json.data.map((key: Json) => key.budget)).toEqual([null]);
    });
  }

  test("what is held for requests under way is shown, and counts", async () => {
    const key = await issue(10);
    const gate = createGate();
    bank.double.handle((request) => gateAt(inFull(request), "start", gate));
    const first = key.chat(unitBody(6));
    await bank.double.waitForRequest(1);
    expect(await key.show()).toMatchObject({ spent: 0, held: 6 });
    expect((await key.chat(unitBody(5))).status).toBe(402);
    const second = key.chat(unitBody(4));
    await bank.double.waitForRequest(2);
    expect(await key.show()).toMatchObject({ spent: 0, held: 10 });
    gate.release();
    expect((await first).json.credit).toBe(6);
    expect((await second).json.credit).toBe(4);
    expect(await key.show()).toMatchObject({ spent: 10, held: 0 });
  });

  test("parallel requests of two keys never exceed the budget of either", async () => {
    const random = seeded("budgets in parallel");
    const keys = [await issue(40), await issue(25)];
    bank.double.handle((request) => {
      const most = (request.json() as Json).max_tokens as number;
      return chatAnswer({ words: ["a"], usage: usageOf(3, 1 + random(most)) });
    });
    const spent = [0, 0];
    const watching = { on: true };
    const wrong: string[] = [];
    const watched = (async () => {
      while (watching.on) {
        for (const row of await bank.books.selectFrom("keys").selectAll().execute())
          if (row.budget !== null && row.spent + row.held > row.budget)
            wrong.push(`${row.spent} ${row.held}`);
        await Bun.sleep(1);
      }
    })();
    const count = LONG ? 1_000 : 150;
    const answers = await Promise.all(
      Array.from({ length: count }, async (_, i) => {
        const answer = await (keys[i % 2] as Key).chat(unitBody(1 + random(8)));
        spent[i % 2] = (spent[i % 2] ?? 0) + (answer.json.credit ?? 0);
        return answer.status;
      }),
    );
    watching.on = false;
    await watched;
    expect(wrong).toEqual([]);
    expect(answers.filter((status) => status !== 200 && status !== 402)).toEqual([]);
    expect(answers).toContain(402);
    for (const [i, budget] of [40, 25].entries()) {
      const shown = await (keys[i] as Key).show();
      expect(shown).toMatchObject({ spent: spent[i], held: 0 });
      expect(shown.spent).toBeLessThanOrEqual(budget);
      expect(shown.spent).toBeGreaterThan(0);
    }
    expect((await bank.gateway.account()).balance).toBe(1_000 - (spent[0] ?? 0) - (spent[1] ?? 0));
  });

  test("a provider that counts more than was held takes it from the budget's rest, and no more", async () => {
    const key = await issue(10);
    bank.double.handle(() => chatAnswer({ words: ["a"], usage: usageOf(3, 12) }));
    expect((await key.chat(unitBody(4))).json.credit).toBe(10);
    expect(await key.show()).toMatchObject({ spent: 10, held: 0 });
    const losses = await bank.books
      .selectFrom("ledger")
      .select("amount")
      .where("kind", "=", "loss")
      .execute();
    expect(losses).toEqual([{ amount: -2_000_000n }]);
  });
});
