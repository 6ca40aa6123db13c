import { present } from "../../core/json/json-value.ts";
import type { MicroCredits } from "../../core/money/credits.ts";
import type { Usage } from "../../core/money/usage.ts";
import type { TaskFailure, TaskKind } from "../../core/task.ts";
import type { Attempt, RequestTimeline } from "../../ledger/commands.ts";
import type { Share } from "../../ledger/task-commands.ts";
import type { TaskOutcome, TaskStop } from "./job.ts";

/** The outcome of a job's promise. */
export type JobResult =
  | { readonly outcome: TaskOutcome }
  | { readonly error: unknown }
  /** It was told to stop, and did not in time. */
  | "hung";

/** How a run must be ended in the store. */
export type RunEnd =
  | Extract<TaskOutcome, { kind: "completed" }>
  | RunFailure
  | { readonly kind: "released" }
  /** Another run may have the task now: nothing is written. */
  | { readonly kind: "lost" };

export interface RunFailure {
  readonly kind: "failed";
  readonly failure: TaskFailure;
  /** Whether the provider may have worked for nothing. */
  readonly unfinished: boolean;
  readonly share?: Share;
  readonly timeline: RequestTimeline | undefined;
}

/** A run whose end is written, for whoever counts. */
export interface EndedRun {
  readonly kind: TaskKind;
  readonly model: string;
  readonly provider: string;
  readonly end: RunEnd["kind"];
  readonly attempts: readonly Attempt[];
  /** Set when it has completed. */
  readonly spent:
    | { readonly usage: Usage; readonly charge: MicroCredits; readonly rates: readonly number[] }
    | undefined;
}

/** The state of a run when it ends. */
export interface RunFacts {
  /** Why it was told to stop; `undefined` when it was not. */
  readonly stopped: TaskStop["reason"] | undefined;
  /** Whether a provider may have begun the job, in any run. */
  readonly mayBeBegun: boolean;
  readonly timeoutSec: number;
  /** Set when the job lets the run ask. */
  readonly timeline: RequestTimeline | undefined;
}

/**
 * How a run ends, by the result of its job. A completed result counts whatever the run was told meanwhile; the store
 * refuses one that came after the deadline.
 */
export function runEnd(result: JobResult, facts: RunFacts): RunEnd {
  const { stopped } = facts;
  const outcome = result !== "hung" && "outcome" in result ? result.outcome : undefined;
  if (outcome?.kind === "completed") return outcome;
  if (stopped === "lost") return { kind: "lost" };
  if (stopped === "deadline") return timedOut(facts, outcome);
  if (outcome?.kind === "failed") return { ...outcome, timeline: facts.timeline };
  if (stopped === "client_gone") return failed(CLIENT_GONE, facts);
  // After a stop the job's rejection is the stop itself, in the words of whatever it waited for.
  if (stopped !== undefined || outcome !== undefined) return { kind: "released" };
  return failed("The generation failed.", facts);
}

/** The failure of a task that its client no longer waits for. */
export const CLIENT_GONE = "The client went away before the work was done.";

/** The end of a run whose deadline came. */
export function timedOut({ mayBeBegun, timeoutSec, timeline }: RunFacts, outcome?: TaskOutcome): RunFailure {
  return {
    kind: "failed",
    failure: { type: "timeout_error", message: timeoutMessage(timeoutSec) },
    unfinished: outcome?.kind === "failed" ? outcome.unfinished : mayBeBegun,
    ...(outcome?.kind === "failed" ? present({ share: outcome.share }) : {}),
    timeline,
  };
}

/** The message for the client of a task whose deadline came, pending or running. */
export function timeoutMessage(timeoutSec: number): string {
  return `The task did not end within its timeout of ${timeoutSec} seconds, which counts the time in the queue.`;
}

/** The end of a run without a result. */
export function failed(message: string, { mayBeBegun, timeline }: RunFacts): RunFailure {
  return { kind: "failed", failure: { type: "generation_error", message }, unfinished: mayBeBegun, timeline };
}
