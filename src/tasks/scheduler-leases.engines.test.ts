import { describe, expect, test } from "bun:test";
import { describeAtStations } from "../../test/tasks/on-stations.ts";
import {
  completed,
  CREDIT,
  messageOf,
  type ProcessOptions,
  RELEASED,
  type TestProcess,
  until,
} from "../../test/tasks/station.ts";
import type { TaskStop } from "./run/job.ts";

const NEVER = new AbortController().signal;

describeAtStations("a running task", ({ on, runOf, started, station }) => {
  const renewals = (process: TestProcess): number =>
    process.sent.filter(({ kind }) => kind === "renew").length;
  const reasonOf = (signal: AbortSignal): string | undefined =>
    (signal.reason as TaskStop | undefined)?.reason;

  describe("whose process lives", () => {
    test("has its lease renewed every third of it, in one batch with the others", async () => {
      const process = await started();
      const tasks = [await process.submit(), await process.submit(), await process.submit()];
      for (const task of tasks) await runOf(process, task);
      const first = await station().row(tasks[0]!.id);
      await station().pass(10_000);
      await until(() => renewals(process) === 3);
      await station().pass(9_000);
      expect(renewals(process)).toBe(3);
      // The next one is counted from the end of the one before.
      await station().passing(() => renewals(process) === 6, 11_000);
      if (on.name === "sqlite")
        await until(
          async () =>
            ((await station().row(tasks[0]!.id)).lease_until_ms as bigint) >=
            (first.lease_until_ms as bigint) + 19_000n,
        );
    });

    test("keeps its lease when a shorter one is set: the renewals are those of the start", async () => {
      const settings = { leaseMs: 30_000 };
      const process = await started({ settings });
      settings.leaseMs = 3_000;
      const { run } = await runOf(process, await process.submit());
      await station().pass(9_000);
      expect(run.signal.aborted).toBe(false);
    });

    test("is not given up when leases are renewed while the answer to its claim is under way", async () => {
      const process = await started();
      const { promise, resolve: answer } = Promise.withResolvers<void>();
      process.delayAnswers("claim", promise);
      const task = await process.submit();
      await until(async () => (await station().row(task.id)).state === "running");
      await station().pass(11_000);
      answer();
      const { run, end } = await runOf(process, task);
      await station().pass(10_000);
      expect(run.signal.aborted).toBe(false);
      expect(renewals(process)).toBe(1);
      end(completed());
      await until(async () => (await station().row(task.id)).state === "completed");
      expect((await station().row(task.id)).epoch).toBe(1n);
    });

    test("goes on while the store is away for less than its lease, and ends once it is back", async () => {
      const process = await started();
      const task = await process.submit();
      const { run, end } = await runOf(process, task);
      process.reach(false);
      await station().pass(25_000);
      expect(run.signal.aborted).toBe(false);
      end(completed());
      await station().pass(2_000);
      expect((await station().row(task.id)).state).toBe("running");
      process.reach(true);
      await station().passing(async () => (await station().row(task.id)).state === "completed", 5_000);
      expect(await station().account()).toEqual({ balance: CREDIT - 5n, held: 0n });
    });

    test("is stopped when its lease has surely run out, and is taken up again with what was known of it", async () => {
      const process = await started();
      const task = await process.submit();
      const { run, end } = await runOf(process, task);
      await run.beginAttempt();
      await run.noteJob("job-7");
      process.reach(false);
      await station().pass(29_999);
      expect(run.signal.aborted).toBe(false);
      await station().pass(500);
      expect(reasonOf(run.signal)).toBe("lost");
      const asked = renewals(process);
      await station().pass(3_000);
      expect(renewals(process)).toBe(asked);
      process.runs.clear();
      end({ kind: "failed", failure: { type: "generation_error", message: "stopped" }, unfinished: true });
      process.reach(true);
      // The server's clock has hardly moved.
      await station().endLease(task.id);
      await station().passing(() => process.runs.has(task.id), 20_000);
      expect(process.runs.get(task.id)?.run).toMatchObject({ job: "job-7", attempts: 1 });
      expect((await station().row(task.id)).epoch).toBe(2n);
    });

    test("whose result came while the store was away is not lost, however long that is", async () => {
      const process = await started();
      const task = await process.submit();
      const { end } = await runOf(process, task);
      process.reach(false);
      end(completed());
      await station().pass(120_000);
      process.reach(true);
      await station().passing(async () => (await station().row(task.id)).state === "completed", 5_000);
      expect(process.runs.size).toBe(1);
    });

    test("keeps the name of its job through an outage", async () => {
      const process = await started();
      const task = await process.submit();
      const { run } = await runOf(process, task);
      process.reach(false);
      const noted = run.noteJob("job-7");
      await station().pass(5_000);
      process.reach(true);
      await station().pass(1_000);
      await noted;
      expect((await station().row(task.id)).job).toBe("job-7");
    });

    test("counts each attempt before it is made", async () => {
      const process = await started();
      const task = await process.submit();
      const { run } = await runOf(process, task);
      await run.beginAttempt();
      expect((await station().row(task.id)).attempts).toBe(1n);
      await run.beginAttempt();
      expect((await station().row(task.id)).attempts).toBe(2n);
    });
  });

  describe("whose process died", () => {
    test("is gone on with by the next, from its job", async () => {
      const first = await started();
      const task = await first.submit();
      const { run } = await runOf(first, task);
      await run.beginAttempt();
      await run.noteJob("job-7");
      first.kill();
      const second = station().process();
      if (on.name === "postgres") {
        await second.scheduler.start();
        await station().pass(5_000);
        expect(second.runs.size).toBe(0);
        await station().endLease(task.id);
        await station().pass(1_000);
      } else await second.scheduler.start();
      const next = await runOf(second, task);
      expect(next.run).toMatchObject({ job: "job-7", attempts: 1, payload: { prompt: "a cat" } });
      await next.run.beginAttempt();
      expect((await station().row(task.id)).attempts).toBe(2n);
      next.end(completed());
      expect(await second.tasks.ended(task, NEVER)).toMatchObject({ state: "completed", charge: 5n });
    });

    test("goes on although its provider has as many as it may: it is one of them", async () => {
      const options: ProcessOptions = { providerOf: () => ({ provider: "p", limit: 1 }) };
      const first = await started(options);
      const task = await first.submit();
      await first.submit();
      await runOf(first, task);
      first.kill();
      await station().endLease(task.id);
      const second = await started(options);
      await runOf(second, task);
      expect(await station().counts()).toEqual({ pending: 1, running: 1 });
    });

    test("that is not dead but slow writes nothing any more, and its run is stopped", async () => {
      const slow = await started();
      const task = await slow.submit();
      const { run, end } = await runOf(slow, task);
      await run.beginAttempt();
      slow.scheduler.drain();
      await station().endLease(task.id);
      const other = await started();
      const next = await runOf(other, task);
      expect(next.run.attempts).toBe(1);
      expect(await messageOf(run.noteJob("stolen"))).toContain("lost");
      expect(reasonOf(run.signal)).toBe("lost");
      expect(await messageOf(run.beginAttempt())).toContain("lost");
      end(completed(9n));
      await station().pass(2_000);
      expect(await station().row(task.id)).toMatchObject({
        state: "running",
        job: null,
        owner: other.bootId,
      });
      next.end(completed(5n));
      expect(await other.tasks.ended(task, NEVER)).toMatchObject({ charge: 5n });
    });

    test("that comes back late is told by its next renewal", async () => {
      const slow = await started();
      const task = await slow.submit();
      const { run } = await runOf(slow, task);
      slow.scheduler.drain();
      await station().endLease(task.id);
      const other = await started();
      await runOf(other, task);
      await station().pass(10_000);
      await until(() => run.signal.aborted);
      expect(reasonOf(run.signal)).toBe("lost");
    });

    test("and whose result arrives at the same time as another's is charged once", async () => {
      const slow = await started();
      const task = await slow.submit();
      const { end } = await runOf(slow, task);
      slow.scheduler.drain();
      await station().endLease(task.id);
      const other = await started();
      const next = await runOf(other, task);
      end(completed(7n));
      next.end(completed(5n));
      expect(await other.tasks.ended(task, NEVER)).toMatchObject({ state: "completed", charge: 5n });
      expect(await station().account()).toEqual({ balance: CREDIT - 5n, held: 0n });
    });
  });

  describe("when its process ends in order", () => {
    test("is given up for others to go on with at once", async () => {
      const first = await started();
      const task = await first.submit();
      const { run, end } = await runOf(first, task);
      await run.beginAttempt();
      await run.noteJob("job-7");
      run.signal.addEventListener("abort", () => end(RELEASED));
      await first.scheduler.close();
      expect(reasonOf(run.signal)).toBe("shutdown");
      expect(await station().row(task.id)).toMatchObject({ state: "running", lease_until_ms: 0n });
      first.kill();
      const second = await started();
      expect((await runOf(second, task)).run).toMatchObject({ job: "job-7", attempts: 1 });
    });

    test("is finished where its result is there already", async () => {
      const process = await started();
      const task = await process.submit();
      const { run, end } = await runOf(process, task);
      run.signal.addEventListener("abort", () => end(completed()));
      await process.scheduler.close();
      expect((await station().row(task.id)).state).toBe("completed");
    });

    test("is given up too where it was being claimed just then", async () => {
      const process = station().process();
      const task = await process.submit();
      const { promise, resolve: answer } = Promise.withResolvers<void>();
      process.delayAnswers("claim", promise);
      const starting = process.scheduler.start();
      await until(() => process.sent.some(({ kind }) => kind === "claim"));
      const closing = process.scheduler.close();
      answer();
      await Promise.all([closing, starting]);
      expect((await station().row(task.id)).lease_until_ms).toBe(0n);
      expect(process.runs.size).toBe(0);
    });

    test("does not hold it up for long", async () => {
      const process = await started();
      const task = await process.submit();
      await runOf(process, task);
      let isClosed = false;
      const closing = process.scheduler.close().then(() => (isClosed = true));
      await station().passing(() => isClosed, 8_000);
      await closing;
      expect(await station().row(task.id)).toMatchObject({ state: "running", lease_until_ms: 0n });
    });

    test("is left as it is where the store is away, and the close does not wait for it", async () => {
      const process = await started();
      const task = await process.submit();
      const { run, end } = await runOf(process, task);
      run.signal.addEventListener("abort", () => end(RELEASED));
      process.reach(false);
      let isClosed = false;
      void process.scheduler.close().then(() => (isClosed = true));
      await station().passing(() => isClosed, 12_000);
      expect((await station().row(task.id)).state).toBe("running");
    });
  });
});
