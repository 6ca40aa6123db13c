import { describe, expect, test } from "bun:test";
import { describeAtStations } from "../../test/tasks/on-stations.ts";
import { completed, CREDIT, VIDEO, RELEASED, until } from "../../test/tasks/station.ts";
import type { Task } from "../core/task.ts";
import type { TaskOutcome } from "./run/job.ts";

const NEVER = new AbortController().signal;
const REFUSED: TaskOutcome = {
  kind: "failed",
  failure: { type: "content_moderation", message: "no" },
  unfinished: false,
};

describeAtStations("the scheduler", ({ runOf, started, station }) => {
  const state = async ({ id }: Task) => (await station().row(id)).state;

  describe("a task that is submitted", () => {
    test("is run at once, and ends with its result and its charge", async () => {
      const process = await started();
      const task = await process.submit({ payload: { prompt: "a dog" }, warnings: ["w"] });
      expect(task).toMatchObject({ state: "pending", accountId: "a", warnings: ["w"], result: null });
      const { run, end } = await runOf(process, task);
      expect(run).toMatchObject({
        payload: { prompt: "a dog" },
        provider: "p",
        job: null,
        attempts: 0,
        model: "m/image",
      });
      expect(run.hold).toMatchObject({ amount: 10n, accountId: "a", snapshot: { version: "v" } });
      expect((await process.tasks.find("image", task.id, "a"))?.state).toBe("running");
      end(completed());
      const ended = await process.tasks.ended(task, NEVER);
      expect(ended).toMatchObject({ state: "completed", charge: 5n, provider: "p", failure: null });
      expect(ended.result?.files.map(({ name }) => name)).toEqual(["f.png"]);
      expect(await station().account()).toEqual({ balance: CREDIT - 5n, held: 0n });
    });

    test("fails without a charge where its job says so", async () => {
      const process = await started();
      const task = await process.submit();
      (await runOf(process, task)).end(REFUSED);
      const ended = await process.tasks.ended(task, NEVER);
      expect(ended).toMatchObject({
        state: "failed",
        failure: { type: "content_moderation", message: "no" },
        charge: null,
      });
      expect(await station().account()).toEqual({ balance: CREDIT, held: 0n });
    });

    test("fails where its job throws, which the log tells and the client is not told", async () => {
      const process = await started();
      const task = await process.submit();
      (await runOf(process, task)).break(new Error("the moon is full"));
      const { failure } = await process.tasks.ended(task, NEVER);
      expect(failure?.type).toBe("generation_error");
      expect(failure?.message).not.toContain("moon");
      expect(process.logs.join()).toContain("moon");
    });

    test("is cancelled in place of being begun once its account is closed", async () => {
      const process = await started();
      const task = await process.submit({ minPendingMs: 1_000 });
      await station().writer.submit({ kind: "close_account", account: "a" });
      const ended = process.tasks.ended(task, NEVER);
      await station().passing(async () => (await state(task)) === "cancelled", 10_000);
      expect((await ended).state).toBe("cancelled");
      expect(process.runs.size).toBe(0);
      expect(await station().account()).toEqual({ balance: CREDIT, held: 0n });
    });

    test("waits while it is not to be begun yet, and begins then", async () => {
      const process = await started();
      const task = await process.submit({ minPendingMs: 1_000 });
      const other = await process.submit();
      await runOf(process, other);
      await station().pass(900);
      expect(await state(task)).toBe("pending");
      await station().pass(100);
      await runOf(process, task);
    });

    test("of a kind and model that nobody does waits, and begins once somebody does", async () => {
      let isServed = false;
      const process = await started({
        providerOf: (kind) => (kind === "image" || isServed ? { provider: kind, limit: 9 } : undefined),
      });
      const video = await process.submit({ kind: "video", model: VIDEO });
      await runOf(process, await process.submit());
      expect(await state(video)).toBe("pending");
      isServed = true;
      process.scheduler.wake();
      expect((await runOf(process, video)).run).toMatchObject({ kind: "video", provider: "video" });
    });

    test("by another process is given the request that its sealed copy says", async () => {
      const task = await station()
        .process()
        .submit({ payload: { prompt: "a dog", n: 2 } });
      const { run } = await runOf(await started(), task);
      expect(run.payload).toEqual({ prompt: "a dog", n: 2 });
    });

    test("whose sealed copy cannot be opened goes on where this process still has the request, and fails elsewhere", async () => {
      const process = station().process();
      const [kept, other] = [await process.submit(), await station().process().submit()];
      await station().execute("update task_payloads set sealed = 's1.AAAA'");
      await process.scheduler.start();
      expect((await runOf(process, kept)).run.payload).toEqual({ prompt: "a cat" });
      expect(await process.tasks.ended(other, NEVER)).toMatchObject({
        failure: { type: "generation_error" },
      });
    });

    test("is opened where the process had no room to keep its request", async () => {
      const process = await started({ settings: { memoryBytes: 10 } });
      const task = await process.submit();
      expect((await runOf(process, task)).run.payload).toEqual({ prompt: "a cat" });
    });
  });

  describe("runs no more at a time", () => {
    test("than its process may, and goes on when one has ended", async () => {
      const process = await started({ settings: { runningPerProcess: 2 } });
      const tasks = [];
      for (let i = 0; i < 4; i += 1) tasks.push(await process.submit());
      await until(() => process.runs.size === 2);
      await station().pass(10_000);
      expect(await station().counts()).toEqual({ pending: 2, running: 2 });
      process.runs.get(tasks[0]!.id)!.end(completed());
      await runOf(process, tasks[2]!);
      expect(await station().counts()).toEqual({ pending: 1, running: 2, completed: 1 });
    });

    test("than a provider may, whatever waits for another goes on", async () => {
      const process = await started({
        providerOf: (kind) => ({ provider: kind, limit: kind === "image" ? 1 : 5 }),
      });
      for (let i = 0; i < 3; i += 1) await process.submit();
      const video = await process.submit({ kind: "video", model: VIDEO });
      await runOf(process, video);
      await station().pass(10_000);
      expect(await station().counts()).toEqual({ pending: 2, running: 2 });
    });
  });

  test("gives a task that was given up unasked a rest before it takes it again", async () => {
    const process = await started();
    const task = await process.submit();
    const first = await runOf(process, task);
    process.runs.clear();
    first.end(RELEASED);
    await station().passing(async () => Number((await station().row(task.id)).lease_until_ms) === 0, 1_000);
    await station().passing(() => process.runs.has(task.id), 20_000);
    expect((await station().row(task.id)).epoch).toBe(2n);
    const beganMs = station().clock.nowMs() - task.createdAtMs;
    expect(beganMs).toBeGreaterThanOrEqual(10_000);
  });

  test("begins nothing once it drains, and lets what runs come to its end", async () => {
    const process = await started();
    const task = await process.submit();
    const { end } = await runOf(process, task);
    process.scheduler.drain();
    const late = await process.submit();
    await station().pass(20_000);
    expect(await state(late)).toBe("pending");
    end(completed());
    expect((await process.tasks.ended(task, NEVER)).state).toBe("completed");
  });

  test("an account that has asked for much does not keep another waiting", async () => {
    const process = await started({ settings: { runningPerProcess: 4 } });
    const tasks: Task[] = [];
    for (let i = 0; i < 30; i += 1) tasks.push(await process.submit({ accountId: "a" }));
    const mine = [];
    for (let i = 0; i < 2; i += 1) mine.push(await process.submit({ accountId: "b" }));
    await until(() => process.runs.size === 4);
    // Of those that run, all are of the first account; each place that becomes free is the second's
    // until both have as many.
    for (const [i, task] of mine.entries()) {
      process.runs.get(tasks[i]!.id)!.end(completed());
      await runOf(process, task);
    }
  });
});
