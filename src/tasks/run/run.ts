import type { Clock, Timer } from "../../core/time/clock.ts";
import type { Failpoint } from "../../core/failpoint.ts";
import { present } from "../../core/json/json-value.ts";
import { describeError, type Log, type LogFields } from "../../core/log/log.ts";
import { mayBeBegun } from "../../core/task.ts";
import type { Engine as StoreEngine } from "../../db/engine.ts";
import type { AnswerTo, RequestTimeline } from "../../ledger/commands.ts";
import type { ClaimTask, TaskCommand } from "../../ledger/task-commands.ts";
import { CommandRefused, type Writer } from "../../ledger/writer.ts";
import { usageText } from "../../ledger/written-text.ts";
import { type ClaimedTask, type ClaimedTaskParts, readClaimed } from "./claimed-task.ts";
import type { Endings } from "../endings.ts";
import { type TaskJob, type TaskRun, TaskStop } from "./job.ts";
import { createLease, type Lease } from "./lease.ts";
import type { Picked } from "../queue/queue.ts";
import {
  type EndedRun,
  failed,
  type JobResult,
  type RunEnd,
  type RunFacts,
  type RunFailure,
  runEnd,
  timedOut,
} from "./run-end.ts";
import { createRunWriter, type RunWriter } from "./run-writer.ts";
import type { TaskSettings } from "../settings.ts";

/** What runs are made of. */
export interface RunParts extends ClaimedTaskParts {
  readonly storeEngine: StoreEngine;
  readonly writer: Writer;
  readonly clock: Clock;
  readonly log: Log;
  readonly failpoint: Failpoint;
  readonly bootId: string;
  readonly endings: Endings;
  readonly doJob: TaskJob;
  readonly settings: () => TaskSettings;
  /** How long a lease lasts. */
  readonly leaseMs: number;
  /** Time for a job to stop. */
  readonly graceMs: number;
  /** Told when a run has ended and its end is written. */
  readonly onRunEnd?: ((ended: EndedRun) => void) | undefined;
  /** Aborted when this process writes nothing any more. */
  readonly gone: AbortSignal;
}

/** One task in the hands of this process, from its claim to its end. */
export interface Run {
  /** Claims the task; to be called first, and `toEnd` only where the answer is ok. Rejects while the store is away. */
  claim(): Promise<AnswerTo<ClaimTask>>;
  /** Runs the job and ends the task. Never rejects; resolves with how the run ended. */
  toEnd(): Promise<RunEnd["kind"]>;
  /** Renews the lease; false while the store is away. */
  renew(): Promise<boolean>;
  /** Tells the job to stop; the first reason counts. */
  stop(reason: TaskStop["reason"]): void;
}

/** A run of a picked task. */
export function createRun(parts: RunParts, picked: Picked): Run {
  return new OneRun(parts, picked);
}

class OneRun implements Run {
  readonly #parts: RunParts;
  readonly #picked: Picked;
  readonly #writer: RunWriter;
  readonly #lease: Lease;
  /** Aborted with a `TaskStop`. */
  readonly #stopping = new AbortController();
  #epoch: number;
  /** Where the task is. */
  #provider: string;
  /** How often any run was about to send the task to the provider; 0 until it was read. */
  #attempts = 0;
  /** How often of these the provider surely did not take it. */
  #refusals = 0;
  /** The job sets it before it sends anything. */
  #timeline: (() => RequestTimeline) | undefined;
  /** `claiming`: the store has not answered the claim; `ending`: the job is done, and its end is being written. */
  #phase: "claiming" | "working" | "ending" | "ended" = "claiming";

  constructor(parts: RunParts, picked: Picked) {
    this.#parts = parts;
    this.#picked = picked;
    this.#epoch = picked.task.epoch;
    this.#provider = picked.provider;
    this.#writer = createRunWriter({
      ...parts,
      onTrouble: (error) => this.#tell("warn", "the store did not take what became of a task", error),
    });
    this.#lease = createLease(parts.clock, () => this.stop("lost"));
  }

  stop(reason: TaskStop["reason"]): void {
    if (!this.#stopping.signal.aborted) this.#stopping.abort(new TaskStop(reason));
  }

  async claim(): Promise<AnswerTo<ClaimTask>> {
    const { writer, leaseMs, failpoint } = this.#parts;
    const command = claimCommand(this.#parts, this.#picked);
    const answer = await this.#lease.extend(leaseMs, () => writer.submit(command));
    if (answer.ok) {
      this.#epoch = answer.epoch;
      this.#phase = "working";
      failpoint("task.claimed");
    }
    return answer;
  }

  async renew(): Promise<boolean> {
    const { writer, clock, leaseMs } = this.#parts;
    // Before the claim is answered the task has the epoch of an earlier run: a renewal would be answered as lost.
    if (this.#phase === "claiming" || this.#hasEnded() || this.#writer.isLost()) return true;
    // A run that stops as lost lets others have the task; one whose end is being written does not.
    if (this.#phase === "working" && this.#stopReason() === "lost") return true;
    const steadyMs = clock.steadyMs();
    try {
      const answer = await this.#lease.extend(leaseMs, () =>
        writer.submit({ kind: "renew", ...this.#named(), leaseMs, steadyMs }),
      );
      if (!answer.ok && !this.#hasEnded()) {
        this.#writer.lose();
        this.stop("lost");
      }
      return true;
    } catch {
      return false;
    }
  }

  async toEnd(): Promise<RunEnd["kind"]> {
    const { clock, log } = this.#parts;
    const { deadlineMs } = this.#picked.task;
    const deadline = clock.setTimer(Math.max(0, deadlineMs - clock.steadyMs()), () => this.stop("deadline"));
    try {
      const result = await this.#jobResult();
      this.#phase = "ending";
      const stopped = this.#stopReason();
      if (result === "hung") log.error("the job of a task did not stop in time", this.#about());
      else if ("error" in result && stopped === undefined)
        this.#tell("error", "the work on a task failed", result.error);
      return await this.#end(runEnd(result, this.#facts()));
    } catch (error) {
      this.#tell("error", "a task could not be ended", error);
      return "lost";
    } finally {
      this.#phase = "ended";
      deadline.cancel();
      this.#lease.end();
    }
  }

  /** The result of the job, or that it did not stop in time. */
  async #jobResult(): Promise<JobResult> {
    const { clock, graceMs } = this.#parts;
    const { signal } = this.#stopping;
    const { promise, resolve } = Promise.withResolvers<JobResult>();
    let timer: Timer | undefined;
    const losePatience = (): void => void (timer = clock.setTimer(graceMs, () => resolve("hung")));
    if (signal.aborted) losePatience();
    else signal.addEventListener("abort", losePatience, { once: true });
    try {
      return await Promise.race([this.#doJob(), promise]);
    } finally {
      signal.removeEventListener("abort", losePatience);
      timer?.cancel();
    }
  }

  async #doJob(): Promise<JobResult> {
    const { signal } = this.#stopping;
    try {
      const task = await readClaimed(this.#parts, this.#picked.task.id, signal);
      this.#attempts = task.attempts;
      this.#refusals = task.refusals;
      signal.throwIfAborted();
      return { outcome: await this.#parts.doJob(this.#asSeenByJob(task)) };
    } catch (error) {
      return { error };
    }
  }

  #asSeenByJob(claimed: ClaimedTask): TaskRun {
    const { failpoint } = this.#parts;
    const { task, provider } = this.#picked;
    const { signal } = this.#stopping;
    const { id, kind, accountId, requestId, model, createdAtMs, deadlineMs, terms } = task;
    return {
      id,
      kind,
      accountId,
      requestId,
      model,
      createdAtMs,
      deadlineMs,
      ...claimed,
      by: terms.by,
      provider,
      signal,
      follow: (timeline) => void (this.#timeline = timeline),
      beginAttempt: async (at) => {
        signal.throwIfAborted();
        const attempt = this.#attempts + 1;
        const to = at === undefined || at.provider === this.#provider ? {} : { to: at };
        const command = { kind: "attempt", ...this.#named(), attempt, ...to } as const;
        if ((await this.#note(command, () => signal.aborted)) === "full") return "full";
        this.#attempts = attempt;
        this.#provider = at?.provider ?? this.#provider;
        failpoint("task.attempted");
        if ("to" in to) failpoint("task.moved");
        // A stopped run must not send.
        signal.throwIfAborted();
        return "begun";
      },
      noteRefusal: async () => {
        const refusals = this.#refusals + 1;
        await this.#note({ kind: "note_refusal", ...this.#named(), refusals });
        this.#refusals = refusals;
      },
      noteJob: async (job) => {
        // Also for a run that was stopped: the next run goes on with this job.
        await this.#note({ kind: "note_job", ...this.#named(), job });
        failpoint("task.job_noted");
      },
    };
  }

  async #note(command: TaskCommand, until?: () => boolean): Promise<"noted" | "full"> {
    const answer = await this.#writer.submit(command, until);
    if (answer?.ok === true) return "noted";
    if (answer?.reason === "full") return "full";
    if (this.#writer.isLost()) this.stop("lost");
    throw this.#stopping.signal.reason ?? new TaskStop("lost");
  }

  /**
   * Ends the task in the store as its run ended, and tells those who wait. Where the store goes on refusing that end,
   * the task must not keep its hold and its place: it then ends as failed.
   */
  async #end(end: RunEnd): Promise<RunEnd["kind"]> {
    try {
      switch (end.kind) {
        case "completed":
          return await this.#finish(end);
        case "failed":
          return await this.#fail(end);
        case "released":
          await this.#writer.submit({ kind: "release", ...this.#named() });
          return this.#tellEnd("released");
        case "lost":
          return this.#tellEnd("lost");
      }
    } catch (error) {
      if (!(error instanceof CommandRefused) || end.kind === "released") throw error;
      this.#tell("error", "the end of a task was refused", error);
      return this.#fail(failed("The generation failed.", this.#facts()));
    }
  }

  async #finish(end: Extract<RunEnd, { kind: "completed" }>): Promise<RunEnd["kind"]> {
    const { clock, failpoint, settings, endings } = this.#parts;
    const { result, used, usage, rates, flags, cost, timeline } = end;
    const steadyMs = clock.steadyMs();
    failpoint("task.before_finish");
    const answer = await this.#writer.submit({
      kind: "finish",
      ...this.#named(),
      result: JSON.stringify(result),
      filesUntilMs: steadyMs + settings().filesMs,
      used,
      usage: usageText(usage),
      flags,
      cost,
      timeline,
      steadyMs,
    });
    if (answer?.ok === false && answer.reason === "deadline")
      return this.#fail(timedOut({ ...this.#facts(), stopped: "deadline" }));
    if (answer?.ok !== true) return this.#lost();
    failpoint("task.after_finish");
    this.#tellEnd("completed", timeline, { usage, charge: answer.charged, rates });
    endings.ended(this.#picked.task.id);
    return "completed";
  }

  async #fail({ failure, unfinished, share, timeline }: RunFailure): Promise<RunEnd["kind"]> {
    this.#parts.failpoint("task.before_fail");
    const answer = await this.#writer.submit({
      kind: "fail",
      ...this.#named(),
      type: failure.type,
      message: failure.message,
      unfinished,
      ...present({ share, timeline }),
    });
    if (answer?.ok !== true) return this.#lost();
    this.#tellEnd("failed", timeline);
    this.#parts.endings.ended(this.#picked.task.id);
    return "failed";
  }

  #lost(): "lost" {
    this.#parts.log.warn("a task was lost to another process, or had ended", this.#about());
    this.#tellEnd("lost");
    return "lost";
  }

  /** Before anyone who waits for the task. */
  #tellEnd<End extends EndedRun["end"]>(
    end: End,
    timeline?: RequestTimeline,
    spent?: EndedRun["spent"],
  ): End {
    const { kind, model } = this.#picked.task;
    this.#parts.onRunEnd?.({
      kind,
      model,
      provider: this.#provider,
      end,
      attempts: timeline?.attempts ?? [],
      spent,
    });
    return end;
  }

  /** The members that name the run in its commands. */
  #named() {
    const { id, holdId, accountId, keyId } = this.#picked.task;
    const nowMs = this.#parts.clock.nowMs();
    return { task: id, hold: holdId, account: accountId, key: keyId, epoch: this.#epoch, nowMs };
  }

  #facts(): RunFacts {
    const began = { attempts: this.#attempts, refusals: this.#refusals };
    const { timeoutSec } = this.#picked.task;
    return {
      stopped: this.#stopReason(),
      mayBeBegun: mayBeBegun(began),
      timeoutSec,
      timeline: this.#timeline?.(),
    };
  }

  #stopReason(): TaskStop["reason"] | undefined {
    const reason: unknown = this.#stopping.signal.reason;
    return reason instanceof TaskStop ? reason.reason : undefined;
  }

  /** Read anew after each wait: the answer changes meanwhile. */
  #hasEnded(): boolean {
    return this.#phase === "ended";
  }

  /** The fields of a log line about the run. */
  #about(): LogFields {
    const { id, requestId, accountId, model } = this.#picked.task;
    return { task: id, request_id: requestId, account_id: accountId, model, provider: this.#provider };
  }

  #tell(level: "warn" | "error", what: string, error: unknown): void {
    this.#parts.log[level](what, { ...this.#about(), error: describeError(error) });
  }
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
    // A store in a file belongs to this process while it has the lock of the folder.
    alone: storeEngine === "sqlite",
    steadyMs: clock.steadyMs(),
    nowMs: clock.nowMs(),
  };
}
