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
    const { payload } = parts.requests.take(run.of.task) ?? (await openSealed(parts, run));
    run.stopping.signal.throwIfAborted();
    return { outcome: await parts.runner(taskRun(parts, run, { ...stored, payload })) };
  } catch (error) {
    return { error };
  }
}

interface Stored {
  readonly hold: Hold;
  readonly job: string | null;
  readonly attempts: number;
  readonly refusals: number;
}

/** Reads how far the task had come; once it is ours, since until then another may have gone on with it. */
async function load({ database, clock }: RunParts, { of, stopping }: RunState): Promise<Stored> {
  const [row, hold] = await untilRead(clock, stopping.signal, () =>
    Promise.all([
      database
        .selectFrom("tasks")
        .select(["job", "attempts", "refusals"])
        .where("id", "=", of.task)
        .executeTakeFirst(),
      readTaskHold(database, of.task),
    ]),
  );
  if (row === undefined || hold === undefined) throw new Error(NOT_RUNNING);
  const { job, attempts, refusals } = row;
  return { job, attempts: Number(attempts), refusals: Number(refusals), hold };
}

/** The request of a task that another process has submitted, or this one before its start. */
async function openSealed({ database, clock, cipher }: RunParts, { of, stopping }: RunState) {
  const row = await untilRead(clock, stopping.signal, () =>
    database.selectFrom("task_payloads").select("sealed").where("task_id", "=", of.task).executeTakeFirst(),
  );
  // It goes when the task ends.
  if (row === undefined) throw new Error(NOT_RUNNING);
  return { payload: JSON.parse(await cipher.open(row.sealed)) as unknown };
}

const NOT_RUNNING = "The task is not in the store as one that runs.";

/** What `read` gives, however long the store is away. Rejects with the signal's reason once that is aborted. */
async function untilRead<Read>(clock: Clock, signal: AbortSignal, read: () => Promise<Read>): Promise<Read> {
  for (;;) {
    signal.throwIfAborted();
    try {
      return await read();
    } catch {
      await new Promise<void>((resolve) => clock.setTimer(RETRY_MS, resolve));
    }
  }
}

/** The run as its runner sees it. */
function taskRun(
  parts: RunParts,
  run: RunState,
  { payload, hold, job, attempts, refusals }: Stored & { readonly payload: unknown },
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
