import { describe, expect, test } from "bun:test";
import { LONG } from "../../test/runs.ts";
import { seededRandom } from "../../test/upstream/cuts.ts";
import { describeAtStations } from "../../test/tasks/on-stations.ts";
import { completed, CREDIT, messageOf, RELEASED, until } from "../../test/tasks/station.ts";
import type { Task } from "../core/task.ts";
import type { ProviderOf } from "./queue/queue.ts";
import type { TaskJob, TaskStop } from "./run/job.ts";

const NEVER = new AbortController().signal;
const FREE = { balance: CREDIT, held: 0n };

describeAtStations("tasks", ({ runOf, started, station }) => {
  describe("a submit", () => {
    test("sets the credit aside, and keeps what was asked for where it cannot be read", async () => {
      const process = station().process();
      const task = await process.submit({ payload: { prompt: "a very secret cat" }, warnings: ["w"] });
      expect(await station().account()).toEqual({ balance: CREDIT, held: 10n });
      const { sealed } = await station()
        .store.database.selectFrom("task_payloads")
        .select("sealed")
        .executeTakeFirstOrThrow();
      expect(sealed).not.toContain("secret");
      expect(await process.tasks.find("image", task.id, "a")).toEqual(task);
      expect(task).toEqual({
        id: expect.stringMatching(/^img_[0-9a-f]{32}$/),
        kind: "image",
        accountId: "a",
        model: "m/image",
        state: "pending",
        timeoutSec: 600,
        warnings: ["w"],
        createdAtMs: station().clock.nowMs(),
        startedAtMs: null,
        endedAtMs: null,
        failure: null,
        result: null,
        charge: null,
        provider: null,
      });
    });

    test("keeps the order of routes that its client asks for, for whoever claims the task", async () => {
      const asked: unknown[] = [];
      const providerOf: ProviderOf = (_, __, terms) => {
        asked.push(terms);
        return { provider: "p", limit: 9 };
      };
      const process = station().process({ providerOf });
      const facts = { resolution: "1080p" };
      const snapshot = { version: "v", prices: {}, pricedAtMs: 7, facts };
      const tasks = [await process.submit({ by: "cost", snapshot }), await process.submit()];
      await process.scheduler.start();
      const runs = await Promise.all(tasks.map((task) => runOf(process, task)));
      expect(runs.map(({ run }) => run.by)).toEqual(["cost", undefined]);
      expect(asked[0]).toEqual({ pricedAtMs: 7, facts, by: "cost" });
      process.kill();
      await station().endLease(tasks[0]!.id);
      const other = await started({ providerOf });
      expect((await runOf(other, tasks[0]!)).run.by).toBe("cost");
    });

    test("is refused where the account has too little, or too many tasks wait", async () => {
      const process = station().process({ settings: { pendingPerAccount: 2 } });
      expect(await messageOf(process.submit({ amount: CREDIT + 1n }))).toContain("insufficient_credits");
      await process.submit();
      await process.submit();
      expect(await messageOf(process.submit())).toContain("too_many_pending");
      await process.submit({ accountId: "b" });
      expect(await station().counts()).toEqual({ pending: 3 });
    });

    test("that the store did not take is no task", async () => {
      const process = await started();
      process.reach(false);
      expect(await messageOf(process.submit())).toContain("away");
      await station().pass(3_000);
      process.reach(true);
      await station().pass(2_000);
      expect(await station().counts()).toEqual({});
      expect(await station().account()).toEqual(FREE);
      expect(process.sent.at(-1)).toMatchObject({ kind: "cancel" });
    });

    test("whose answer was lost is cancelled, since its client was told that it failed", async () => {
      const process = station().process();
      process.loseAnswers(true);
      process.refuse("cancel");
      expect(await messageOf(process.submit())).toContain("lost");
      process.loseAnswers(false);
      await station().pass(5_000);
      expect(await station().counts()).toEqual({ pending: 1 });
      process.refuse();
      await station().passing(async () => (await station().counts()).cancelled === 1, 3_000);
      expect(await station().account()).toEqual(FREE);
    });

    test("whose answer was lost is stopped where it runs by then", async () => {
      const process = await started();
      process.loseAnswers(true);
      process.refuse("cancel");
      expect(await messageOf(process.submit())).toContain("lost");
      process.loseAnswers(false);
      process.scheduler.wake();
      await until(() => process.runs.size === 1);
      process.refuse();
      const [only] = process.runs.values();
      await station().passing(() => only!.run.signal.aborted, 3_000);
      expect((only!.run.signal.reason as TaskStop).reason).toBe("client_gone");
      await station().passing(async () => (await station().account()).held === 0n, 6_000);
      expect(await station().account()).toEqual(FREE);
    });
  });

  describe("a read", () => {
    test("of another account's task, of another kind, or of none at all is the same nothing", async () => {
      const process = station().process();
      const { id } = await process.submit();
      expect(await process.tasks.find("image", id, "b")).toBeUndefined();
      expect(await process.tasks.find("video", id, "a")).toBeUndefined();
      expect(await process.tasks.find("image", "img_0", "a")).toBeUndefined();
    });

    test("writes nothing, however often", async () => {
      const process = station().process();
      const { id } = await process.submit();
      const before = process.sent.length;
      for (let i = 0; i < 50; i += 1) await process.tasks.find("image", id, "a");
      expect(process.sent).toHaveLength(before);
    });

    test("names files for as long as they are kept", async () => {
      const process = await started({ settings: { filesMs: 60_000 } });
      const task = await process.submit();
      (await runOf(process, task)).end(completed());
      const ended = await process.tasks.ended(task, NEVER);
      expect(ended.result?.files).toHaveLength(1);
      await station().clock.advance(59_999);
      expect((await process.tasks.find("image", task.id, "a"))?.result?.files).toHaveLength(1);
      await station().clock.advance(1);
      const late = await process.tasks.find("image", task.id, "a");
      expect(late).toMatchObject({ state: "completed", charge: 5n, result: { createdSec: 1, files: [] } });
    });

    test("while a task ends never gives a state without what belongs to it", async () => {
      const process = await started();
      let reads = 0;
      for (let round = 0; round < 10; round += 1) {
        const task = await process.submit();
        const { end } = await runOf(process, task);
        const reading = async (): Promise<void> => {
          for (;;) {
            const read = await process.tasks.find("image", task.id, "a");
            reads += 1;
            expect(read?.state === "completed").toBe(read?.result !== null);
            expect(read?.state === "completed").toBe(read?.charge !== null);
            expect(read?.state === "completed").toBe(read?.endedAtMs !== null);
            if (read?.state === "completed") return;
            // The writer hears of its store between two reads.
            await new Promise((resolve) => setImmediate(resolve));
          }
        };
        const readers = [reading(), reading()];
        end(completed());
        await Promise.all(readers);
      }
      expect(reads).toBeGreaterThan(20);
    });
  });

  describe("a cancel", () => {
    test("of a pending task frees its credit, and is answered the same each time", async () => {
      const process = station().process();
      const { id } = await process.submit();
      const answers = await Promise.all(
        Array.from({ length: 100 }, () => process.tasks.cancel("image", id, "a")),
      );
      expect(new Set(answers)).toEqual(new Set(["cancelled"]));
      expect(await station().account()).toEqual(FREE);
      await process.scheduler.start();
      expect(process.runs.size).toBe(0);
    });

    test("of a running or an ended task is refused, and writes nothing", async () => {
      const process = await started();
      const task = await process.submit();
      const { end } = await runOf(process, task);
      const cancels = (): number => process.sent.filter(({ kind }) => kind === "cancel").length;
      expect(await process.tasks.cancel("image", task.id, "a")).toBe("started");
      end(completed());
      await process.tasks.ended(task, NEVER);
      expect(await process.tasks.cancel("image", task.id, "a")).toBe("ended");
      expect(cancels()).toBe(0);
    });

    test("of another's task is none", async () => {
      const process = station().process();
      const { id } = await process.submit();
      expect(await process.tasks.cancel("image", id, "b")).toBe("unknown_task");
      expect(await process.tasks.cancel("video", id, "a")).toBe("unknown_task");
      expect((await station().row(id)).state).toBe("pending");
    });

    test("against a claim has exactly one winner", async () => {
      const rounds = LONG ? 500 : 6;
      const random = seededRandom(7);
      const doJob: TaskJob = async () => completed(1n);
      const settings = { runningPerProcess: 1_000 };
      const providerOf: ProviderOf = () => ({ provider: "p", limit: 1_000 });
      const one = await started({ doJob, settings, providerOf });
      const counts = { cancelled: 0, completed: 0 };
      const round = async (): Promise<void> => {
        const task = await one.submit({ accountId: "c", minPendingMs: random() < 0.5 ? 1 : 0 });
        if (random() < 0.5) one.scheduler.wake();
        for (let i = Math.floor(random() * 12); i > 0; i -= 1)
          await new Promise((resolve) => setImmediate(resolve));
        const answer = await one.tasks.cancel("image", task.id, "c");
        const { state } = await one.tasks.ended(task, NEVER);
        expect(state).toBe(answer === "cancelled" ? "cancelled" : "completed");
        counts[answer === "cancelled" ? "cancelled" : "completed"] += 1;
      };
      for (let i = 0; i < rounds; i += 1) {
        await Promise.all([...Array.from({ length: 20 }, round), station().clock.advance(1)]);
        expect((await station().account("c")).held).toBe(0n);
      }
      expect(await station().counts()).toEqual(counts);
      expect(counts.cancelled).toBeGreaterThan(0);
      expect(counts.completed).toBeGreaterThan(0);
      expect(await station().account("c")).toEqual({ balance: CREDIT - BigInt(counts.completed), held: 0n });
    });
  });

  describe("who waits for an end", () => {
    test("is told at once by the process that runs it", async () => {
      const process = await started();
      const task = await process.submit();
      const waiting = process.tasks.ended(task, NEVER);
      (await runOf(process, task)).end(completed());
      expect((await waiting).state).toBe("completed");
    });

    test("is told soon when another process ends it", async () => {
      const one = station().process();
      const task = await one.submit();
      let ended: Task | undefined;
      void one.tasks.ended(task, NEVER).then((told) => (ended = told));
      const other = station().process();
      expect(await other.tasks.cancel("image", task.id, "a")).toBe("cancelled");
      await station().passing(() => ended !== undefined, 3_000);
      expect(ended?.state).toBe("cancelled");
    });

    test("is told of what had ended before", async () => {
      const process = station().process();
      const task = await process.submit();
      await process.tasks.cancel("image", task.id, "a");
      expect((await process.tasks.ended(task, NEVER)).state).toBe("cancelled");
    });

    test("may leave, and is told why", async () => {
      const process = station().process();
      const task = await process.submit();
      const leaving = new AbortController();
      const waiting = process.tasks.ended(task, leaving.signal);
      leaving.abort(new Error("gone"));
      expect(await messageOf(waiting)).toContain("gone");
      expect(await messageOf(process.tasks.ended(task, leaving.signal))).toContain("gone");
    });
  });

  describe("a task that nobody waits for any more", () => {
    test("is cancelled while it is pending", async () => {
      const process = station().process();
      const task = await process.submit();
      await process.tasks.abandon(task);
      expect((await station().row(task.id)).state).toBe("cancelled");
      expect(await station().account()).toEqual(FREE);
    });

    test("is stopped where it runs here", async () => {
      const process = await started();
      const task = await process.submit();
      const { run } = await runOf(process, task);
      await process.tasks.abandon(task);
      expect((run.signal.reason as TaskStop).reason).toBe("client_gone");
      await station().passing(async () => (await station().row(task.id)).state === "failed", 6_000);
      expect(await station().account()).toEqual(FREE);
    });

    test("is ended where it runs elsewhere, and its run is told by its next renewal", async () => {
      const process = await started();
      const task = await process.submit();
      const { run, end } = await runOf(process, task);
      await run.beginAttempt();
      await station().process().tasks.abandon(task);
      expect(await station().row(task.id)).toMatchObject({ state: "failed", error_type: "generation_error" });
      expect(await station().account()).toEqual(FREE);
      await station().passing(() => run.signal.aborted, 12_000);
      expect((run.signal.reason as TaskStop).reason).toBe("lost");
      end(completed());
      await station().pass(2_000);
      expect(await station().account()).toEqual(FREE);
    });

    test("is ended where it was left to be taken again", async () => {
      const process = await started();
      const task = await process.submit();
      (await runOf(process, task)).end(RELEASED);
      await until(async () => (await station().row(task.id)).lease_until_ms === 0n);
      await process.tasks.abandon(task);
      expect((await station().row(task.id)).state).toBe("failed");
      expect(await station().account()).toEqual(FREE);
    });

    test("is given up once the store is back", async () => {
      const process = station().process();
      const task = await process.submit();
      process.reach(false);
      await process.tasks.abandon(task);
      await station().pass(5_000);
      process.reach(true);
      await station().passing(async () => (await station().row(task.id)).state === "cancelled", 2_500);
    });

    test("and that has ended stays as it is", async () => {
      const process = await started({ doJob: async () => completed() });
      const task = await process.submit();
      await process.tasks.ended(task, NEVER);
      await process.tasks.abandon(task);
      expect((await station().row(task.id)).state).toBe("completed");
    });
  });
});
