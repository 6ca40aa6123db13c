import type { MicroCredits } from "../core/credits.ts";
import type { TaskErrorType, TaskKind } from "../core/task.ts";
import type { UsageFlag } from "../core/usage.ts";
import type { HoldCredit, HoldRefusal, RequestTimeline } from "./hold-commands.ts";

/**
 * Everything that may happen to a task. Each moves the task and its money together: who reads `completed` reads what
 * was charged. `epoch` is the fencing token: it goes up with every claim, and a command of an earlier one is `lost`.
 */
export type TaskCommand =
  | SubmitTask
  | ClaimTask
  | AttemptTask
  | NoteRefusal
  | NoteJob
  | RenewTask
  | ReleaseTask
  | FinishTask
  | FailTask
  | CancelTask
  | ForgetFiles;

/** Sets credit aside and puts a task in the queue: both or neither. Its hold lives as long as the task does. */
export interface SubmitTask extends Omit<HoldCredit, "kind" | "elastic"> {
  readonly kind: "submit";
  readonly task: string;
  readonly taskKind: TaskKind;
  /** The request, sealed: the bytes of a text, in shared memory where they are many; deleted when the task ends. */
  readonly payload: Uint8Array;
  /** JSON of what its price depends on beside counts: `{pricedAtMs, facts}`. */
  readonly terms: string;
  readonly warnings: readonly string[];
  readonly timeoutSec: number;
  /** By the steady clock. */
  readonly deadlineMs: number;
  /** By the steady clock, it is not to be begun before then; absent: at once. */
  readonly readyAtMs?: number;
  /** The request that submits it waits for its end: once this process is dead, the task has no client. */
  readonly awaited?: boolean;
  /** Pending tasks that the account may have, this one included. */
  readonly maxPending: number;
}

interface OfTask {
  readonly task: string;
  readonly account: string;
  readonly key: string;
  readonly hold: string;
  readonly nowMs: number;
}

interface OfRun extends OfTask {
  readonly epoch: number;
}

/**
 * Takes a task for this process: a pending one, or a running one whose owner has not renewed its lease by the store's
 * clock, or any owner but this process where `alone`. Not once the deadline has come. How far the task had come (its
 * job, its attempts) is to be read after the claim: until then its owner before may have gone on with it.
 */
export interface ClaimTask extends OfTask {
  readonly kind: "claim";
  /** The epoch that the task was seen at; the claim makes it one more. */
  readonly seenEpoch: number;
  readonly boot: string;
  readonly provider: string;
  /** Tasks that this provider may run at a time, over all processes. */
  readonly providerLimit: number;
  readonly leaseMs: number;
  /** No other process shares the store: another owner of the task is dead. */
  readonly alone: boolean;
  /** The steady time of the process: of deadlines, and of leases where the store is embedded. */
  readonly steadyMs: number;
}

/** Says that the provider is about to be sent the task, for the `attempt`th time. */
export interface AttemptTask extends OfRun {
  readonly kind: "attempt";
  readonly attempt: number;
}

/** Says that of the attempts so far so many came to nothing for sure: the provider did not take the task. */
export interface NoteRefusal extends OfRun {
  readonly kind: "note_refusal";
  /** All of them, over all runs. */
  readonly refusals: number;
}

/** Writes down what the provider calls the task. */
export interface NoteJob extends OfRun {
  readonly kind: "note_job";
  readonly job: string;
}

/** Lengthens the lease of a running task, from now by the store's clock. */
export interface RenewTask extends OfRun {
  readonly kind: "renew";
  readonly leaseMs: number;
  /** The steady time of the process: of deadlines, and of leases where the store is embedded. */
  readonly steadyMs: number;
}

/** Gives a running task up for any other process to take at once. */
export interface ReleaseTask extends OfRun {
  readonly kind: "release";
}

/** Ends a running task with its result, and charges what was used. */
export interface FinishTask extends OfRun {
  readonly kind: "finish";
  /** The steady time of the process: of deadlines, and of leases where the store is embedded. */
  readonly steadyMs: number;
  /** JSON of a `TaskResult`. */
  readonly result: string;
  readonly filesUntilMs: number;
  readonly used: MicroCredits;
  readonly usage: string;
  readonly flags: readonly UsageFlag[];
  readonly timeline: RequestTimeline;
}

/** Ends a pending or a running task without a result and without a charge. */
export interface FailTask extends OfRun {
  readonly kind: "fail";
  readonly type: TaskErrorType;
  readonly message: string;
  /**
   * Whether a provider may still be at work on it, or have been for nothing: its expected cost is then booked as the
   * operator's loss.
   */
  readonly unfinished: boolean;
  readonly timeline?: RequestTimeline;
}

/** Ends a pending task because its client asked for it. */
export interface CancelTask extends OfTask {
  readonly kind: "cancel";
}

/** Says that the files of an ended task are kept no longer. */
export interface ForgetFiles extends OfTask {
  readonly kind: "forget_files";
}

/** Why a command of a run did nothing: another has the task now, or it has ended. */
type Lost = { readonly ok: false; readonly reason: "lost" };

type Taken = { readonly ok: true };

/** What each command is answered with. */
export interface TaskAnswers {
  submit:
    | { readonly ok: true; readonly amount: MicroCredits }
    | { readonly ok: false; readonly reason: HoldRefusal | "too_many_pending" };
  claim:
    | { readonly ok: true; readonly epoch: number }
    /** `taken`: another has it, or it was seen at another epoch; `full`: the provider has as many as it may. */
    | { readonly ok: false; readonly reason: "taken" | "ended" | "deadline" | "full" };
  attempt: Taken | Lost;
  note_refusal: Taken | Lost;
  note_job: Taken | Lost;
  renew: Taken | Lost;
  release: Taken | Lost;
  finish:
    | { readonly ok: true; readonly charged: MicroCredits }
    | Lost
    /** It came too late: the task is to fail. */
    | { readonly ok: false; readonly reason: "deadline" };
  fail: Taken | Lost;
  /** A task that was cancelled before is answered with ok. */
  cancel:
    | { readonly ok: true }
    | { readonly ok: false; readonly reason: "unknown_task" | "started" | "ended" };
  forget_files: { readonly ok: true };
}
