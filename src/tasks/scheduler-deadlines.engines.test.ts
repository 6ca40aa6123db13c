import { describe, expect, test } from "bun:test";
import { describeAtStations } from "../../test/tasks/on-stations.ts";
import { completed, CREDIT, type TestProcess, until } from "../../test/tasks/station.ts";
import type { TaskOutcome, TaskStop } from "./run/job.ts";

const NEVER = new AbortController().signal;

describeAtStations("a deadline", ({ isEnded, on, runOf, started, station }) => {
  const losses = async (): Promise<number> => {
    const rows = await station()
      .store.database.selectFrom("ledger")
      .select("amount")
      .where("kind", "=", "loss")
      .execute();
    return rows.length;
  };
  const failsOf = (process: TestProcess): number => process.sent.filter(({ kind }) => kind === "fail").length;

  describe("of a task that waits", () => {
    test("counts from its submit, and ends it without a charge", async () => {
      const process = await started({ settings: { runningPerProcess: 1 } });
      await runOf(process, await process.submit());
      const task = await process.submit({ timeoutSec: 60 });
      await station().pass(59_000);
      expect(await isEnded(task)).toBe(false);
      await station().passing(() => isEnded(task), 4_000);
      expect(await process.tasks.ended(task, NEVER)).toMatchObject({
        state: "failed",
        failure: { type: "timeout_error" },
        startedAtMs: null,
      });
      expect(await station().account()).toEqual({ balance: CREDIT, held: 10n });
      expect(await losses()).toBe(0);
    });

    test("that came while no process lived ends it at the next start", async () => {
      const first = station().process();
      const task = await first.submit({ timeoutSec: 60 });
      first.kill();
      await station().pass(61_000);
      const second = await started();
      await station().passing(() => isEnded(task), 500);
      expect(await station().row(task.id)).toMatchObject({ state: "failed", error_type: "timeout_error" });
      expect(second.runs.size).toBe(0);
    });

    test("ends hundreds, each of them once, whoever looks at the same time", async () => {
      const first = station().process();
      const tasks = [];
      for (let i = 0; i < 250; i += 1) tasks.push(first.submit({ timeoutSec: 60 }));
      await Promise.all(tasks);
      await station().pass(60_000);
      const [one, other] = [station().process(), station().process()];
      await Promise.all([one.scheduler.start(), other.scheduler.start()]);
      await station().passing(async () => (await station().counts()).failed === 250, 1_000);
      expect(await station().counts()).toEqual({ failed: 250 });
      expect(await station().account()).toEqual({ balance: CREDIT, held: 0n });
      expect(failsOf(one) + failsOf(other)).toBeGreaterThanOrEqual(250);
    });

    test("that is found in the midst of a restart leaves each either untouched or ended", async () => {
      const first = station().process();
      for (let i = 0; i < 150; i += 1) await first.submit({ timeoutSec: 60 });
      await station().pass(60_000);
      let passes = 0;
      const dying = station().process({
        failpoint(name) {
          if (name !== "task.sweeping") return;
          passes += 1;
          if (passes === 2) throw new Error("killed");
        },
      });
      await dying.scheduler.start();
      await station().passing(() => passes === 2, 1_500);
      expect(await station().counts()).toEqual({ failed: 100, pending: 50 });
      dying.kill();
      await started();
      await station().passing(async () => (await station().counts()).failed === 150, 1_500);
    });
  });

  for (const jumpMs of [86_400_000, -86_400_000]) {
    const way = jumpMs > 0 ? "forward" : "back";

    test(`comes when it would have, though the machine's time is set ${way}: for a task that waits and one that runs`, async () => {
      const process = await started({ settings: { runningPerProcess: 1 } });
      const running = await process.submit({ timeoutSec: 60 });
      const { run } = await runOf(process, running);
      const waiting = await process.submit({ timeoutSec: 60 });
      await station().pass(30_000);
      station().clock.jump(jumpMs);
      await station().pass(29_000);
      expect(run.signal.aborted).toBe(false);
      expect([await isEnded(running), await isEnded(waiting)]).toEqual([false, false]);
      await station().pass(1_000);
      expect((run.signal.reason as TaskStop).reason).toBe("deadline");
      await station().passing(() => isEnded(waiting), 4_000);
      expect(await station().row(waiting.id)).toMatchObject({ error_type: "timeout_error" });
    });

    test(`refuses no result because the machine's time is set ${way}, and nobody else takes the task`, async () => {
      const process = await started();
      const task = await process.submit({ timeoutSec: 60 });
      const { end } = await runOf(process, task);
      station().clock.jump(jumpMs);
      await station().pass(20_000);
      expect(process.sent.filter(({ kind }) => kind === "claim").length).toBe(1);
      end(completed());
      await until(() => isEnded(task));
      expect(await station().row(task.id)).toMatchObject({ state: "completed", charge: 5n });
      expect((await process.tasks.find(task.kind, task.id, task.accountId))?.result?.files.length).toBe(1);
    });
  }

  describe("of a task that runs", () => {
    test("stops its run, which has time to stop its provider", async () => {
      const process = await started();
      // Another that looks for what is overdue leaves it alone while its lease lasts.
      if (on.name === "postgres") await started({ settings: { runningPerProcess: 0 } });
      const task = await process.submit({ timeoutSec: 60 });
      const { run, end } = await runOf(process, task);
      await run.beginAttempt();
      await station().pass(59_999);
      expect(run.signal.aborted).toBe(false);
      await station().pass(1);
      expect((run.signal.reason as TaskStop).reason).toBe("deadline");
      await station().pass(2_500);
      expect(await isEnded(task)).toBe(false);
      end({
        kind: "failed",
        failure: { type: "generation_error", message: "stopped" },
        unfinished: true,
      });
      await until(() => isEnded(task));
      expect(await station().row(task.id)).toMatchObject({ state: "failed", error_type: "timeout_error" });
      expect(await losses()).toBe(1);
    });

    test("books no loss where its provider had surely refused every attempt, whoever ends it", async () => {
      const first = await started();
      const task = await first.submit({ timeoutSec: 60 });
      const { run } = await runOf(first, task);
      await run.beginAttempt();
      await run.noteRefusal();
      expect(await station().row(task.id)).toMatchObject({ attempts: 1n, refusals: 1n });
      first.kill();
      const second = await started({ settings: { runningPerProcess: 0 } });
      await station().endLease(task.id);
      await station().pass(60_000);
      await station().passing(() => isEnded(task), 4_000);
      expect(second.runs.size).toBe(0);
      expect(await losses()).toBe(0);
    });

    test("ends it although its run does not stop", async () => {
      const process = await started();
      const task = await process.submit({ timeoutSec: 60 });
      const { run, end } = await runOf(process, task);
      const { timeline } = completed() as Extract<TaskOutcome, { kind: "completed" }>;
      run.follow(() => timeline);
      await station().pass(60_000);
      await station().passing(() => isEnded(task), 5_000);
      expect(process.sent.findLast(({ kind }) => kind === "fail")).toMatchObject({ timeline });
      expect(await station().row(task.id)).toMatchObject({ error_type: "timeout_error" });
      // No provider was sent it.
      expect(await losses()).toBe(0);
      end(completed());
      await station().pass(1_000);
      expect((await station().row(task.id)).state).toBe("failed");
    });

    test("refuses a result that comes after it", async () => {
      const process = await started();
      const task = await process.submit({ timeoutSec: 60 });
      const { run, end } = await runOf(process, task);
      await run.beginAttempt();
      await station().pass(60_500);
      end(completed());
      await until(() => isEnded(task));
      expect(await station().row(task.id)).toMatchObject({ state: "failed", charge: null });
      expect(await losses()).toBe(1);
      expect(await station().account()).toEqual({ balance: CREDIT, held: 0n });
    });

    test("takes a result that came before it, though the store was away until after it", async () => {
      const process = await started();
      const task = await process.submit({ timeoutSec: 60 });
      const { end } = await runOf(process, task);
      await station().pass(58_000);
      process.reach(false);
      end(completed());
      await station().pass(40_000);
      process.refuse("finish");
      process.reach(true);
      // Its lease is over, and its deadline: nobody else ends it in its own process.
      await station().endLease(task.id);
      process.scheduler.drain();
      await station().pass(5_000);
      process.refuse();
      await station().passing(() => isEnded(task), 3_000);
      expect(await station().row(task.id)).toMatchObject({ state: "completed", charge: 5n });
    });

    test("whose process died is kept by whoever lives", async () => {
      const first = await started();
      const task = await first.submit({ timeoutSec: 60 });
      const { run } = await runOf(first, task);
      await run.beginAttempt();
      first.kill();
      // Nobody goes on with it: this one may run nothing.
      const second = await started({ settings: { runningPerProcess: 0 } });
      await station().pass(30_000);
      await station().endLease(task.id);
      expect(await isEnded(task)).toBe(false);
      await station().pass(30_000);
      await station().passing(() => isEnded(task), 4_000);
      expect(await station().row(task.id)).toMatchObject({ state: "failed", error_type: "timeout_error" });
      expect(await losses()).toBe(1);
      expect(second.runs.size).toBe(0);
    });

    test("and its result that come at the same time make one end, and a charge only where it is completed", async () => {
      const process = await started();
      for (let round = 0; round < 12; round += 1) {
        const before = (await station().account()).balance;
        const task = await process.submit({ timeoutSec: 60 });
        const { end } = await runOf(process, task);
        await station().endLease(task.id);
        // The sweep of another process, at the last epoch that it saw.
        const row = await station().row(task.id);
        const swept = {
          kind: "fail",
          task: task.id,
          hold: String(row.hold_id),
          account: "a",
          key: "key-a",
          epoch: 1,
          type: "timeout_error",
          message: "late",
          unfinished: false,
          nowMs: station().clock.nowMs(),
        } as const;
        const outcome = completed(5n);
        const sweeping = async (): Promise<void> => {
          for (let i = 0; i < round % 4; i += 1) await new Promise((resolve) => setImmediate(resolve));
          await station().writer.submit(swept);
        };
        if (round % 2 === 0) end(outcome);
        const other = sweeping();
        if (round % 2 === 1) end(outcome);
        await other;
        await until(() => isEnded(task));
        const { state } = await station().row(task.id);
        expect((await station().account()).balance).toBe(state === "completed" ? before - 5n : before);
      }
    });
  });
});
