import { afterEach, beforeEach, expect, test } from "bun:test";
import { describeOnEngineOfSuite } from "../gateway/engines.ts";
import type { Json, TestGateway } from "../gateway/gateway.ts";
import { type Bank, openBank, seeded, statement, unitBody } from "./money.ts";
import { LONG } from "../runs.ts";

// The statement of an account, page by page, while it grows.

const BEFORE = 250;

describeOnEngineOfSuite("the statement of an account", (engine) => {
  let bank: Bank;
  beforeEach(async () => {
    bank = await openBank(engine, { credits: 1_000 });
  });
  afterEach(() => bank.close());

  const grant = async (gateway: TestGateway, reason: string): Promise<void> => {
    const path = `/accounts/${bank.gateway.accountId}/credits`;
    expect((await gateway.admin("POST", path, { amount: 1, reason })).status).toBe(200);
  };

  test("pages while new entries arrive: none twice, none missing, each balance following from the one before", async () => {
    const gateways = engine.name === "postgres" ? [bank.gateway, await bank.another()] : [bank.gateway];
    const random = seeded("a statement while it grows");
    const at = (): TestGateway => gateways[random(gateways.length)] ?? bank.gateway;
    await Promise.all(Array.from({ length: BEFORE }, (_, i) => grant(at(), `before ${i}`)));

    let reading = true;
    const writers = Array.from({ length: 4 }, async (_, writer) => {
      for (let i = 0; reading && i < 2_000; i += 1) {
        if (i % 3 === 0) await (await bank.gateway.chat(unitBody(1))).arrayBuffer();
        else await grant(at(), `writer ${writer}, ${i}`);
      }
    });
    for (let round = 0; round < (LONG ? 20 : 3); round += 1) {
      const seen: Json[] = [];
      let after: string | null = null;
      do {
        const query: string = after === null ? "limit=7" : `limit=7&after=${after}`;
        const { json } = await at().admin("GET", `/accounts/${bank.gateway.accountId}/ledger?${query}`);
        expect(json.data.length).toBeLessThanOrEqual(7);
        if (json.next !== null) expect(json.data.length).toBe(7);
        seen.push(...json.data);
        after = json.next;
        // A reader that writers outrun has seen enough.
      } while (after !== null && seen.length < 3 * BEFORE);
      expect(seen.length).toBeGreaterThan(BEFORE);
      const whole = await statement(bank.gateway);
      expect(seen.map((entry) => entry.id)).toEqual(whole.slice(0, seen.length).map((entry) => entry.id));
      expect(new Set(seen.map((entry) => entry.id)).size).toBe(seen.length);
      let balance = 0;
      for (const entry of seen) {
        balance += entry.amount;
        expect(entry.balance_after).toBe(balance);
      }
    }
    reading = false;
    await Promise.all(writers);
    await bank.gateway.settled();
    const whole = await statement(bank.gateway);
    expect(whole.at(-1)?.balance_after).toBe((await bank.gateway.account()).balance);
    for (let i = 0; i < BEFORE; i += 1)
      expect(whole.filter((entry) => entry.reason === `before ${i}`).length).toBe(1);
  });

  test("an entry names its request, and the request's entry its credit", async () => {
    const answers = await Promise.all([1, 2, 3].map((tokens) => bank.gateway.chat(unitBody(tokens))));
    const told = await Promise.all(
      answers.map(
        async (answer) => `${answer.headers.get("x-request-id")} ${-((await answer.json()) as Json).credit}`,
      ),
    );
    const settles = (await statement(bank.gateway)).filter((entry) => entry.kind === "settle");
    expect(settles.map((entry) => `${entry.request_id} ${entry.amount}`).toSorted()).toEqual(told.toSorted());
  });

  test("an account without entries has one empty page, and an unknown one a 404", async () => {
    const { json: account } = await bank.gateway.admin("POST", "/accounts", { name: "empty" });
    const empty = await bank.gateway.admin("GET", `/accounts/${account.id}/ledger`);
    expect(empty).toEqual({ status: 200, json: { data: [], next: null } });
    expect((await bank.gateway.admin("GET", "/accounts/acct_none/ledger")).status).toBe(404);
  });
});
