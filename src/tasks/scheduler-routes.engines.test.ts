import { expect, test } from "bun:test";
import { describeAtStations } from "../../test/tasks/on-stations.ts";
import { completed, CREDIT, type ProcessOptions, RELEASED } from "../../test/tasks/station.ts";
import type { TaskJob } from "./run/job.ts";

// A task that goes from one provider to another. It is there before it is sent there, for every process and after every
// death, and as many are there as may be.

const NEVER = new AbortController().signal;
const at = (provider: string, providerLimit = 9) => ({ provider, providerLimit });

describeAtStations("a running task that goes to another provider", ({ on, station, started, runOf }) => {
  test("is there before it is sent, and where its process dies the next goes on there", async () => {
    const first = await started();
    const task = await first.submit();
    const { run } = await runOf(first, task);
    expect(await run.beginAttempt(at("p"))).toBe("begun");
    await run.noteRefusal();
    expect(await run.beginAttempt(at("q"))).toBe("begun");
    expect(await station().row(task.id)).toMatchObject({ provider: "q", attempts: 2n, refusals: 1n });
    first.kill();
    await station().endLease(task.id);
    const second = await started();
    const next = await runOf(second, task);
    expect(next.run).toMatchObject({ provider: "q", attempts: 2, refusals: 1, job: null });
    await next.run.noteJob("job-q");
    next.end(completed());
    expect(await second.tasks.ended(task, NEVER)).toMatchObject({ provider: "q", charge: 5n });
    expect(await station().account()).toEqual({ balance: CREDIT - 5n, held: 0n });
  });

  test("goes once, however often the store's answers are lost", async () => {
    const process = await started();
    const task = await process.submit();
    const { run } = await runOf(process, task);
    process.loseAnswers(true);
    const begun = run.beginAttempt(at("q", 1));
    await station().pass(3_000);
    process.loseAnswers(false);
    await station().pass(2_000);
    expect(await begun).toBe("begun");
    expect(process.sent.filter(({ kind }) => kind === "attempt").length).toBeGreaterThan(1);
    expect(await station().row(task.id)).toMatchObject({ provider: "q", attempts: 1n });
  });

  test("does not go where as many run as may, whoever runs them", async () => {
    const options: ProcessOptions = {
      providerOf: (kind) => ({ provider: kind === "image" ? "p" : "q", limit: 1 }),
    };
    const process = await started(options);
    const there = await process.submit({ kind: "video" });
    await runOf(process, there);
    const task = await process.submit();
    const { run } = await runOf(process, task);
    expect(await run.beginAttempt(at("q", 1))).toBe("full");
    expect(await station().row(task.id)).toMatchObject({ provider: "p", attempts: 0n });
    process.runs.get(there.id)?.end(completed());
    await process.tasks.ended(there, NEVER);
    expect(await run.beginAttempt(at("q", 1))).toBe("begun");
    expect(await station().row(task.id)).toMatchObject({ provider: "q", attempts: 1n });
  });

  test("leaves its place to the next, and takes that of none that waits for the other", async () => {
    const options: ProcessOptions = {
      providerOf: (kind) => ({ provider: kind === "image" ? "p" : "q", limit: 1 }),
    };
    const process = await started(options);
    const task = await process.submit();
    const { run } = await runOf(process, task);
    const behind = await process.submit();
    const other = await process.submit({ kind: "video", accountId: "b" });
    await runOf(process, other);
    const waiting = await process.submit({ kind: "video", accountId: "c" });
    expect(await run.beginAttempt(at("q", 1))).toBe("full");
    process.runs.get(other.id)?.end(completed());
    // Who waits is claimed as soon as there is room; who would come from elsewhere has to ask again.
    await runOf(process, waiting);
    expect(await run.beginAttempt(at("q", 1))).toBe("full");
    expect(process.runs.has(behind.id)).toBe(false);
    process.runs.get(waiting.id)?.end(completed());
    await process.tasks.ended(waiting, NEVER);
    expect(await run.beginAttempt(at("q", 1))).toBe("begun");
    await station().passing(() => process.runs.has(behind.id), 10_000);
    expect(await station().row(behind.id)).toMatchObject({ provider: "p", state: "running" });
  });

  test("is nobody's charge where it fails, and at nobody's loss where all have refused it", async () => {
    const process = await started();
    const task = await process.submit({ timeoutSec: 30 });
    const { run, end } = await runOf(process, task);
    for (const provider of ["p", "q"]) {
      await run.beginAttempt(at(provider));
      await run.noteRefusal();
    }
    end(RELEASED);
    await station().passing(async () => (await station().row(task.id)).state === "failed", 60_000);
    expect(await station().account()).toEqual({ balance: CREDIT, held: 0n });
    const entries = await station().store.database.selectFrom("ledger").select("kind").execute();
    expect(entries.map(({ kind }) => kind)).not.toContain("loss");
  });

  test("is one of as many as each provider may run, over all processes", async () => {
    const TASKS = 60;
    const LIMITS: Readonly<Record<string, number>> = { p: 7, q: 5, r: 3 };
    const running = new Map<string, Set<string>>(Object.keys(LIMITS).map((name) => [name, new Set()]));
    const most = new Map<string, number>();
    const made: string[] = [];
    const nextOf: Readonly<Record<string, string>> = { p: "q", q: "r", r: "p" };
    // Each provider refuses two of three tasks once, so that most go round.
    const doJob: TaskJob = async (run) => {
      let provider = run.provider;
      for (let tries = 0; ; tries += 1) {
        const begun = await run.beginAttempt(at(provider, LIMITS[provider]));
        if (begun === "begun") {
          running.get(provider)?.add(run.id);
          most.set(provider, Math.max(most.get(provider) ?? 0, running.get(provider)?.size ?? 0));
          await new Promise((resolve) => setTimeout(resolve, 5 + (tries % 3) * 5));
          if ((made.length + tries) % 3 === 0) break;
          // It does nothing there any more, though the place is its own until it goes.
          running.get(provider)?.delete(run.id);
          await run.noteRefusal();
        } else await new Promise((resolve) => setTimeout(resolve, 10));
        provider = nextOf[provider] ?? "p";
      }
      running.get(provider)?.delete(run.id);
      made.push(run.id);
      return completed(1n);
    };
    const processes = Array.from({ length: on.name === "sqlite" ? 1 : 4 }, () =>
      station().process({ doJob, providerOf: () => ({ provider: "p", limit: 7 }) }),
    );
    const [one] = processes;
    await Promise.all(
      Array.from({ length: TASKS }, (_, n) =>
        one!.submit({ accountId: ["a", "b", "c"][n % 3]!, timeoutSec: 1_000_000 }),
      ),
    );
    await Promise.all(processes.map(({ scheduler }) => scheduler.start()));
    await station().passing(() => made.length === TASKS, 500_000_000);
    for (const [provider, limit] of Object.entries(LIMITS)) {
      expect(most.get(provider)).toBeLessThanOrEqual(limit);
      expect(most.get(provider)).toBeGreaterThan(1);
    }
    await station().passing(async () => (await station().counts()).completed === TASKS, 60_000);
    expect(new Set(made).size).toBe(TASKS);
  });
});
