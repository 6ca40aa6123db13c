import type { Clock } from "../core/clock.ts";
import type { Failpoint } from "../core/failpoint.ts";
import type { Log, LogFields } from "../core/log.ts";
import type { Engine as StoreEngine } from "../db/engine.ts";
import type { Database } from "../db/schema.ts";
import type { Writer } from "../ledger/writer.ts";
import type { Cipher } from "../runtime/cipher.ts";
import type { Endings } from "./endings.ts";
import type { Fence } from "./fence.ts";
import type { Lease } from "./lease.ts";
import type { Picked } from "./queue.ts";
import type { RequestCache } from "./request-cache.ts";
import type { TaskRunner } from "./runner.ts";
import type { TaskSettings } from "./settings.ts";

/** What runs are made of. */
export interface RunParts {
  readonly database: Database;
  readonly storeEngine: StoreEngine;
  readonly writer: Writer;
  readonly clock: Clock;
  readonly log: Log;
  readonly failpoint: Failpoint;
  readonly bootId: string;
  readonly cipher: Cipher;
  readonly endings: Endings;
  readonly requests: RequestCache;
  readonly runner: TaskRunner;
  readonly settings: () => TaskSettings;
  /** For so long a run has its task unless it renews its lease. */
  readonly leaseMs: number;
  /** A runner that was told to stop has this long to do so. */
  readonly graceMs: number;
  /** Aborted when this process writes nothing any more. */
  readonly gone: AbortSignal;
}

/** What the parts of one run share. */
export interface RunState {
  readonly picked: Picked;
  /** Names the task in its commands. */
  readonly of: {
    readonly task: string;
    readonly hold: string;
    readonly account: string;
    readonly key: string;
  };
  readonly fence: Fence;
  readonly lease: Lease;
  /** Aborted with a `TaskStop`. */
  readonly stopping: AbortController;
  epoch: number;
  /** How often the provider was about to be sent the task, by all runs; 0 until it was read. */
  attempts: number;
  /** How often of these it did not take the task for sure. */
  refusals: number;
  /** `claiming`: nobody knows yet whose it is; `ending`: the work is done, and is being written. */
  phase: "claiming" | "working" | "ending" | "ended";
}

/** What a line of the log says of a run. */
export function aboutRun({ task, provider }: Picked): LogFields {
  const { id, requestId, accountId, model } = task;
  return { task: id, request_id: requestId, account_id: accountId, model, provider };
}
