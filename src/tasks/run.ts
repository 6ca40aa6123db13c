import { describeError } from "../core/log.ts";
import { mayBeBegun } from "../core/task.ts";
import type { AnswerTo } from "../ledger/commands.ts";
import type { ClaimTask } from "../ledger/task-commands.ts";
import { CommandRefused } from "../ledger/writer.ts";
import { usageText } from "../ledger/written-text.ts";
import { createFence } from "./fence.ts";
import { createLease } from "./lease.ts";
import type { Picked } from "./queue.ts";
import { failed, type RunEnd, type RunFailure, runEnd, timedOut } from "./run-end.ts";
import { aboutRun, type RunParts, type RunState } from "./run-parts.ts";
import { settle } from "./run-work.ts";
import { TaskStop } from "./runner.ts";

/** One task in the hands of this process, from its claim to its end. */
export interface Run {
  /** Claims the task; to be called first, and `work` only where the answer is ok. Rejects while the store is away. */
  claim(): Promise<AnswerTo<ClaimTask>>;
  /** Does the work and ends the task. Never rejects; tells how the run ended. */
  work(): Promise<RunEnd["kind"]>;
  /** Lengthens the lease; false while the store is away. */
  renew(): Promise<boolean>;
  /** Tells the work to stop; the first reason counts. */
  stop(reason: TaskStop["reason"]): void;
}

/** A run of a task that was picked. */
export function createRun(parts: RunParts, picked: Picked): Run {
  const { writer, clock, log, failpoint, leaseMs } = parts;
  const { id, holdId, accountId, keyId, epoch, deadlineMs } = picked.task;
  const stopping = new AbortController();
  const stop = (reason: TaskStop["reason"]): void => {
    if (!stopping.signal.aborted) stopping.abort(new TaskStop(reason));
  };
  const run: RunState = {
    picked,
    of: { task: id, hold: holdId, account: accountId, key: keyId },
    fence: createFence({
      ...parts,
      onTrouble: (error) =>
        log.warn("the store did not take what became of a task", {
          ...aboutRun(picked),
          error: describeError(error),
        }),
    }),
    lease: createLease(clock, () => stop("lost")),
    stopping,
    epoch,
    attempts: 0,
    refusals: 0,
    phase: "claiming",
  };

  return {
    stop,

    async claim() {
      const command = claimCommand(parts, picked);
      const answer = await run.lease.extend(leaseMs, () => writer.submit(command));
      if (answer.ok) {
        run.epoch = answer.epoch;
        run.phase = "working";
        failpoint("task.claimed");
      }
      return answer;
    },

    async renew() {
      // Before the claim is answered the task's epoch is another's: a renewal by it would be told that the run is lost.
      if (run.phase === "claiming" || run.phase === "ended" || run.fence.isLost()) return true;
      // What was stopped as lost is not kept from others; what is being written is.
      if (run.phase === "working" && stopReason(run) === "lost") return true;
      const times = { nowMs: clock.nowMs(), steadyMs: clock.steadyMs() };
      try {
        const answer = await run.lease.extend(leaseMs, () =>
          writer.submit({ kind: "renew", ...run.of, epoch: run.epoch, leaseMs, ...times }),
        );
        if (!answer.ok && !hasEnded(run)) {
          run.fence.lose();
          stop("lost");
        }
        return true;
      } catch {
        return false;
      }
    },

    async work() {
      const deadline = clock.setTimer(Math.max(0, deadlineMs - clock.steadyMs()), () => stop("deadline"));
      try {
        const settled = await settle(parts, run);
        run.phase = "ending";
        const stopped = stopReason(run);
        if (settled === "hung")
          log.error("the work on a task did not stop when it was told to", aboutRun(picked));
        else if ("error" in settled && stopped === undefined)
          log.error("the work on a task failed", {
            ...aboutRun(picked),
            error: describeError(settled.error),
          });
        const { timeoutSec } = picked.task;
        return await endTask(
          parts,
          run,
          runEnd(settled, { stopped, mayBeBegun: mayBeBegun(run), timeoutSec }),
        );
      } catch (error) {
        log.error("a task could not be ended", { ...aboutRun(picked), error: describeError(error) });
        return "lost";
      } finally {
        run.phase = "ended";
        deadline.cancel();
        run.lease.end();
      }
    },
  };
}

/** Asked anew after each wait: the answer changes meanwhile. */
function hasEnded({ phase }: RunState): boolean {
  return phase === "ended";
}

function stopReason({ stopping }: RunState): TaskStop["reason"] | undefined {
  const reason: unknown = stopping.signal.reason;
  return reason instanceof TaskStop ? reason.reason : undefined;
}

function claimCommand(
  { clock, storeEngine, bootId, leaseMs }: RunParts,
  { task, provider, providerLimit }: Picked,
): ClaimTask {
  return {
    kind: "claim",
    task: task.id,
    hold: task.holdId,
    account: task.accountId,
    key: task.keyId,
    seenEpoch: task.epoch,
    boot: bootId,
    provider,
    providerLimit,
    leaseMs,
    // A store in a file belongs to this process for as long as it has the lock of the folder.
    alone: storeEngine === "sqlite",
    steadyMs: clock.steadyMs(),
    nowMs: clock.nowMs(),
  };
}

/**
 * Ends the task in the store as its run ended, and tells those who wait. An end that the store goes on refusing must not
 * keep the task, its hold and its place: it then ends as one that went wrong.
 */
async function endTask(parts: RunParts, run: RunState, end: RunEnd): Promise<RunEnd["kind"]> {
  try {
    return await writeEnd(parts, run, end);
  } catch (error) {
    if (!(error instanceof CommandRefused) || end.kind === "released") throw error;
    parts.log.error("the end of a task was refused", {
      ...aboutRun(run.picked),
      error: describeError(error),
    });
    return fail(parts, run, failed("The generation failed.", mayBeBegun(run)));
  }
}

async function writeEnd(parts: RunParts, run: RunState, end: RunEnd): Promise<RunEnd["kind"]> {
  switch (end.kind) {
    case "completed":
      return finish(parts, run, end);
    case "failed":
      return fail(parts, run, end);
    case "released": {
      const { fence, of, epoch } = run;
      await fence.insist({ kind: "release", ...of, epoch, nowMs: parts.clock.nowMs() });
      return "released";
    }
    case "lost":
      return "lost";
  }
}

async function finish(
  parts: RunParts,
  run: RunState,
  { result, used, usage, flags, timeline }: Extract<RunEnd, { kind: "completed" }>,
): Promise<RunEnd["kind"]> {
  const { clock, failpoint, settings, endings } = parts;
  const steadyMs = clock.steadyMs();
  failpoint("task.before_finish");
  const answer = await run.fence.insist({
    kind: "finish",
    ...run.of,
    epoch: run.epoch,
    result: JSON.stringify(result),
    filesUntilMs: steadyMs + settings().filesMs,
    used,
    usage: usageText(usage),
    flags,
    timeline,
    steadyMs,
    nowMs: clock.nowMs(),
  });
  if (answer?.ok === false && answer.reason === "deadline") {
    const { timeoutSec } = run.picked.task;
    return fail(parts, run, timedOut({ stopped: "deadline", mayBeBegun: mayBeBegun(run), timeoutSec }));
  }
  if (answer?.ok !== true) return lost(parts, run);
  failpoint("task.after_finish");
  endings.ended(run.of.task);
  return "completed";
}

async function fail(
  parts: RunParts,
  run: RunState,
  { failure, unfinished, timeline }: RunFailure,
): Promise<RunEnd["kind"]> {
  const { clock, failpoint, endings } = parts;
  failpoint("task.before_fail");
  const answer = await run.fence.insist({
    kind: "fail",
    ...run.of,
    epoch: run.epoch,
    type: failure.type,
    message: failure.message,
    unfinished,
    ...(timeline === undefined ? {} : { timeline }),
    nowMs: clock.nowMs(),
  });
  if (answer?.ok !== true) return lost(parts, run);
  endings.ended(run.of.task);
  return "failed";
}

function lost({ log }: RunParts, { picked }: RunState): "lost" {
  log.warn("a task was lost to another process, or had ended", aboutRun(picked));
  return "lost";
}
