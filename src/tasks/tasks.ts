import type { MicroCredits } from "../core/credits.ts";
import type { Model } from "../core/model.ts";
import type { PriceSnapshot } from "../core/price.ts";
import type { Task, TaskKind } from "../core/task.ts";
import type { HoldRefusal } from "../ledger/commands.ts";

/** Tasks as the use cases see them: submitted, read, waited for, cancelled. Only this folder changes their state. */
export interface Tasks {
  /** Sets credit aside and queues the task, or tells why not. Durable when it resolves. */
  submit(submission: TaskSubmission): Promise<Task | HoldRefusal | "too_many_pending">;
  /** The task of this account; `undefined` for any other id. Reads, and writes nothing. */
  find(kind: TaskKind, id: string, accountId: string): Promise<Task | undefined>;
  /** Cancels it while nobody has begun. `cancelled` also where it was before. */
  cancel(
    kind: TaskKind,
    id: string,
    accountId: string,
  ): Promise<"cancelled" | "started" | "ended" | "unknown_task">;
  /** The task once it has ended, whichever process ran it. Rejects with the signal's reason when that comes first. */
  ended(task: Task, signal: AbortSignal): Promise<Task>;
  /** Whoever waited for it has gone: it is cancelled, or stopped where it runs in this process. */
  abandon(task: Task): Promise<void>;
}

/** A request that has been admitted. */
export interface TaskSubmission {
  readonly kind: TaskKind;
  readonly accountId: string;
  readonly keyId: string;
  readonly requestId: string;
  readonly model: Model;
  readonly snapshot: PriceSnapshot;
  /** What is held: the most that it can cost. */
  readonly amount: MicroCredits;
  /** What the operator is taken to lose when a provider works for nothing. */
  readonly expectedCost: MicroCredits;
  /** Plain data; sealed where it is kept. */
  readonly payload: unknown;
  readonly warnings: readonly string[];
  readonly timeoutSec: number;
}
