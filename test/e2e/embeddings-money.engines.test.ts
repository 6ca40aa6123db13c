import { afterEach, beforeEach, expect, test } from "bun:test";
import { describeOnEngineOfSuite } from "../gateway/engines.ts";
import type { Json } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer } from "../upstream/answer.ts";
import { gateAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import type { SeenRequest } from "../upstream/seen-request.ts";
import { type Bank, openBank } from "./money.ts";

// The credit of embeddings: held by estimate, charged by what the provider counted, once for each request.

const MODEL = "bank/vector";

/** A token costs a credit. */
const settings = (bank: Bank): string =>
  JSON.stringify({
    providers: {
      bank: {
        base_url: `${bank.double.url}/v1`,
        models: [{ id: MODEL, category: "embedding", embedding: { dimensions: 1 }, prices: { input: 100 } }],
      },
    },
  });

/** Counts a token for each text. */
function answer(request: SeenRequest): Answer {
  const { input }: Json = request.json();
  const data = input.map((_: string, index: number) => ({ object: "embedding", index, embedding: [1] }));
  return jsonAnswer(200, { data, model: "x", usage: { prompt_tokens: data.length } });
}

describeOnEngineOfSuite("embeddings", (engine) => {
  let bank: Bank;
  beforeEach(async () => {
    bank = await openBank(engine, { credits: 50 });
    bank.change(settings(bank));
  });
  afterEach(() => bank.close());

  /** A text of two letters is a token at the most. */
  const body = (texts: number): object => ({ model: MODEL, input: Array<string>(texts).fill("ab") });
  const embed = async (asked: object, init?: RequestInit): Promise<{ status: number; json: Json }> => {
    const response = await bank.gateway.post("/api/v1/embeddings", asked, init);
    return { status: response.status, json: await response.json() };
  };

  test("200 parallel requests on credit for 10: exactly those reach upstream", async () => {
    const gate = createGate();
    bank.double.handle((request) => gateAt(answer(request), "start", gate));
    let refused = 0;
    const answers = Array.from({ length: 200 }, async () => {
      const answered = await embed(body(5));
      if (answered.status === 402) refused += 1;
      return answered;
    });
    while (refused < 190) await Bun.sleep(1);
    await bank.double.waitForRequest(10);
    expect(await bank.gateway.account()).toMatchObject({ balance: 50, held: 50 });
    gate.release();
    const all = await Promise.all(answers);
    await bank.gateway.settled();
    expect(bank.double.requests.length).toBe(10);
    expect(all.filter(({ status }) => status === 200).map(({ json }) => json.credit)).toEqual(
      Array<number>(10).fill(5),
    );
    expect(all.find(({ status }) => status === 402)?.json.error.message).toContain("less text");
    expect(await bank.gateway.account()).toMatchObject({ balance: 0, held: 0 });
  });

  test("the budget of a key can be spent to the last, and then is a 402", async () => {
    bank.double.handle(answer);
    const { json: key } = await bank.gateway.admin("POST", "/keys", {
      account_id: bank.gateway.accountId,
      name: "bounded",
      budget: 10,
    });
    const init = { headers: { authorization: `Bearer ${key.key}` } };
    expect((await embed(body(7), init)).json.credit).toBe(7);
    expect((await embed(body(4), init)).status).toBe(402);
    expect((await embed(body(3), init)).json.credit).toBe(3);
    const refused = await embed(body(1), init);
    expect([refused.status, refused.json.error.type]).toEqual([402, "insufficient_credits"]);
    expect(bank.double.requests.length).toBe(2);
  });

  test("each paid request leaves one row and one entry; a failed one costs nothing", async () => {
    bank.double.handle(answer);
    expect((await embed(body(3))).json.credit).toBe(3);
    bank.double.enqueue(jsonAnswer(500, { error: { message: "broke" } }));
    expect((await embed(body(3))).status).toBe(502);
    await bank.gateway.settled();
    const { json } = await bank.gateway.admin("GET", `/requests?model=${encodeURIComponent(MODEL)}`);
    const rows: Json[] = json.data.map(({ model, provider, outcome, credit }: Json) => ({
      model,
      provider,
      outcome,
      credit,
    }));
    expect(rows.toSorted((a, b) => a.credit - b.credit)).toEqual([
      { model: MODEL, provider: "bank", outcome: "upstream_error", credit: 0 },
      { model: MODEL, provider: "bank", outcome: "completed", credit: 3 },
    ]);
    const { json: ledger } = await bank.gateway.admin("GET", `/accounts/${bank.gateway.accountId}/ledger`);
    expect(
      ledger.data.filter(({ kind }: Json) => kind === "settle").map(({ amount }: Json) => amount),
    ).toEqual([-3]);
  });

  test("more than was held is taken from what is free, and never more than that", async () => {
    bank.double.handle((request) => {
      const { input }: Json = request.json();
      const data = input.map(() => ({ embedding: [1] }));
      return jsonAnswer(200, { data, usage: { prompt_tokens: input.length * 4 } });
    });
    expect((await embed(body(5))).json.credit).toBe(20);
    // 30 credits are left, and 40 were used: the rest is the operator's.
    expect((await embed(body(10))).json.credit).toBe(30);
    await bank.gateway.settled();
    expect(await bank.gateway.account()).toMatchObject({ balance: 0, held: 0 });
  });
});
