import type { Clock, Timer } from "../core/clock.ts";
import type { Hold } from "../core/hold.ts";
import type { TaskCommand } from "../ledger/task-commands.ts";
import { readTaskHold } from "../ledger/reads/task-hold.ts";
import type { Settled } from "./run-end.ts";
import type { RunParts, RunState } from "./run-parts.ts";
import { type TaskRun, TaskStop } from "./runner.ts";

/** How long the store is left alone before it is asked again. */
const RETRY_MS = 1_000;

/** Has the runner do the work. Resolves with what it came to, or once it was told to stop and had its time to. */
export async function settle(parts: RunParts, run: RunState): Promise<Settled> {
  const { signal } = run.stopping;
  let timer: Timer | undefined;
  let losePatience = (): void => {};
  const patience = new Promise<Settled>((resolve) => {
    losePatience = () => void (timer = parts.clock.setTimer(parts.graceMs, () => resolve("hung")));
  });
  if (signal.aborted) losePatience();
  else signal.addEventListener("abort", losePatience, { once: true });
  try {
    return await Promise.race([work(parts, run), patience]);
  } finally {
    signal.removeEventListener("abort", losePatience);
    timer?.cancel();
  }
}

async function work(parts: RunParts, run: RunState): Promise<Settled> {
  try {
    const stored = await load(parts, run);
    run.attempts = stored.attempts;
    run.refusals = stored.refusals;
    const payload: unknown = JSON.parse(await parts.cipher.open(stored.sealed));
    run.stopping.signal.throwIfAborted();
    return { outcome: await parts.runner(taskRun(parts, run, { ...stored, payload })) };
  } catch (error) {
    return { error };
  }
}

interface Stored {
  readonly sealed: string;
  readonly hold: Hold;
  readonly job: string | null;
  readonly attempts: number;
  readonly refusals: number;
}

/**
 * Reads what the work needs, however long the store is away; once the task is ours, since until then another may have
 * gone on with it. Rejects with the signal's reason once that is aborted.
 */
async function load({ database, clock }: RunParts, { of, stopping }: RunState): Promise<Stored> {
  for (;;) {
    stopping.signal.throwIfAborted();
    const read = await Promise.all([
      database
        .selectFrom("tasks")
        .innerJoin("task_payloads", "task_payloads.task_id", "tasks.id")
        .select(["sealed", "job", "attempts", "refusals"])
        .where("tasks.id", "=", of.task)
        .executeTakeFirst(),
      readTaskHold(database, of.task),
    ]).catch(() => undefined);
    if (read === undefined) {
      await pause(clock);
      continue;
    }
    const [row, hold] = read;
    // Both go when the task ends.
    if (row === undefined || hold === undefined)
      throw new Error("The task is not in the store as one that runs.");
    const { sealed, job, attempts, refusals } = row;
    return { sealed, job, attempts: Number(attempts), refusals: Number(refusals), hold };
  }
}

/** The run as its runner sees it. */
function taskRun(
  parts: RunParts,
  run: RunState,
  { payload, hold, job, attempts, refusals }: Omit<Stored, "sealed"> & { readonly payload: unknown },
): TaskRun {
  const { clock, failpoint } = parts;
  const { picked, of, fence, stopping } = run;
  const { task, provider } = picked;

  const note = async (command: TaskCommand, until?: () => boolean): Promise<void> => {
    const answer = await fence.insist(command, until);
    if (answer?.ok === true) return;
    if (fence.isLost() && !stopping.signal.aborted) stopping.abort(new TaskStop("lost"));
    throw stopping.signal.reason ?? new TaskStop("lost");
  };

  return {
    id: task.id,
    kind: task.kind,
    accountId: task.accountId,
    requestId: task.requestId,
    model: task.model,
    provider,
    hold,
    payload,
    job,
    attempts,
    refusals,
    createdAtMs: task.createdAtMs,
    deadlineMs: task.deadlineMs,
    signal: stopping.signal,
    async beginAttempt() {
      const { signal } = stopping;
      signal.throwIfAborted();
      const attempt = run.attempts + 1;
      const nowMs = clock.nowMs();
      await note({ kind: "attempt", ...of, epoch: run.epoch, attempt, nowMs }, () => signal.aborted);
      run.attempts = attempt;
      failpoint("task.attempted");
      // What nobody wants any more is not sent.
      signal.throwIfAborted();
    },
    async noteRefusal() {
      const refusals = run.refusals + 1;
      await note({ kind: "note_refusal", ...of, epoch: run.epoch, refusals, nowMs: clock.nowMs() });
      run.refusals = refusals;
    },
    async noteJob(job) {
      // Also of a run that was stopped: whoever goes on with the task goes on with this job.
      await note({ kind: "note_job", ...of, epoch: run.epoch, job, nowMs: clock.nowMs() });
      failpoint("task.job_noted");
    },
  };
}

function pause(clock: Clock): Promise<void> {
  return new Promise((resolve) => clock.setTimer(RETRY_MS, resolve));
}
