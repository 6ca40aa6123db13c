import { afterEach, beforeEach, expect, test } from "bun:test";
import { describeOnEngineOfSuite } from "../gateway/engines.ts";
import type { FakeClock } from "../gateway/fake-clock.ts";
import type { Json } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import { chatAnswer, chatStream } from "../upstream/chat-bytes.ts";
import { afterEvent } from "../upstream/cuts.ts";
import { finAt, gateAt, resetAt, stallAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { openRawClient, postBytes } from "../upstream/raw-client.ts";
import { type Bank, BOTH, openBank, stoppedClock } from "./money.ts";

// The row that each paid request leaves, however it ended.

const USAGE = {
  prompt_tokens: 30,
  completion_tokens: 12,
  total_tokens: 42,
  prompt_tokens_details: { cached_tokens: 10 },
  completion_tokens_details: { reasoning_tokens: 7 },
};
/** Its buckets, and what they cost at 1 credit for input and 2 for output. */
const BUCKETS = { input: 20, cacheRead: 10, output: 5, reasoning: 7 };
const CHARGE = 54_000_000n;
const WORDS = ["one ", "two ", "three"];

describeOnEngineOfSuite("the row of a request", (engine) => {
  let bank: Bank;
  let clock: FakeClock;
  let began: bigint;
  beforeEach(async () => {
    clock = stoppedClock();
    bank = await openBank(engine, { credits: 1_000, clock });
    began = BigInt(clock.nowMs());
  });
  afterEach(() => bank.close());

  const body = { model: BOTH, messages: [{ role: "user", content: "Say hello." }], max_tokens: 64 };
  const events = chatStream({ words: WORDS, usage: USAGE });
  const attempt = (status: number | null): Json => ({
    provider: "bank",
    upstream_id: BOTH,
    sent_at_ms: Number(began),
    status,
  });

  /** Asks for a stream on a raw socket. */
  const post = async () => {
    const client = await openRawClient(bank.gateway.url);
    const headers = [`Authorization: Bearer ${bank.gateway.key}`];
    client.send(postBytes("/api/v1/chat/completions", JSON.stringify({ ...body, stream: true }), headers));
    return client;
  };

  /** The row of the only request, with its JSON read. */
  const onlyRow = async () => {
    await bank.gateway.settled();
    const rows = await bank.books.selectFrom("requests").selectAll().execute();
    expect(rows.length).toBe(1);
    const row = rows[0] as (typeof rows)[0];
    return {
      ...row,
      attempts: JSON.parse(row.attempts),
      usage: JSON.parse(row.usage ?? "null"),
      flags: JSON.parse(row.flags ?? "[]"),
    };
  };

  test("a stream: every point in time, one attempt, usage by bucket, the version of its prices", async () => {
    const [start, middle] = [createGate(), createGate()];
    bank.double.handle(() =>
      gateAt(gateAt(sseAnswer(events), "start", start), afterEvent(events, 2), middle),
    );
    const waiting = bank.gateway.chat({ ...body, stream: true });
    await start.reached;
    await clock.advance(1_000);
    start.release();
    // Its head is only sent once the first content has come.
    const response = await waiting;
    await clock.advance(2_000);
    middle.release();
    await response.text();
    const row = await onlyRow();
    expect(row).toMatchObject({
      id: response.headers.get("x-request-id"),
      account_id: bank.gateway.accountId,
      key_id: bank.gateway.keyId,
      model: BOTH,
      provider: "bank",
      outcome: "completed",
      charge: CHARGE,
      usage: BUCKETS,
      flags: [],
      attempts: [attempt(200)],
      admitted_at_ms: began,
      held_at_ms: began,
      first_byte_at_ms: began + 1_000n,
      ended_at_ms: began + 3_000n,
      settled_at_ms: began + 3_000n,
    });
    const hold = await bank.books.selectFrom("holds").selectAll().executeTakeFirstOrThrow();
    expect(hold).toMatchObject({
      id: row.hold_id,
      request_id: row.id,
      price_version: row.price_version,
      state: "settled",
      settled: CHARGE,
    });
    expect(hold.amount >= CHARGE).toBe(true);
    const prices = await bank.books.selectFrom("price_versions").selectAll().executeTakeFirstOrThrow();
    expect(prices).toMatchObject({ version: row.price_version, model: BOTH });
    expect(JSON.parse(prices.rules)).toMatchObject({
      input: [{ price: "1000000" }],
      output: [{ price: "2000000" }],
    });
  });

  test("a plain answer: its times are in order, and the rest is as of a stream", async () => {
    const start = createGate();
    bank.double.handle(() => gateAt(chatAnswer({ words: WORDS, usage: USAGE }), "start", start));
    const waiting = bank.gateway.chat(body);
    await start.reached;
    await clock.advance(1_000);
    start.release();
    await (await waiting).arrayBuffer();
    expect(await onlyRow()).toMatchObject({
      outcome: "completed",
      charge: CHARGE,
      usage: BUCKETS,
      attempts: [attempt(200)],
      admitted_at_ms: began,
      held_at_ms: began,
      first_byte_at_ms: began + 1_000n,
      ended_at_ms: began + 1_000n,
      settled_at_ms: began + 1_000n,
    });
  });

  /** Refused or broken before any content: nothing is charged and no usage is told. */
  const free: readonly {
    readonly name: string;
    readonly answer: Answer;
    readonly status: number | null;
    readonly outcome: string;
  }[] = [
    {
      name: "a refusal of upstream",
      answer: jsonAnswer(400, { error: { message: "no", type: "invalid_request_error" } }),
      status: 400,
      outcome: "invalid_request_error",
    },
    { name: "a failure of upstream", answer: jsonAnswer(500, {}), status: 500, outcome: "upstream_error" },
    {
      name: "an overload of upstream",
      answer: jsonAnswer(503, {}),
      status: 503,
      outcome: "overloaded_error",
    },
    {
      name: "a reset before the head",
      answer: resetAt(sseAnswer(events), "start"),
      status: null,
      outcome: "upstream_error",
    },
    {
      name: "an end before content",
      answer: finAt(sseAnswer(events), afterEvent(events, 1)),
      status: 200,
      outcome: "upstream_error",
    },
  ];
  for (const { name, answer, status, outcome } of free) {
    test(`${name}: free, one attempt with ${status === null ? "no status" : `status ${status}`}`, async () => {
      bank.double.handle(() => answer);
      await (await bank.gateway.chat({ ...body, stream: true })).arrayBuffer();
      const row = await onlyRow();
      expect(row).toMatchObject({
        outcome,
        charge: 0n,
        usage: null,
        attempts: [attempt(status)],
        admitted_at_ms: began,
        settled_at_ms: began,
      });
      // What came just before a broken end may be lost with it; without a status nothing can have come.
      if (status !== 200) expect(row.first_byte_at_ms).toBe(null);
    });
  }

  test("a provider that never answers: the outcome is a timeout, and there is no first byte", async () => {
    bank.double.handle(() => stallAt(chatAnswer(), "start"));
    const waiting = bank.gateway.chat(body);
    await bank.double.waitForRequest(1);
    await clock.advance(600_000);
    expect((await waiting).status).toBe(504);
    expect(await onlyRow()).toMatchObject({
      outcome: "timeout_error",
      charge: 0n,
      first_byte_at_ms: null,
      ended_at_ms: began + 600_000n,
      attempts: [attempt(null)],
    });
  });

  test("upstream breaks in mid-stream: what came is counted by us, and the row says so", async () => {
    const gate = createGate();
    const at = afterEvent(events, 3);
    bank.double.handle(() => finAt(gateAt(sseAnswer(events), at, gate), at));
    const client = await post();
    await client.waitFor("two ");
    gate.release();
    await client.waitFor("[DONE]");
    client.close();
    const row = await onlyRow();
    expect(row).toMatchObject({ outcome: "upstream_error", attempts: [attempt(200)] });
    expect(row.flags.toSorted()).toEqual(["estimated", "partial"]);
    expect(row.first_byte_at_ms).toBe(began);
    expect(row.charge).toBe(BigInt(row.usage.input + 2 * row.usage.output) * 1_000_000n);
    expect(row.usage.output).toBe(2);
  });

  for (const answered of [true, false]) {
    test(`the client leaves ${answered ? "in mid-stream" : "before any answer"}: what was used is charged`, async () => {
      bank.double.handle(() => stallAt(sseAnswer(events), answered ? afterEvent(events, 3) : "start"));
      const client = await post();
      const request = await bank.double.waitForRequest(1);
      if (answered) await client.waitFor("two ");
      client.reset();
      await bank.double.waitForClientGone(request);
      const row = await onlyRow();
      expect(row).toMatchObject({ outcome: "client_gone", attempts: [attempt(answered ? 200 : null)] });
      expect(row.flags.toSorted()).toEqual(["estimated", "partial"]);
      expect(row.usage.output ?? 0).toBe(answered ? 2 : 0);
      expect(row.usage.input).toBeGreaterThan(0);
      expect(row.charge).toBe(BigInt(row.usage.input + 2 * (row.usage.output ?? 0)) * 1_000_000n);
      expect(row.first_byte_at_ms).toBe(answered ? began : null);
    });
  }

  test("a request that was refused before the call leaves no row", async () => {
    for (const refused of [
      await bank.gateway.chat({ ...body, max_tokens: 100_000 }),
      await bank.gateway.chat({ ...body, model: "bank/none" }),
      await bank.gateway.chat(body, { headers: { authorization: "Bearer sk-none" } }),
    ])
      expect([400, 401, 402]).toContain(refused.status);
    expect(await bank.books.selectFrom("requests").select("id").execute()).toEqual([]);
    expect(await bank.books.selectFrom("holds").select("id").execute()).toEqual([]);
  });
});
