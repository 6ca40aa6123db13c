import type { MicroCredits } from "../../core/money/credits.ts";
import type { Hold } from "../../core/money/hold.ts";
import type { RouteOrder } from "../../core/model.ts";
import type { TaskFailure, TaskKind, TaskResult } from "../../core/task.ts";
import type { Usage, UsageFlag } from "../../core/money/usage.ts";
import type { RequestTimeline } from "../../ledger/commands.ts";
import type { ProviderPlace, Share } from "../../ledger/task-commands.ts";

/**
 * Does a task's job. A run calls it once it has claimed the task, and ends the task by the outcome; a rejection fails
 * it with `generation_error`. It must stop soon after `run.signal` is aborted.
 */
export type TaskJob = (run: TaskRun) => Promise<TaskOutcome>;

/** One run of a task, by the process that owns it now. */
export interface TaskRun {
  readonly id: string;
  readonly kind: TaskKind;
  readonly accountId: string;
  readonly requestId: string;
  readonly model: string;
  /** Where the task is when the run begins. */
  readonly provider: string;
  /** The hold that pays for it, with the prices that were fixed when it was submitted. */
  readonly hold: Hold;
  /** The request, as it was submitted. */
  readonly payload: unknown;
  /** The order of routes that its client asked for; `undefined`: the model's own. */
  readonly by: RouteOrder | undefined;
  /** The provider's name for the job, where an earlier run got that far. */
  readonly job: string | null;
  /** How often earlier runs were about to send it to the provider, */
  readonly attempts: number;
  /** and how often of these the provider surely did not take it. */
  readonly refusals: number;
  readonly createdAtMs: number;
  readonly deadlineMs: number;
  /** Aborted with a `TaskStop` when the job must stop. */
  readonly signal: AbortSignal;
  /**
   * To be called before anything is sent. The run asks for the timeline when the task fails, also where the job did not
   * stop and comes to no outcome.
   */
  follow(timeline: () => RequestTimeline): void;
  /**
   * To be awaited before an attempt, which sends the task to the provider: durable when it resolves; rejects once
   * another run owns the task. `at` names the provider that the task is at from then on, where no other has begun it or
   * may have. Absent: it stays where it is. `full`: that provider has as many tasks as it may, and none is sent.
   */
  beginAttempt(at?: ProviderPlace): Promise<"begun" | "full">;
  /**
   * To be awaited when the provider surely did not take the last attempt: durable when it resolves; rejects likewise.
   */
  noteRefusal(): Promise<void>;
  /** To be awaited before the job is polled: durable when it resolves; rejects once another run owns the task. */
  noteJob(job: string): Promise<void>;
}

/** Why a run must stop. */
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
      /** What each token or unit of it costs: see `Charge`. */
      readonly rates: readonly number[];
      readonly flags: readonly UsageFlag[];
      /** What the operator owes the provider; absent where that is not known. */
      readonly cost?: MicroCredits | undefined;
      readonly timeline: RequestTimeline;
    }
  | {
      readonly kind: "failed";
      readonly failure: TaskFailure;
      /** Whether the provider may have worked for nothing: the operator's loss. */
      readonly unfinished: boolean;
      /** The part of it that may be lost; absent: all. */
      readonly share?: Share;
    }
  /** It was stopped to go on elsewhere or later: the task stays as it is. */
  | { readonly kind: "released" };
