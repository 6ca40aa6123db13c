import type { MicroCredits } from "../core/money/credits.ts";
import type { TaskErrorType, TaskKind } from "../core/task.ts";
import type { UsageFlag } from "../core/money/usage.ts";
import type { HoldCredit, HoldRefusal, RequestTimeline } from "./hold-commands.ts";

/**
 * Every change to a task. Each moves the task and its money together: a reader of `completed` reads the charge too.
 * `epoch` is the fencing token: it rises with every claim, and a command with an earlier one is `lost`.
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

/** Sets credit aside and puts a task in the queue: both or neither. The hold is open as long as the task. */
export interface SubmitTask extends Omit<HoldCredit, "kind" | "elastic"> {
  readonly kind: "submit";
  readonly task: string;
  readonly taskKind: TaskKind;
  /** The sealed request: the bytes of a text, in shared memory where they are many; deleted when the task ends. */
  readonly payload: Uint8Array;
  /** JSON of what its price depends on beside counts, and of the order of its routes: see `TaskTerms`. */
  readonly terms: string;
  readonly warnings: readonly string[];
  readonly timeoutSec: number;
  /** By the steady clock. */
  readonly deadlineMs: number;
  /** By the steady clock: the task stays pending until then. */
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

/** A provider, and how many tasks it may run at a time over all processes. */
export interface ProviderPlace {
  readonly provider: string;
  readonly providerLimit: number;
}

/**
 * Takes a task for this process: a pending one, or a running one whose owner has not renewed its lease by the store's
 * clock. Where `alone`, it also takes a running one of any owner but this process. It takes a running one where it is,
 * at no other provider, and none once the deadline has come. The task's progress (its job, its attempts) must be read
 * after the claim: until then the owner before may have gone on.
 */
export interface ClaimTask extends OfTask, ProviderPlace {
  readonly kind: "claim";
  /** The task's epoch when it was read; the claim adds one. */
  readonly seenEpoch: number;
  readonly boot: string;
  readonly leaseMs: number;
  /** No other process shares the store: another owner of the task is dead. */
  readonly alone: boolean;
  /** The steady time of the process: for deadlines, and for leases where the store is embedded. */
  readonly steadyMs: number;
}

/** The run is about to send the task to the provider, for the `attempt`th time. */
export interface AttemptTask extends OfRun {
  readonly kind: "attempt";
  readonly attempt: number;
  /** The task goes to this provider, since no other has begun it or may have; absent: it stays where it is. */
  readonly to?: ProviderPlace;
}

/** The provider surely did not take the task in `refusals` of the attempts so far. */
export interface NoteRefusal extends OfRun {
  readonly kind: "note_refusal";
  /** All of them, over all runs. */
  readonly refusals: number;
}

/** Stores the provider's name for the job. */
export interface NoteJob extends OfRun {
  readonly kind: "note_job";
  readonly job: string;
}

/** Renews the lease of a running task, from now by the store's clock. */
export interface RenewTask extends OfRun {
  readonly kind: "renew";
  readonly leaseMs: number;
  /** The steady time of the process: for deadlines, and for leases where the store is embedded. */
  readonly steadyMs: number;
}

/** Releases a running task for any other process to take at once. */
export interface ReleaseTask extends OfRun {
  readonly kind: "release";
}

/** Ends a running task with its result, and charges the usage. */
export interface FinishTask extends OfRun {
  readonly kind: "finish";
  /** The steady time of the process: for deadlines, and for leases where the store is embedded. */
  readonly steadyMs: number;
  /** JSON of a `TaskResult`. */
  readonly result: string;
  readonly filesUntilMs: number;
  readonly used: MicroCredits;
  readonly usage: string;
  readonly flags: readonly UsageFlag[];
  /** What the operator owes the provider; absent where that is not known. */
  readonly cost?: MicroCredits | undefined;
  readonly timeline: RequestTimeline;
}

/** Ends a pending or a running task without a result and without a charge. */
export interface FailTask extends OfRun {
  readonly kind: "fail";
  readonly type: TaskErrorType;
  readonly message: string;
  /**
   * Whether a provider may still be working on it, or have worked for nothing: its expected cost is then booked as the
   * operator's loss.
   */
  readonly unfinished: boolean;
  /** The part of an unfinished task that is lost; absent: all of it. */
  readonly share?: Share;
  readonly timeline?: RequestTimeline;
}

/** Of so many equal parts, one at least, this many, one at least. */
export interface Share {
  readonly parts: number;
  readonly of: number;
}

/** Ends a pending task because its client asked for it. */
export interface CancelTask extends OfTask {
  readonly kind: "cancel";
}

/** The files of an ended task are deleted. */
export interface ForgetFiles extends OfTask {
  readonly kind: "forget_files";
}

/** Why a command of a run did nothing: another run has the task, or it has ended. */
type Lost = { readonly ok: false; readonly reason: "lost" };

type Taken = { readonly ok: true };

/** The answer to each command. */
export interface TaskAnswers {
  submit:
    | { readonly ok: true; readonly amount: MicroCredits }
    | { readonly ok: false; readonly reason: HoldRefusal | "too_many_pending" };
  claim:
    | { readonly ok: true; readonly epoch: number }
    /**
     * `taken`: another process has it, or it has another epoch or provider now. `full`: the provider has as many as it
     * may. `closed`: it is pending, and its account is closed.
     */
    | { readonly ok: false; readonly reason: "taken" | "ended" | "deadline" | "full" | "closed" };
  /** `full`: the provider that the task was to go to has as many as it may. */
  attempt: Taken | Lost | { readonly ok: false; readonly reason: "full" };
  note_refusal: Taken | Lost;
  note_job: Taken | Lost;
  renew: Taken | Lost;
  release: Taken | Lost;
  finish:
    | { readonly ok: true; readonly charged: MicroCredits }
    | Lost
    /** Too late: the task must fail. */
    | { readonly ok: false; readonly reason: "deadline" };
  fail: Taken | Lost;
  /** A task that was cancelled before is answered with ok. */
  cancel:
    | { readonly ok: true }
    | { readonly ok: false; readonly reason: "unknown_task" | "started" | "ended" };
  forget_files: { readonly ok: true };
}
