import { beforeEach, describe, expect, test } from "bun:test";
import { describeOnEngines } from "../gateway/engines.ts";
import { useBooks } from "./books.ts";
import { DEADLINE_MS, RESULT } from "./task-commands.ts";
import type { Command, Outcome } from "../../src/ledger/commands.ts";
import type { ClaimTask } from "../../src/ledger/task-commands.ts";

describeOnEngines("a task", (engine) => {
  const books = useBooks(engine);
  beforeEach(async () => void (await books.apply(books.grant("g", 100n))));

  const task = (name: string) => books.row("tasks", "id", books.id(name));
  const hold = (name: string) => books.row("holds", "id", books.id(`${name}-hold`));
  const request = (name: string) => books.row("requests", "id", books.id(`req-${name}`));
  const idsIn = async (table: "tasks" | "task_payloads"): Promise<readonly string[]> => {
    const column = table === "tasks" ? "id" : "task_id";
    const rows = await books.store.database.selectFrom(table).select(column).execute();
    return rows.map((row) => String(Object.values(row)[0])).filter((id) => id.startsWith(books.id("")));
  };
  const ofAnswers = (outcomes: readonly Outcome[]): readonly unknown[] =>
    outcomes.map((outcome) => ("answer" in outcome ? outcome.answer : outcome.failure));
  const told = (command: Command): Promise<unknown> => books.run(command);
  const no = (reason: string): object => ({ ok: false, reason });
  const LOST = no("lost");

  describe("that is submitted", () => {
    test("waits, with its credit set aside and what it was asked", async () => {
      const submitted = books.submit("x", 60n, { warnings: ["A sentence."], expectedCost: 9n, nowMs: 7 });
      expect(await told(submitted)).toEqual({ ok: true, amount: 60n });
      expect(await task("x")).toEqual({
        seq: expect.any(BigInt),
        id: books.id("x"),
        kind: "image",
        account_id: books.id("a"),
        key_id: books.id("k"),
        hold_id: books.id("x-hold"),
        request_id: books.id("req-x"),
        model: "m",
        state: "pending",
        epoch: 0n,
        owner: null,
        lease_until_ms: null,
        provider: null,
        job: null,
        attempts: 0n,
        refusals: 0n,
        terms: '{"pricedAtMs":1}',
        warnings: '["A sentence."]',
        timeout_sec: 600n,
        deadline_ms: BigInt(DEADLINE_MS),
        result: null,
        error_type: null,
        error_message: null,
        charge: null,
        files_until_ms: null,
        created_at_ms: 7n,
        ready_at_ms: 7n,
        awaited_by: null,
        started_at_ms: null,
        ended_at_ms: null,
      });
      expect(await books.row("task_payloads", "task_id", books.id("x"))).toEqual({
        task_id: books.id("x"),
        sealed: "sealed",
      });
      expect(await hold("x")).toMatchObject({
        state: "held",
        amount: 60n,
        expected_cost: 9n,
        task_id: books.id("x"),
      });
      expect(await books.account()).toEqual({ balance: 100n, held: 60n });
      expect(await books.key()).toEqual({ spent: 0n, held: 60n });
      await books.audit();
    });

    test("is not there when its credit is not", async () => {
      expect(await told(books.submit("x", 101n))).toEqual(no("insufficient_credits"));
      await books.run({ kind: "change_key", key: books.id("k"), budget: 10n });
      expect(await told(books.submit("x", 11n))).toEqual(no("budget_exceeded"));
      expect(await told(books.submit("x", 5n, { key: books.id("?") }))).toEqual(no("key_not_live"));
      expect(await told(books.submit("x", 5n, { account: books.id("?") }))).toEqual(no("key_not_live"));
      await books.run({ kind: "revoke_key", key: books.id("k"), nowMs: 1 });
      expect(await told(books.submit("x", 5n))).toEqual(no("key_not_live"));
      expect([await idsIn("tasks"), await idsIn("task_payloads")]).toEqual([[], []]);
      expect(await books.account()).toEqual({ balance: 100n, held: 0n });
      await books.audit();
    });

    test("is not there once its account is closed, also in the same batch", async () => {
      const outcomes = await books.apply(books.submit("x", 5n), books.close(), books.submit("y", 5n));
      expect(ofAnswers(outcomes).at(-1)).toEqual(no("key_not_live"));
      expect(await told(books.submit("z", 5n))).toEqual(no("key_not_live"));
      await books.audit();
    });

    test("is one too many when as many of the account wait as may, in one batch and in many", async () => {
      const submit = (name: string) => books.submit(name, 1n, { maxPending: 3 });
      const one = await books.apply(submit("x1"), submit("x2"), submit("x3"), submit("x4"));
      expect(ofAnswers(one).slice(2)).toEqual([{ ok: true, amount: 1n }, no("too_many_pending")]);
      expect(await told(submit("x5"))).toEqual(no("too_many_pending"));
      // Whoever has no credit either is told to wait, not to pay.
      expect(await told(books.submit("x5", 500n, { maxPending: 3 }))).toEqual(no("too_many_pending"));
      // What was claimed or ended does not wait any more; another account's never counted.
      await books.apply(books.createAccount("b"), books.issueKey("kb", { account: books.id("b") }));
      await books.run(books.grant("gb", 9n, { account: books.id("b") }));
      const theirs = { account: books.id("b"), key: books.id("kb") };
      expect(await told({ ...submit("y1"), ...theirs })).toMatchObject({ ok: true });
      const two = await books.apply(
        books.cancel("x1"),
        books.claim("x2"),
        submit("x5"),
        submit("x6"),
        submit("x7"),
      );
      expect(ofAnswers(two).slice(2)).toEqual([
        { ok: true, amount: 1n },
        { ok: true, amount: 1n },
        no("too_many_pending"),
      ]);
      expect(await idsIn("tasks")).toHaveLength(6);
      await books.audit();
    });

    test("has a hold that no request can end", async () => {
      await books.run(books.submit("x", 60n));
      for (const command of [
        books.settle("x-hold", 1n),
        books.voided("x-hold"),
        books.hold("x-hold", 60n, { requestId: books.id("req-x") }),
      ])
        expect(await books.apply(command)).toEqual([
          { failure: `The hold ${books.id("x-hold")} ends with its task.` },
        ]);
      expect(await hold("x")).toMatchObject({ state: "held" });
      await books.audit();
    });

    test("cannot take the hold of a request or of another task, nor be another's", async () => {
      await books.apply(books.hold("h", 10n), books.submit("x", 10n));
      const before = await books.account();
      await books.apply(books.createAccount("b"), books.issueKey("kb"));
      const mistakes: readonly Command[] = [
        books.submit("y", 10n, { hold: books.id("h") }),
        books.submit("y", 10n, { hold: books.id("x-hold") }),
        books.submit("x", 10n, { hold: books.id("other") }),
        books.submit("x", 10n, { account: books.id("b") }),
        books.submit("x", 10n, { key: books.id("kb") }),
        books.claim("x", { key: books.id("kb") }),
        books.fail("x", { account: books.id("b"), epoch: 0 }),
        books.cancel("x", { hold: books.id("h") }),
      ];
      for (const command of mistakes)
        expect(await books.apply(command)).toEqual([{ failure: expect.stringContaining("The ") }]);
      expect(await books.account()).toEqual(before);
      expect(await idsIn("tasks")).toEqual([books.id("x")]);
      await books.audit();
    });
  });

  describe("that is claimed", () => {
    beforeEach(async () => void (await books.run(books.submit("x", 60n))));
    const now = (): number => Date.now();
    /** The time of the store is the server's on PostgreSQL, and that of the command on SQLite. */
    const storeTime = (nowMs: number): number => (engine.name === "postgres" ? now() : nowMs);

    test("runs, for its owner, as long as the lease lasts by the store's clock", async () => {
      const before = storeTime(50);
      expect(await told(books.claim("x", { nowMs: 50, leaseMs: 9_000 }))).toEqual({
        ok: true,
        epoch: 1,
      });
      const row = await task("x");
      expect(row).toMatchObject({
        state: "running",
        epoch: 1n,
        owner: "b1",
        provider: books.id("provider"),
        started_at_ms: 50n,
        attempts: 0n,
        ended_at_ms: null,
      });
      const lease = Number(row.lease_until_ms);
      // The server's clock and this machine's are the same one, read in other units.
      expect(lease).toBeGreaterThanOrEqual(before + 9_000 - 5);
      expect(lease).toBeLessThanOrEqual(storeTime(50) + 9_000 + 5);
      expect(await idsIn("task_payloads")).toHaveLength(1);
      await books.audit();
    });

    test("is taken for others, until its lease has run out; and then it is theirs", async () => {
      await books.run(books.claim("x", { nowMs: 4, leaseMs: 600_000 }));
      const again = (more: Partial<ClaimTask>): ClaimTask =>
        books.claim("x", { seenEpoch: 1, boot: "b2", nowMs: 3, ...more });
      expect(await told(again({}))).toEqual(no("taken"));
      // It is the epoch that was seen, or none.
      for (const seenEpoch of [0, 2, 7]) expect(await told(again({ seenEpoch }))).toEqual(no("taken"));
      await books.run(books.noteJob("x", "job-1"));
      await books.run(books.attempt("x", 1));
      await books.execute(`update tasks set lease_until_ms = 2 where id = '${books.id("x")}'`);
      for (const seenEpoch of [0, 2]) expect(await told(again({ seenEpoch }))).toEqual(no("taken"));
      expect(await told(again({ provider: books.id("p2") }))).toEqual(no("taken"));
      expect(await told(again({}))).toEqual({ ok: true, epoch: 2 });
      expect(await task("x")).toMatchObject({
        state: "running",
        epoch: 2n,
        owner: "b2",
        provider: books.id("provider"),
        // What the first owner did stands.
        job: "job-1",
        attempts: 1n,
      });
      expect((await task("x")).started_at_ms).not.toBe(3n);
      await books.audit();
    });

    if (engine.name === "sqlite")
      test("is theirs at the very moment that its lease ends", async () => {
        await books.run(books.claim("x", { nowMs: 50, leaseMs: 9_000 }));
        const again = (nowMs: number): ClaimTask => books.claim("x", { seenEpoch: 1, boot: "b2", nowMs });
        expect(await told(again(9_049))).toEqual(no("taken"));
        expect(await told(again(9_050))).toEqual({ ok: true, epoch: 2 });
        await books.audit();
      });

    test("is another's at once when nobody else shares the store, but not its own", async () => {
      await books.run(books.claim("x", { nowMs: 5, leaseMs: 600_000 }));
      const again = { seenEpoch: 1, alone: true, nowMs: 5 } as const;
      expect(await told(books.claim("x", again))).toEqual(no("taken"));
      expect(await told(books.claim("x", { ...again, boot: "b2" }))).toEqual({ ok: true, epoch: 2 });
      await books.audit();
    });

    test("is anybody's at once when it was given up", async () => {
      await books.run(books.claim("x", { nowMs: 5, leaseMs: 600_000 }));
      expect(await told(books.release("x"))).toEqual({ ok: true });
      expect(await task("x")).toMatchObject({ state: "running", owner: "b1", lease_until_ms: 0n });
      expect(await told(books.renew("x", 600_000))).toEqual(LOST);
      expect(await told(books.claim("x", { seenEpoch: 1, boot: "b2" }))).toEqual({ ok: true, epoch: 2 });
      expect(await told(books.release("x"))).toEqual(LOST);
      await books.audit();
    });

    test("is not begun once its account is closed, but cancelled; one that runs goes on and is charged", async () => {
      await books.run(books.submit("y", 5n));
      await books.run(books.claim("y", { leaseMs: 600_000 }));
      await books.run(books.close());
      expect(await told(books.claim("x"))).toEqual(no("closed"));
      expect(await told(books.cancel("x"))).toEqual({ ok: true });
      expect(await told(books.release("y"))).toEqual({ ok: true });
      expect(await told(books.claim("y", { seenEpoch: 1, boot: "b2" }))).toEqual({ ok: true, epoch: 2 });
      expect(await told(books.finish("y", 4n, { epoch: 2 }))).toEqual({ ok: true, charged: 4n });
      expect(await books.account()).toEqual({ balance: 96n, held: 0n });
      await books.audit();
    });

    test("comes too late at its deadline, and not before", async () => {
      for (const nowMs of [DEADLINE_MS, DEADLINE_MS + 1])
        expect(await told(books.claim("x", { nowMs }))).toEqual(no("deadline"));
      expect(await task("x")).toMatchObject({ state: "pending", epoch: 0n });
      expect(await told(books.claim("x", { nowMs: DEADLINE_MS - 1 }))).toEqual({ ok: true, epoch: 1 });
    });

    test("has ended for good once it has, and one that never was has too", async () => {
      expect(await told(books.claim("nobody"))).toEqual(no("ended"));
      await books.run(books.cancel("x"));
      expect(await told(books.claim("x"))).toEqual(no("ended"));
      await books.run(books.submit("y", 5n));
      await books.apply(books.claim("y"));
      await books.apply(books.finish("y", 1n));
      expect(await told(books.claim("y", { seenEpoch: 1 }))).toEqual(no("ended"));
      await books.audit();
    });

    test("waits when its provider has as many as it may, whoever they belong to", async () => {
      await books.apply(books.createAccount("b"), books.issueKey("kb", { account: books.id("b") }));
      await books.run(books.grant("gb", 9n, { account: books.id("b") }));
      const theirs = { account: books.id("b"), key: books.id("kb") };
      await books.apply(books.submit("y", 1n, theirs), books.submit("z", 1n, theirs), books.submit("w", 1n));
      const two = { providerLimit: 2 };
      const one = await books.apply(
        books.claim("x", two),
        books.claim("y", { ...theirs, ...two }),
        books.claim("z", { ...theirs, ...two }),
      );
      expect(ofAnswers(one)).toEqual([{ ok: true, epoch: 1 }, { ok: true, epoch: 1 }, no("full")]);
      expect(await told(books.claim("w", two))).toEqual(no("full"));
      // Another provider's are counted by themselves.
      expect(await told(books.claim("w", { ...two, provider: books.id("p2") }))).toEqual({
        ok: true,
        epoch: 1,
      });
      // One that is taken over counts once, and not against itself.
      await books.run(books.release("x"));
      expect(await told(books.claim("x", { seenEpoch: 1, boot: "b2", ...two }))).toEqual({
        ok: true,
        epoch: 2,
      });
      await books.run(books.release("x", { epoch: 2 }));
      const over = await books.apply(
        books.claim("x", { seenEpoch: 2, providerLimit: 1 }),
        books.fail("y", theirs),
        books.claim("z", { ...theirs, ...two }),
        books.claim("x", { seenEpoch: 2, boot: "b3", ...two }),
      );
      expect(ofAnswers(over)).toEqual([
        no("full"),
        { ok: true },
        { ok: true, epoch: 1 },
        { ok: true, epoch: 3 },
      ]);
      await books.audit();
    });
  });

  describe("that runs", () => {
    beforeEach(async () => void (await books.apply(books.submit("x", 60n, { expectedCost: 20n }))));
    beforeEach(async () => void (await books.apply(books.claim("x"))));

    test("writes down its attempts and its job before they happen", async () => {
      expect(await told(books.attempt("x", 1))).toEqual({ ok: true });
      expect(await told(books.noteJob("x", "job-1"))).toEqual({ ok: true });
      expect(await task("x")).toMatchObject({ attempts: 1n, job: "job-1" });
      expect(await told(books.attempt("x", 2))).toEqual({ ok: true });
      expect(await told(books.noteJob("x", "job-2"))).toEqual({ ok: true });
      expect(await task("x")).toMatchObject({ attempts: 2n, job: "job-2", state: "running", epoch: 1n });
      expect(await told(books.noteRefusal("x", 1))).toEqual({ ok: true });
      expect(await task("x")).toMatchObject({ attempts: 2n, refusals: 1n });
      expect(await books.apply(books.noteRefusal("x", 3))).toEqual([
        { failure: `The task ${books.id("x")} had 2 attempts, not 3 refused.` },
      ]);
      expect(await books.apply(books.attempt("x", 4))).toEqual([
        { failure: `The task ${books.id("x")} had 2 attempts, not 3.` },
      ]);
      await books.audit();
    });

    test("goes to another provider by the attempt that is sent there, as long as none may have begun it", async () => {
      const to = (provider: string, providerLimit = 1) => ({
        to: { provider: books.id(provider), providerLimit },
      });
      const stays = {
        failure: `The task ${books.id("x")} may have been begun at ${books.id("p2")}: it cannot go to another.`,
      };
      expect(await told(books.attempt("x", 1))).toEqual({ ok: true });
      await books.run(books.noteRefusal("x", 1));
      expect(await told(books.attempt("x", 2, to("p2")))).toEqual({ ok: true });
      expect(await task("x")).toMatchObject({ attempts: 2n, provider: books.id("p2"), epoch: 1n });
      // Now it is in doubt; then the provider has a name for it.
      expect(await books.apply(books.attempt("x", 3, to("p3")))).toEqual([stays]);
      await books.apply(books.noteRefusal("x", 2), books.noteJob("x", "job-1"));
      expect(await books.apply(books.attempt("x", 3, to("p3")))).toEqual([stays]);
      expect(await task("x")).toMatchObject({ attempts: 2n, provider: books.id("p2") });
      await books.audit();
    });

    test("that was left behind is taken over where it is, wherever it was seen", async () => {
      const at = { provider: books.id("p2"), providerLimit: 9 };
      await books.run(books.release("x"));
      // The process that was frozen goes on before another looks again.
      await books.run(books.attempt("x", 1, { to: at }));
      expect(await told(books.claim("x", { seenEpoch: 1, boot: "b2" }))).toEqual(no("taken"));
      expect(await told(books.claim("x", { seenEpoch: 1, boot: "b2", ...at }))).toEqual({
        ok: true,
        epoch: 2,
      });
      expect(await task("x")).toMatchObject({ attempts: 1n, provider: books.id("p2") });
      await books.audit();
    });

    test("goes to no provider that has as many as it may, and leaves room where it was", async () => {
      const at = (provider: string, providerLimit = 1) => ({ provider: books.id(provider), providerLimit });
      await books.apply(books.submit("y", 1n), books.submit("z", 1n));
      await books.run(books.claim("y", at("p2")));
      expect(await told(books.attempt("x", 1, { to: at("p2") }))).toEqual(no("full"));
      expect(await task("x")).toMatchObject({ attempts: 0n, provider: books.id("provider") });
      // In one batch as in several: the place of one that goes is the next one's.
      const answers = await books.apply(
        books.claim("z", at("provider")),
        books.attempt("y", 1, { to: at("p3") }),
        books.attempt("x", 1, { to: at("p2") }),
        books.claim("z", at("provider")),
      );
      expect(ofAnswers(answers)).toEqual([no("full"), { ok: true }, { ok: true }, { ok: true, epoch: 1 }]);
      expect(await told(books.attempt("z", 1, { to: at("p2") }))).toEqual(no("full"));
      // Where it is already it takes no second place.
      await books.run(books.noteRefusal("x", 1));
      expect(await told(books.attempt("x", 2, { to: at("p2") }))).toEqual({ ok: true });
      await books.audit();
    });

    test("lengthens its lease, and never shortens it", async () => {
      await books.run(books.renew("x", 600_000, { nowMs: 1_000 }));
      const lease = Number((await task("x")).lease_until_ms);
      expect(await told(books.renew("x", 1, { nowMs: 1_000 }))).toEqual({ ok: true });
      expect(Number((await task("x")).lease_until_ms)).toBe(lease);
      if (engine.name === "sqlite") {
        expect(lease).toBe(601_000);
        for (const [leaseMs, untilMs] of [
          [599_999, 601_000],
          [600_000, 601_000],
          [600_001, 601_001],
        ] as const) {
          expect(await told(books.renew("x", leaseMs, { nowMs: 1_000 }))).toEqual({ ok: true });
          expect(Number((await task("x")).lease_until_ms)).toBe(untilMs);
        }
      } else expect(Math.abs(lease - Date.now() - 600_000)).toBeLessThan(60_000);
    });

    test("completes with its result, its charge and the row of its request", async () => {
      const timeline = {
        provider: "maker",
        admittedAtMs: 3,
        heldAtMs: 4,
        firstByteAtMs: 5,
        endedAtMs: 6,
        attempts: [{ provider: "maker", upstream_id: "up", sent_at_ms: 5, status: 200 }],
      };
      const finish = books.finish("x", 50n, {
        usage: '{"images":2}',
        flags: ["estimated"],
        cost: 31n,
        timeline,
        nowMs: 70,
        filesUntilMs: 99,
      });
      expect(await told(finish)).toEqual({ ok: true, charged: 50n });
      expect(await task("x")).toMatchObject({
        state: "completed",
        epoch: 1n,
        owner: null,
        lease_until_ms: null,
        provider: books.id("provider"),
        result: RESULT,
        charge: 50n,
        files_until_ms: 99n,
        ended_at_ms: 70n,
        error_type: null,
      });
      expect(await hold("x")).toMatchObject({ state: "settled", settled: 50n, end_reason: "completed" });
      expect(await request("x")).toMatchObject({
        hold_id: books.id("x-hold"),
        model: "m",
        provider: "maker",
        outcome: "completed",
        charge: 50n,
        usage: '{"images":2}',
        flags: '["estimated"]',
        cost: 31n,
        attempts: JSON.stringify(timeline.attempts),
        admitted_at_ms: 3n,
        held_at_ms: 4n,
        first_byte_at_ms: 5n,
        ended_at_ms: 6n,
        settled_at_ms: 70n,
      });
      expect(await books.entries("x-hold")).toMatchObject([
        { amount: -50n, kind: "settle", balance_after: 50n },
      ]);
      expect(await idsIn("task_payloads")).toEqual([]);
      expect(await books.account()).toEqual({ balance: 50n, held: 0n });
      expect(await books.key()).toEqual({ spent: 50n, held: 0n });
      await books.audit();
    });

    test("is charged above its hold from what is free, and the rest is the operator's loss", async () => {
      expect(await told(books.finish("x", 130n))).toEqual({ ok: true, charged: 100n });
      expect(await request("x")).toMatchObject({ charge: 100n, flags: '["above_hold"]' });
      expect(await books.entries("x-hold")).toMatchObject([
        { amount: -100n, kind: "settle" },
        { amount: -30n, kind: "loss", account_id: "operator" },
      ]);
      expect(await task("x")).toMatchObject({ charge: 100n });
      await books.audit();
    });

    test("does not complete at its deadline or after, and can only fail then", async () => {
      for (const nowMs of [DEADLINE_MS, DEADLINE_MS + 5])
        expect(await told(books.finish("x", 5n, { nowMs }))).toEqual(no("deadline"));
      expect(await task("x")).toMatchObject({ state: "running" });
      expect(
        await books.run(books.fail("x", { type: "timeout_error", unfinished: true, nowMs: DEADLINE_MS })),
      ).toEqual({ ok: true });
      expect(await task("x")).toMatchObject({ state: "failed", error_type: "timeout_error" });
      await books.audit();
    });

    test("fails without a charge, and its request says why", async () => {
      expect(
        await books.run(books.fail("x", { type: "content_moderation", message: "No.", nowMs: 8 })),
      ).toEqual({
        ok: true,
      });
      expect(await task("x")).toMatchObject({
        state: "failed",
        owner: null,
        lease_until_ms: null,
        result: null,
        charge: null,
        files_until_ms: null,
        error_type: "content_moderation",
        error_message: "No.",
        ended_at_ms: 8n,
      });
      expect(await hold("x")).toMatchObject({ state: "voided", end_reason: "content_moderation" });
      expect(await request("x")).toMatchObject({ outcome: "content_moderation", charge: 0n, provider: null });
      expect(await books.entries("x-hold")).toEqual([]);
      expect(await idsIn("task_payloads")).toEqual([]);
      expect(await books.account()).toEqual({ balance: 100n, held: 0n });
      await books.audit();
    });

    test("fails with its expected cost as the operator's loss where a provider may have worked for nothing", async () => {
      expect(await told(books.fail("x", { type: "timeout_error", unfinished: true }))).toEqual({
        ok: true,
      });
      expect(await task("x")).toMatchObject({ state: "failed", error_type: "timeout_error" });
      expect(await request("x")).toMatchObject({ outcome: "unfinished_upstream", charge: 0n });
      expect(await books.entries("x-hold")).toMatchObject([
        { amount: -20n, kind: "loss", counter: "operator_loss", account_id: "operator" },
      ]);
      expect(await books.account()).toEqual({ balance: 100n, held: 0n });
      await books.audit();
      const { checks } = await books.store.auditor({ full: true, nowMs: 3 });
      expect(checks.filter(({ id, ok }) => !ok && id !== "I2")).toEqual([]);
    });

    for (const [parts, of, lost] of [
      [1, 3, 7n],
      [2, 3, 14n],
      [3, 3, 20n],
      [1, 40, 1n],
    ] as const)
      test(`of which ${parts} of ${of} parts are in doubt fails with the cost of these as the loss`, async () => {
        const share = { parts, of };
        const failing = books.fail("x", { unfinished: true, share });
        for (let times = 0; times < 2; times += 1) expect(await told(failing)).toEqual({ ok: true });
        expect(await books.entries("x-hold")).toMatchObject([{ amount: -lost, kind: "loss" }]);
        expect(await hold("x")).toMatchObject({ state: "voided", expected_cost: lost, settled: null });
        expect(await books.account()).toEqual({ balance: 100n, held: 0n });
        await books.audit();
        const { checks } = await books.store.auditor({ full: true, nowMs: 3 });
        expect(checks.filter(({ id, ok }) => !ok && id !== "I2")).toEqual([]);
      });

    test("loses nothing of a share where no provider has worked", async () => {
      await books.run(books.fail("x", { share: { parts: 1, of: 3 } }));
      expect(await books.entries("x-hold")).toEqual([]);
      expect(await hold("x")).toMatchObject({ state: "voided", expected_cost: 20n });
      await books.audit();
    });

    for (const [parts, of] of [
      [0, 3],
      [4, 3],
      [1.5, 3],
      [-1, 0],
    ] as const)
      test(`refuses to lose ${parts} of ${of} parts`, async () => {
        const failing = books.fail("x", { unfinished: true, share: { parts, of } });
        expect(await books.run(failing).catch((error: unknown) => String(error))).toContain(
          "parts cannot lose",
        );
        expect(await hold("x")).toMatchObject({ state: "held", expected_cost: 20n });
      });

    test("is no more its first owner's once another has claimed it", async () => {
      await books.run(books.release("x"));
      await books.run(books.claim("x", { seenEpoch: 1, boot: "b2" }));
      const before = await task("x");
      const late: readonly Command[] = [
        books.attempt("x", 1),
        books.noteJob("x", "late"),
        books.renew("x", 900_000_000),
        books.release("x"),
        books.finish("x", 5n),
        books.fail("x"),
      ];
      for (const command of late) expect(await told(command)).toEqual(LOST);
      expect(ofAnswers(await books.apply(...late))).toEqual(late.map(() => LOST));
      expect(await task("x")).toEqual(before);
      expect(await books.account()).toEqual({ balance: 100n, held: 60n });
      expect(await told(books.finish("x", 5n, { epoch: 2 }))).toEqual({ ok: true, charged: 5n });
      for (const command of late) expect(await told(command)).toEqual(LOST);
      await books.audit();
    });

    test("ends once: of a result and a failure the first counts", async () => {
      expect(ofAnswers(await books.apply(books.finish("x", 5n), books.fail("x"), books.fail("x")))).toEqual([
        { ok: true, charged: 5n },
        LOST,
        LOST,
      ]);
      await books.run(books.submit("y", 5n));
      await books.run(books.claim("y"));
      expect(ofAnswers(await books.apply(books.fail("y"), books.finish("y", 5n)))).toEqual([
        { ok: true },
        LOST,
      ]);
      for (const name of ["x", "y"])
        for (const command of [
          books.attempt(name, 1),
          books.noteJob(name, "j"),
          books.renew(name, 1),
          books.release(name),
        ])
          expect(await told(command)).toEqual(LOST);
      await books.audit();
    });

    test("that is not there is lost", async () => {
      const name = "nobody";
      for (const command of [
        books.attempt(name, 1),
        books.noteJob(name, "j"),
        books.renew(name, 1),
        books.release(name),
        books.finish(name, 1n),
        books.fail(name),
      ])
        expect(await told(command)).toEqual(LOST);
      expect(await told(books.forgetFiles(name))).toEqual({ ok: true });
    });
  });

  describe("that waits", () => {
    beforeEach(async () => void (await books.apply(books.submit("x", 60n, { expectedCost: 20n }))));

    test("is cancelled, its credit given back, and stays so", async () => {
      expect(await told(books.cancel("x", { nowMs: 9 }))).toEqual({ ok: true });
      expect(await task("x")).toMatchObject({
        state: "cancelled",
        ended_at_ms: 9n,
        error_type: null,
        epoch: 0n,
      });
      expect(await hold("x")).toMatchObject({ state: "voided", end_reason: "cancelled" });
      expect(await request("x")).toMatchObject({ outcome: "cancelled", charge: 0n });
      expect(await idsIn("task_payloads")).toEqual([]);
      expect(await books.account()).toEqual({ balance: 100n, held: 0n });
      const after = await task("x");
      expect(await told(books.cancel("x", { nowMs: 10 }))).toEqual({ ok: true });
      expect(await task("x")).toEqual(after);
      await books.audit();
    });

    test("is not cancelled by another account, nor one that is not there", async () => {
      await books.run(books.createAccount("b"));
      expect(await told(books.cancel("x", { account: books.id("b") }))).toEqual(no("unknown_task"));
      expect(await told(books.cancel("nobody"))).toEqual(no("unknown_task"));
      expect(await task("x")).toMatchObject({ state: "pending" });
    });

    test("is not cancelled once it runs, nor once it has ended otherwise", async () => {
      await books.run(books.claim("x"));
      expect(await told(books.cancel("x"))).toEqual(no("started"));
      const running = await task("x");
      expect(await told(books.cancel("x"))).toEqual(no("started"));
      expect(await task("x")).toEqual(running);
      await books.run(books.finish("x", 4n));
      const completed = await task("x");
      expect(await told(books.cancel("x"))).toEqual(no("ended"));
      expect(await task("x")).toEqual(completed);
      await books.run(books.submit("y", 5n));
      await books.run(books.fail("y", { epoch: 0 }));
      expect(await told(books.cancel("y"))).toEqual(no("ended"));
      expect(await books.account()).toEqual({ balance: 96n, held: 0n });
      await books.audit();
    });

    test("fails when nobody took it in time, unless somebody did", async () => {
      const late = books.fail("x", { epoch: 0, type: "timeout_error", nowMs: DEADLINE_MS });
      await books.run(books.submit("y", 5n));
      await books.run(books.claim("y"));
      expect(await told(late)).toEqual({ ok: true });
      expect(await told({ ...late, task: books.id("y"), hold: books.id("y-hold") })).toEqual(LOST);
      expect(await task("x")).toMatchObject({ state: "failed", epoch: 0n, started_at_ms: null });
      expect(await task("y")).toMatchObject({ state: "running" });
      expect(await books.account()).toEqual({ balance: 100n, held: 5n });
      await books.audit();
    });

    test("cannot be run by one who has not claimed it", async () => {
      for (const epoch of [0, 1])
        for (const command of [
          books.attempt("x", 1, { epoch }),
          books.noteRefusal("x", 1, { epoch }),
          books.noteJob("x", "j", { epoch }),
          books.renew("x", 1, { epoch }),
          books.release("x", { epoch }),
          books.finish("x", 1n, { epoch }),
        ])
          expect(await told(command)).toEqual(LOST);
      expect(await task("x")).toMatchObject({ state: "pending", attempts: 0n, job: null });
    });
  });

  describe("in one batch with others", () => {
    test("goes all its way, and its row says so", async () => {
      const outcomes = await books.apply(
        books.submit("x", 30n),
        books.claim("x"),
        books.attempt("x", 1),
        books.noteJob("x", "j"),
        books.renew("x", 1_000_000),
        books.finish("x", 20n),
        books.cancel("x"),
        books.submit("y", 30n),
        books.cancel("y"),
        books.claim("y"),
        books.submit("z", 30n),
        books.claim("z"),
        books.fail("z", { unfinished: true }),
        books.submit("w", 30n),
        books.claim("w"),
        books.submit("v", 51n),
        books.forgetFiles("x"),
      );
      expect(ofAnswers(outcomes)).toEqual([
        { ok: true, amount: 30n },
        { ok: true, epoch: 1 },
        { ok: true },
        { ok: true },
        { ok: true },
        { ok: true, charged: 20n },
        no("ended"),
        { ok: true, amount: 30n },
        { ok: true },
        no("ended"),
        { ok: true, amount: 30n },
        { ok: true, epoch: 1 },
        { ok: true },
        { ok: true, amount: 30n },
        { ok: true, epoch: 1 },
        no("insufficient_credits"),
        { ok: true },
      ]);
      expect(await task("x")).toMatchObject({
        state: "completed",
        epoch: 1n,
        attempts: 1n,
        job: "j",
        result: RESULT,
        charge: 20n,
        files_until_ms: null,
      });
      expect(await task("y")).toMatchObject({ state: "cancelled", epoch: 0n });
      expect(await task("z")).toMatchObject({ state: "failed", epoch: 1n });
      expect(await task("w")).toMatchObject({ state: "running", owner: "b1" });
      expect(await idsIn("task_payloads")).toEqual([books.id("w")]);
      expect(await books.account()).toEqual({ balance: 80n, held: 30n });
      await books.audit();
    });

    test("that stood before goes all the rest of its way", async () => {
      await books.apply(books.submit("x", 30n), books.submit("y", 30n));
      const outcomes = await books.apply(
        books.grant("g2", 5n),
        books.claim("x"),
        books.finish("x", 20n),
        books.claim("y"),
        books.fail("y"),
        books.hold("h", 40n),
        books.settle("h", 40n),
      );
      expect(ofAnswers(outcomes)).toEqual([
        { ok: true, balance: 105n },
        { ok: true, epoch: 1 },
        { ok: true, charged: 20n },
        { ok: true, epoch: 1 },
        { ok: true },
        { ok: true, amount: 40n },
        { ok: true, charged: 40n },
      ]);
      expect(await task("x")).toMatchObject({ state: "completed", epoch: 1n });
      expect(await task("y")).toMatchObject({ state: "failed", epoch: 1n });
      expect(await books.account()).toEqual({ balance: 45n, held: 0n });
      await books.audit();
    });

    test("whose neighbour is a mistake does not notice", async () => {
      await books.apply(books.submit("x", 30n), books.submit("y", 30n));
      const outcomes = await books.apply(
        books.claim("x"),
        books.claim("y", { hold: books.id("x-hold") }),
        books.settle("y-hold", 3n),
        books.cancel("y"),
      );
      expect(outcomes.map((outcome) => "answer" in outcome && outcome.answer.ok)).toEqual([
        true,
        false,
        false,
        true,
      ]);
      expect(await books.account()).toEqual({ balance: 100n, held: 30n });
      await books.audit();
    });
  });

  describe("that has ended", () => {
    test("forgets its files, and nothing else", async () => {
      await books.apply(books.submit("x", 30n), books.submit("y", 30n));
      await books.run(books.claim("x"));
      await books.run(books.finish("x", 20n));
      const before = await task("x");
      expect(await told(books.forgetFiles("x"))).toEqual({ ok: true });
      expect(await task("x")).toEqual({ ...before, files_until_ms: null });
      expect(await told(books.forgetFiles("x"))).toEqual({ ok: true });
      expect(await told(books.forgetFiles("y"))).toEqual({ ok: true });
      expect(await task("y")).toMatchObject({ state: "pending" });
      await books.audit();
    });

    test("is deleted when it is long ago, unless its files are kept; its money stays", async () => {
      const names = ["kept", "forgotten", "failed", "cancelled", "recent", "pending", "running"];
      await books.apply(...names.map((name) => books.submit(name, 10n)));
      await books.apply(...["kept", "forgotten", "failed", "running"].map((name) => books.claim(name)));
      await books.apply(
        books.finish("kept", 1n, { nowMs: 10 }),
        books.finish("forgotten", 1n, { nowMs: 10 }),
        books.fail("failed", { nowMs: 10 }),
        books.cancel("cancelled", { nowMs: 10 }),
        books.cancel("recent", { nowMs: 11 }),
        books.forgetFiles("forgotten"),
      );
      expect(await told({ kind: "forget_tasks", beforeMs: 11 })).toEqual({ ok: true });
      const left = ["kept", "recent", "pending", "running"].map(books.id);
      expect((await idsIn("tasks")).toSorted()).toEqual(left.toSorted());
      expect(await told({ kind: "forget_tasks", beforeMs: 11 })).toEqual({ ok: true });
      expect(await hold("forgotten")).toMatchObject({ state: "settled", task_id: books.id("forgotten") });
      expect(await request("failed")).toMatchObject({ outcome: "generation_error" });
      // To whoever comes back to it, it has ended.
      expect(await told(books.claim("failed", { seenEpoch: 1 }))).toEqual(no("ended"));
      expect(await told(books.cancel("cancelled"))).toEqual(no("unknown_task"));
      await books.audit();
    });

    test("is deleted with many others, so many at a time", async () => {
      // Those of other tests are the older ones.
      await books.run({ kind: "forget_tasks", beforeMs: DEADLINE_MS + 1 });
      await books.execute(
        `with recursive numbers (i) as (select 1 union all select i + 1 from numbers where i < 1003)
         insert into tasks (id, kind, account_id, key_id, hold_id, request_id, model, state, terms, warnings,
             timeout_sec, deadline_ms, created_at_ms, ended_at_ms)
           select '${books.id("many-")}' || i, 'image', '${books.id("a")}', 'k', '${books.id("h-")}' || i, 'r', 'm',
             'cancelled', '{}', '[]', 1, 1, 1, i from numbers`,
      );
      await books.run({ kind: "forget_tasks", beforeMs: 2_000 });
      expect((await idsIn("tasks")).toSorted()).toEqual([1001, 1002, 1003].map((i) => books.id(`many-${i}`)));
      await books.run({ kind: "forget_tasks", beforeMs: 2_000 });
      expect(await idsIn("tasks")).toEqual([]);
    });
  });
});
