import { beforeEach, describe, expect, test } from "bun:test";
import { describeOnEngines } from "../../test/gateway/engines.ts";
import { useBooks } from "../../test/ledger/books.ts";
import { DEADLINE_MS, RESULT } from "../../test/ledger/task-commands.ts";

describeOnEngines("a task", (engine) => {
  const books = useBooks(engine);
  beforeEach(async () => void (await books.apply(books.grant("g", 100n))));
  const task = (name: string) => books.row("tasks", "id", books.id(name));
  const payloads = async (): Promise<readonly string[]> =>
    (
      await books.store.database
        .selectFrom("task_payloads")
        .select("task_id")
        .where("task_id", "like", `${books.id("")}%`)
        .execute()
    ).map((row) => row.task_id);

  describe("that is submitted", () => {
    test("waits, with its credit set aside and what it was asked", async () => {
      const submitted = books.submit("x", 60n, { warnings: ["A sentence."], nowMs: 7 });
      expect(await books.run(submitted)).toEqual({ ok: true, amount: 60n });
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
        started_at_ms: null,
        ended_at_ms: null,
      });
      expect(await books.row("task_payloads", "task_id", books.id("x"))).toEqual({
        task_id: books.id("x"),
        sealed: "sealed",
      });
      expect(await books.row("holds", "id", books.id("x-hold"))).toMatchObject({
        state: "held",
        amount: 60n,
        task_id: books.id("x"),
      });
      expect(await books.account()).toEqual({ balance: 100n, held: 60n });
      await books.audit();
    });

    test("is not there when its credit is not", async () => {
      expect(await books.run(books.submit("x", 101n))).toEqual({
        ok: false,
        reason: "insufficient_credits",
      });
      await books.run({ kind: "change_key", key: books.id("k"), budget: 10n });
      expect(await books.run(books.submit("x", 11n))).toEqual({ ok: false, reason: "budget_exceeded" });
      expect(await books.run(books.submit("x", 5n, { key: books.id("unknown") }))).toEqual({
        ok: false,
        reason: "key_not_live",
      });
      await books.run({ kind: "revoke_key", key: books.id("k"), nowMs: 1 });
      expect(await books.run(books.submit("x", 5n))).toEqual({ ok: false, reason: "key_not_live" });
      const { rows } = {
        rows: await books.store.database
          .selectFrom("tasks")
          .select("id")
          .where("account_id", "=", books.id("a"))
          .execute(),
      };
      expect([rows, await payloads()]).toEqual([[], []]);
      expect(await books.account()).toEqual({ balance: 100n, held: 0n });
      await books.audit();
    });

    test("goes its way", async () => {
      await books.run(books.submit("x", 60n));
      expect(await books.run(books.claim("x"))).toEqual({ ok: true, epoch: 1 });
      expect(await books.run(books.attempt("x", 1))).toEqual({ ok: true });
      expect(await books.run(books.noteJob("x", "j"))).toEqual({ ok: true });
      expect(await books.run(books.renew("x", 60_000))).toEqual({ ok: true });
      expect(await books.run(books.finish("x", 50n))).toEqual({ ok: true, charged: 50n });
      expect(await task("x")).toMatchObject({ state: "completed", result: RESULT, charge: 50n });
      await books.audit();
    });
  });
});
