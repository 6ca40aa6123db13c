import type { MicroCredits } from "../../core/credits.ts";
import type { Hold } from "../../core/hold.ts";
import type { TaskFailure, TaskKind, TaskResult } from "../../core/task.ts";
import type { Usage, UsageFlag } from "../../core/usage.ts";
import type { RequestTimeline } from "../../ledger/commands.ts";

/**
 * Does a task's job. A run calls it once it has claimed the task, and ends the task by what it resolves to; one that
 * rejects fails with `generation_error`. It must stop soon after `run.signal` is aborted.
 */
export type TaskJob = (run: TaskRun) => Promise<TaskOutcome>;

/** One run of a task, by the process that owns it now. */
export interface TaskRun {
  readonly id: string;
  readonly kind: TaskKind;
  readonly accountId: string;
  readonly requestId: string;
  readonly model: string;
  readonly provider: string;
  /** What pays for it, with the prices that were fixed when it was submitted. */
  readonly hold: Hold;
  /** The request, as it was submitted. */
  readonly payload: unknown;
  /** What the provider calls the job, when an earlier run came so far. */
  readonly job: string | null;
  /** How often the provider was about to be sent it, by earlier runs, */
  readonly attempts: number;
  /** and how often of these it did not take it for sure. */
  readonly refusals: number;
  readonly createdAtMs: number;
  readonly deadlineMs: number;
  /** Aborted with a `TaskStop` when the job is to stop. */
  readonly signal: AbortSignal;
  /** To be awaited before an attempt, which sends the provider the task: durable when it resolves; rejects once another owns the task. */
  beginAttempt(): Promise<void>;
  /** To be awaited when the last attempt came to nothing for sure: durable when it resolves; rejects likewise. */
  noteRefusal(): Promise<void>;
  /** To be awaited before the job is polled: durable when it resolves; rejects once another owns the task. */
  noteJob(job: string): Promise<void>;
}

/** Why a run is to stop. */
export class TaskStop extends Error {
  readonly reason: "deadline" | "client_gone" | "lost" | "shutdown";

  constructor(reason: TaskStop["reason"]) {
    super(`The task's run is to stop: ${reason}.`);
    this.name = "TaskStop";
    this.reason = reason;
  }
}

/** How a run ended. */
export type TaskOutcome =
  | {
      readonly kind: "completed";
      readonly result: TaskResult;
      readonly used: MicroCredits;
      readonly usage: Usage;
      readonly flags: readonly UsageFlag[];
      readonly timeline: RequestTimeline;
    }
  | {
      readonly kind: "failed";
      readonly failure: TaskFailure;
      /** Whether the provider may have worked for nothing: the operator's loss. */
      readonly unfinished: boolean;
      readonly timeline?: RequestTimeline;
    }
  /** It was stopped to go on elsewhere or later: the task stays as it is. */
  | { readonly kind: "released" };
