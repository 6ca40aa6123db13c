import { afterEach, beforeEach, expect, test } from "bun:test";
import type { Command } from "../../src/ledger/commands.ts";
import { describeOnSharedBooks } from "../gateway/engines.ts";
import { type Json, streamEvents } from "../gateway/gateway.ts";
import { LONG } from "../runs.ts";
import { sseAnswer } from "../upstream/answer.ts";
import { chatAnswer, chatStream } from "../upstream/chat-bytes.ts";
import { afterEvent, eventEnds } from "../upstream/cuts.ts";
import { gateAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { openRawClient, postBytes } from "../upstream/raw-client.ts";
import {
  type Bank,
  bankSettings,
  BOTH,
  inFull,
  openBank,
  openOtherProcess,
  type OtherProcess,
  seeded,
  statement,
  unitBody,
  usageOf,
  stoppedClock,
} from "./money.ts";

// Whichever process ends a hold, and however often, it has one end: rows C4, C5, C7, C20 and C22 of the concurrency list.

const START = 100_000;

describeOnSharedBooks("ends of a hold", (engine) => {
  let bank: Bank;
  let other: OtherProcess;
  beforeEach(async () => {
    // Time stands still, so that only what a test does ends a hold.
    bank = await openBank(engine, { credits: START, clock: stoppedClock() });
    other = await openOtherProcess(bank.place);
  });
  afterEach(async () => {
    await other.close();
    await bank.close();
  });

  /** The holds that are open. */
  const openHolds = () =>
    bank.books
      .selectFrom("holds")
      .select(["id as hold", "account_id as account", "key_id as key", "amount", "expected_cost"])
      .where("state", "=", "held")
      .execute();

  const rowOf = async (id: string) =>
    bank.books.selectFrom("requests").selectAll().where("id", "=", id).executeTakeFirstOrThrow();

  const losses = async (): Promise<string[]> => {
    const rows = await bank.books
      .selectFrom("ledger")
      .selectAll()
      .where("kind", "=", "loss")
      .orderBy("seq")
      .execute();
    return rows.map((row) => `${row.account_id} ${row.counter} ${row.cause.split(":")[1]} ${row.amount}`);
  };

  /** A request that has been held for and waits upstream, and the gate that lets it through. */
  const underWay = async (body: object, words = ["a"], usage = usageOf(3, 5)) => {
    const gate = createGate();
    bank.double.handle((request) => {
      const stream = (request.json() as Json).stream === true;
      const events = chatStream({ words, usage });
      return stream
        ? gateAt(sseAnswer(events), afterEvent(events, 2), gate)
        : gateAt(chatAnswer({ words, usage }), "start", gate);
    });
    const sent = bank.double.requests.length;
    const answer = bank.gateway.chat(body);
    await bank.double.waitForRequest(sent + 1);
    await gate.reached;
    return { gate, answer };
  };

  test("one hold settled by three at once: one charge, and each is told the same", async () => {
    const { gate, answer } = await underWay(unitBody(9));
    const [hold] = await openHolds();
    if (hold === undefined) throw new Error("Nothing is held.");
    const settle: Command = {
      kind: "settle",
      hold: hold.hold,
      account: hold.account,
      key: hold.key,
      used: 5_000_000n,
      usage: "{}",
      flags: [],
      outcome: "completed",
      nowMs: 1,
    };
    gate.release();
    const [one, two, client] = await Promise.all([
      other.writer.submit(settle),
      other.writer.submit(settle),
      answer.then((response) => response.json() as Promise<Json>),
    ]);
    for (const answered of [one, two]) expect(answered).toEqual({ ok: true, charged: 5_000_000n });
    expect(client.credit).toBe(5);
    const settles = (await statement(bank.gateway)).filter((entry) => entry.kind === "settle");
    expect(settles.map((entry) => entry.amount)).toEqual([-5]);
    expect(await bank.gateway.account()).toMatchObject({ balance: START - 5, held: 0 });
    expect(await losses()).toEqual([]);
  });

  for (const stream of [false, true]) {
    const how = stream ? "streamed" : "plain";

    test(`${how}: the sweeper was first: the client is told 0 and charged 0, and the operator's loss is exact`, async () => {
      const body = { model: BOTH, messages: [{ role: "user", content: "hi" }], max_tokens: 9, stream };
      const { gate, answer } = await underWay(body, ["a"], usageOf(3, 5));
      const [hold] = await openHolds();
      expect(await other.sweep()).toBe(1);
      expect(await bank.gateway.account()).toMatchObject({ balance: START, held: 0 });
      gate.release();
      const response = await answer;
      const text = await response.text();
      const credit = stream ? streamEvents(text).at(-2).credit : JSON.parse(text).credit;
      expect(credit).toBe(0);
      expect(await bank.gateway.account()).toMatchObject({ balance: START, held: 0 });
      const expected = hold?.expected_cost ?? 0n;
      expect(expected > 0n).toBe(true);
      // 3 × 1 + 5 × 2 credits were used: what was guessed, and the difference to it.
      expect(await losses()).toEqual([
        `operator operator_loss loss ${-expected}`,
        `operator operator_loss late ${expected - 13_000_000n}`,
      ]);
      const row = await rowOf(response.headers.get("x-request-id") ?? "");
      expect(row).toMatchObject({ charge: 0n, outcome: "process_died" });
    });

    test(`${how}: the request was first: the sweeper finds nothing, and a late void changes nothing`, async () => {
      const { gate, answer } = await underWay(unitBody(9, { stream }));
      const [hold] = await openHolds();
      gate.release();
      await (await answer).text();
      await bank.gateway.settled();
      expect(await other.sweep()).toBe(0);
      const late = { ...hold, kind: "void", outcome: "process_died", nowMs: 1 } as unknown as Command;
      expect(await other.writer.submit(late)).toEqual({ ok: false, reason: "settled" });
      expect(await bank.gateway.account()).toMatchObject({ balance: START - 5, held: 0 });
      expect(await losses()).toEqual([]);
    });
  }

  test("settle and void in the same moment, over and over: always one of the two, and the client knows which", async () => {
    const random = seeded("settle against void");
    let [charged, lost] = [0, 0];
    for (let round = 0; round < (LONG ? 500 : 30); round += 1) {
      const { gate, answer } = await underWay(unitBody(9));
      const first = random(2);
      if (first === 0) gate.release();
      const swept = random(3) === 0 ? Bun.sleep(1).then(() => other.sweep()) : other.sweep();
      gate.release();
      const [{ credit }] = await Promise.all([answer.then((one) => one.json() as Promise<Json>), swept]);
      expect([0, 5]).toContain(credit);
      charged += credit;
      if (credit === 0) lost += 1;
      const { balance, held } = await bank.gateway.account();
      expect({ balance, held }).toEqual({ balance: START - charged, held: 0 });
    }
    // The unit model's input is free: nothing was guessed, so that the late settlement books it all.
    expect(await losses()).toEqual(Array(lost).fill("operator operator_loss late -5000000"));
  });

  test("a key revoked in mid-stream: the stream ends well and is charged, the next request is a 401", async () => {
    const { gate, answer } = await underWay(unitBody(9, { stream: true }), ["a", "b"]);
    const response = await answer;
    await bank.gateway.admin("DELETE", `/keys/${bank.gateway.keyId}`);
    gate.release();
    const events = streamEvents(await response.text());
    expect(events.at(-1)).toBe("[DONE]");
    expect(events.at(-2).credit).toBe(5);
    expect((await bank.gateway.account()).balance).toBe(START - 5);
    expect((await bank.gateway.chat(unitBody(1))).status).toBe(401);
    expect(bank.double.requests.length).toBe(1);
  });

  for (const budget of [0, 2, 5]) {
    test(`a budget lowered to ${budget} in mid-stream: the stream ends well and is charged, the next request is a 402`, async () => {
      const { gate, answer } = await underWay(unitBody(9, { stream: true }), ["a", "b"]);
      const response = await answer;
      await bank.gateway.admin("PATCH", `/keys/${bank.gateway.keyId}`, { budget });
      gate.release();
      expect(streamEvents(await response.text()).at(-2).credit).toBe(5);
      expect((await bank.gateway.chat(unitBody(1))).status).toBe(402);
      const { json } = await bank.gateway.admin("GET", "/keys");
      expect(json.data[0]).toMatchObject({ budget, spent: 5, held: 0 });
    });
  }

  test("prices changed in mid-stream: what was held at the old price is charged at it, the next request at the new", async () => {
    const { gate, answer } = await underWay(unitBody(9, { stream: true }), ["a", "b"]);
    const response = await answer;
    bank.change(bankSettings(bank.double, 700));
    const during = await bank.gateway.account();
    gate.release();
    expect(during).toMatchObject({ balance: START, held: 9 });
    expect(streamEvents(await response.text()).at(-2).credit).toBe(5);
    bank.double.handle(inFull);
    const after = await bank.gateway.chat(unitBody(2));
    expect(((await after.json()) as Json).credit).toBe(14);
    const [old, fresh] = await Promise.all(
      [response, after].map((one) => rowOf(one.headers.get("x-request-id") ?? "")),
    );
    expect(old?.price_version).not.toBe(fresh?.price_version);
    const versions = await bank.books.selectFrom("price_versions").selectAll().execute();
    const rulesOf = (version?: string) =>
      JSON.parse(versions.find((one) => one.version === version)?.rules ?? "{}");
    expect(rulesOf(old?.price_version).output[0].price).toBe("1000000");
    expect(rulesOf(fresh?.price_version).output[0].price).toBe("7000000");
  });

  for (const stream of [true, false]) {
    test(`a ${stream ? "stream" : "plain answer"} that ends in the moment its client leaves is settled once`, async () => {
      const random = seeded("client gone at the end");
      const events = chatStream({ words: ["a", "b"], usage: usageOf(3, 5) });
      const ends = eventEnds(events);
      const rounds = LONG ? 400 : 40;
      for (let round = 0; round < rounds; round += 1) {
        const gate = createGate();
        const at = ends[ends.length - 1 - (1 + random(3))] ?? 0;
        bank.double.reset();
        bank.double.handle(() =>
          stream
            ? gateAt(sseAnswer(events), at, gate)
            : gateAt(chatAnswer({ words: ["a"], usage: usageOf(3, 5) }), { wire: -1 }, gate),
        );
        const client = await openRawClient(bank.gateway.url);
        const headers = [`Authorization: Bearer ${bank.gateway.key}`];
        client.send(postBytes("/api/v1/chat/completions", JSON.stringify(unitBody(9, { stream })), headers));
        await gate.reached;
        const leave = (): void => (random(2) === 0 ? client.close() : client.reset());
        const [first, second] = random(2) === 0 ? [gate.release, leave] : [leave, gate.release];
        first();
        if (random(3) === 0) await new Promise((resolve) => setImmediate(resolve));
        second();
        await bank.gateway.settled();
      }
      const rows = await bank.books.selectFrom("requests").select(["charge", "outcome"]).execute();
      expect(rows.length).toBe(rounds);
      for (const { charge, outcome } of rows) {
        expect(["completed", "client_gone"]).toContain(outcome);
        expect(charge >= 0n && charge <= 5_000_000n).toBe(true);
        if (outcome === "completed") expect(charge).toBe(5_000_000n);
      }
      const settles = (await statement(bank.gateway)).filter((entry) => entry.kind === "settle");
      expect(new Set(settles.map((entry) => entry.request_id)).size).toBe(settles.length);
    });
  }
});
