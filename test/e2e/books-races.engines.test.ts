import { afterEach, expect, test } from "bun:test";
import { describeOnEngineOfSuite } from "../gateway/engines.ts";
import type { Json } from "../gateway/gateway.ts";
import { LONG } from "../runs.ts";
import { chatAnswer } from "../upstream/chat-bytes.ts";
import { gateAt } from "../upstream/faults.ts";
import { createGate, type Gate } from "../upstream/gate.ts";
import { type Bank, inFull, openBank, seeded, statement, unitBody, usageOf, watchAccount } from "./money.ts";

// Races for one account's credit, through the door that clients use: rows C1, C3, C6, C24 and C26.

describeOnEngineOfSuite("races for one balance", (engine) => {
  let bank: Bank;
  const opened = async (credits: number): Promise<Bank> => (bank = await openBank(engine, { credits }));
  afterEach(() => bank.close());

  for (const { requests, affordable } of [
    { requests: 500, affordable: 50 },
    { requests: 200, affordable: 7 },
  ]) {
    test(`${requests} parallel requests on credit for ${affordable}: exactly those reach upstream`, async () => {
      const { gateway, double, books } = await opened(affordable * 3);
      const gate = createGate();
      double.handle((request) => gateAt(inFull(request), "start", gate));
      const watched = watchAccount(books, gateway.accountId);
      let refused = 0;
      const answers = Array.from({ length: requests }, async () => {
        const answer = await gateway.chat(unitBody(3));
        if (answer.status === 402) refused += 1;
        return { status: answer.status, json: (await answer.json()) as Json };
      });
      while (refused < requests - affordable) await Bun.sleep(1);
      await double.waitForRequest(affordable);
      expect(await gateway.account()).toEqual(
        expect.objectContaining({ balance: affordable * 3, held: affordable * 3 }),
      );
      gate.release();
      const all = await Promise.all(answers);
      await gateway.settled();
      const looks = await watched.stop();
      expect(looks).toBeGreaterThan(0);
      expect(double.requests.length).toBe(affordable);
      expect(all.filter(({ status }) => status === 200).every(({ json }) => json.credit === 3)).toBe(true);
      expect(all.filter(({ status }) => status === 200).length).toBe(affordable);
      expect(all.filter(({ status }) => status === 402).length).toBe(requests - affordable);
      expect(await gateway.account()).toMatchObject({ balance: 0, held: 0 });
      const settles = (await statement(gateway)).filter((entry) => entry.kind === "settle");
      expect(settles.map((entry) => entry.amount)).toEqual(Array<number>(affordable).fill(-3));
    });
  }

  /** Requests that wait upstream until they are let through, each by the mark in its message. */
  const gated = (double: Bank["double"]) => {
    const waiting = new Map<string, { readonly gate: Gate; readonly used: number }>();
    double.handle((request) => {
      const mark = (request.json() as Json).messages[0].content as string;
      const { gate, used } = waiting.get(mark) ?? { gate: createGate(), used: 0 };
      return gateAt(chatAnswer({ words: ["a"], usage: usageOf(3, used) }), "start", gate);
    });
    return waiting;
  };
  const marked = (mark: string, tokens: number): object =>
    unitBody(tokens, { messages: [{ role: "user", content: mark }] });

  test("prices from 1 to 100 against one balance, settled in any order: each is as if it were alone", async () => {
    const start = 700;
    const { gateway, double, books } = await opened(start);
    const random = seeded("mixed prices, one by one");
    const waiting = gated(double);
    const open: { mark: string; most: number; used: number; answer: Promise<Response> }[] = [];
    let [balance, held, sent] = [start, 0, 0];
    const watched = watchAccount(books, gateway.accountId);

    const ask = async (mark: string): Promise<void> => {
      // Often just what is free, one less or one more.
      const most = random(3) === 0 ? Math.max(1, balance - held + random(3) - 1) : 1 + random(100);
      // Some use more than was held, as far as a provider's slack goes.
      const used = 1 + random(Math.ceil(most * 1.2));
      waiting.set(mark, { gate: createGate(), used });
      const answer = gateway.chat(marked(mark, most));
      if (most > balance - held) {
        const refused = await answer;
        expect(refused.status).toBe(402);
        expect(((await refused.json()) as Json).error.message).toContain("The account");
        return;
      }
      sent += 1;
      await double.waitForRequest(sent);
      held += most;
      open.push({ mark, most, used, answer });
    };
    const settle = async (): Promise<void> => {
      const [one] = open.splice(random(open.length), 1);
      if (one === undefined) return;
      waiting.get(one.mark)?.gate.release();
      const free = balance - held;
      const charge = Math.min(one.used, one.most + free);
      const json = (await (await one.answer).json()) as Json;
      expect(json.credit).toBe(charge);
      balance -= charge;
      held -= one.most;
      expect(await gateway.account()).toMatchObject({ balance, held });
    };

    const steps = LONG ? 1_000 : 120;
    for (let step = 0; step < steps; step += 1) await (random(10) < 6 ? ask(`step ${step}`) : settle());
    while (open.length > 0) await settle();
    await watched.stop();
    expect(double.requests.length).toBe(sent);
  });

  test("prices from 1 to 100 against one balance, all at once: never negative, and every credit is explained", async () => {
    const start = 1_000;
    const { gateway, double, books } = await opened(start);
    const random = seeded("mixed prices, all at once");
    const waiting = gated(double);
    const watched = watchAccount(books, gateway.accountId);
    const marks = Array.from({ length: LONG ? 500 : 80 }, (_, i) => `one ${i}`);
    const answers = marks.map(async (mark) => {
      const most = 1 + random(100);
      waiting.set(mark, { gate: createGate(), used: 1 + random(most) });
      const answer = await gateway.chat(marked(mark, most));
      return { status: answer.status, credit: ((await answer.json()) as Json).credit as number | undefined };
    });
    const waits = [...marks];
    while (waits.length > 0) {
      const [mark = ""] = waits.splice(random(waits.length), 1);
      waiting.get(mark)?.gate.release();
      if (random(4) === 0) await Bun.sleep(1);
    }
    const all = await Promise.all(answers);
    await gateway.settled();
    await watched.stop();
    expect(all.every(({ status }) => status === 200 || status === 402)).toBe(true);
    const charged = all.reduce((total, { credit }) => total + (credit ?? 0), 0);
    expect((await gateway.account()).balance).toBe(start - charged);
    expect(double.requests.length).toBe(all.filter(({ status }) => status === 200).length);
  });

  test("grants, withdrawals and requests at once: the sum is exact, and nothing held is taken back", async () => {
    const start = 40;
    const { gateway, books } = await opened(start);
    const random = seeded("grants, withdrawals and requests");
    const watched = watchAccount(books, gateway.accountId);
    const credits = `/accounts/${gateway.accountId}/credits`;
    const one = async (i: number): Promise<number> => {
      const kind = i % 3;
      const amount = 1 + random(9);
      if (kind === 2) {
        const answer = await gateway.chat(unitBody(amount));
        expect([200, 402]).toContain(answer.status);
        return answer.status === 200 ? -((await answer.json()) as Json).credit : 0;
      }
      const change = kind === 0 ? amount : -3 * amount;
      const { status } = await gateway.admin("POST", credits, { amount: change, reason: "race" });
      expect(kind === 0 ? [200] : [200, 409]).toContain(status);
      return status === 200 ? change : 0;
    };
    const changes = await Promise.all(Array.from({ length: LONG ? 1_500 : 240 }, (_, i) => one(i)));
    await gateway.settled();
    await watched.stop();
    const sum = changes.reduce((total, change) => total + change, start);
    expect((await gateway.account()).balance).toBe(sum);
    expect(changes.some((change, i) => i % 3 === 1 && change === 0)).toBe(true);
  });

  test("one grant sent twenty times at once is one credit; its key with another amount is refused", async () => {
    const { gateway } = await opened(0);
    const credits = `/accounts/${gateway.accountId}/credits`;
    const grant = { amount: 12.345678, reason: "once", idempotency_key: "order 1" };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => gateway.admin("POST", credits, grant)),
    );
    for (const one of answers) expect(one).toEqual({ status: 200, json: { balance: 12.345678 } });
    // Later the answer is still that of the first time, whatever has happened since.
    await gateway.admin("POST", credits, { amount: 1, reason: "other" });
    expect((await gateway.admin("POST", credits, grant)).json).toEqual({ balance: 12.345678 });
    for (const amount of [12.345679, -12.345678]) {
      const refused = await gateway.admin("POST", credits, { ...grant, amount });
      expect(refused).toMatchObject({ status: 400, json: { error: { param: "idempotency_key" } } });
    }
    expect((await gateway.account()).balance).toBe(13.345678);
    // Another account's key of the same text is another grant.
    const { json: other } = await gateway.admin("POST", "/accounts", { name: "other" });
    const elsewhere = await gateway.admin("POST", `/accounts/${other.id}/credits`, grant);
    expect(elsewhere).toEqual({ status: 200, json: { balance: 12.345678 } });
  });

  test("64 parallel writers of every kind: no error of the store reaches a client", async () => {
    const { gateway } = await opened(100_000);
    const shared = engine.name === "postgres" ? [gateway, await bank.another()] : [gateway];
    const random = seeded("parallel writers");
    const wrong: string[] = [];
    const note = (what: string, status: number): void => {
      if (status >= 300) wrong.push(`${what}: ${status}`);
    };
    const write = async (writer: number): Promise<void> => {
      for (let round = 0; round < (LONG ? 50 : 6); round += 1) {
        const at = shared[random(shared.length)] ?? gateway;
        const post = async (path: string, body: unknown, method = "POST"): Promise<Json> => {
          const { status, json } = await at.admin(method, path, body);
          note(`${method} ${path}`, status);
          return json;
        };
        const kind = random(3);
        if (kind === 0) {
          const headers = { authorization: `Bearer ${gateway.key}` };
          const answer = await at.chat(unitBody(1 + random(5)), { headers });
          await answer.arrayBuffer();
          note("chat", answer.status);
        } else if (kind === 1) {
          await post(`/accounts/${gateway.accountId}/credits`, { amount: 1, reason: `${writer}` });
        } else {
          const account = await post("/accounts", { name: `writer ${writer}` });
          const key = await post("/keys", { account_id: account.id, name: "k", budget: 5 });
          await post(`/keys/${key.id}`, { budget: 6 }, "PATCH");
          await post(`/keys/${key.id}`, undefined, "DELETE");
        }
      }
    };
    await Promise.all(Array.from({ length: 64 }, (_, writer) => write(writer)));
    expect(wrong).toEqual([]);
  });
});
