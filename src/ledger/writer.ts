import { type Clock, wait } from "../core/time/clock.ts";
import { GatewayError } from "../core/errors.ts";
import type { Log } from "../core/log/log.ts";
import type { AnswerTo, Command, Outcome } from "./commands.ts";

/** The one writer of the process. Commands that wait together commit together; each gets its own answer. */
export interface Writer {
  /**
   * Resolves when the command is durable. Rejects with `overloaded_error` while the store takes no writes, and with
   * `CommandRefused` where it refuses this command.
   */
  submit<C extends Command>(command: C): Promise<AnswerTo<C>>;
  /** Resolves when nothing waits, and ends the writer; later commands are rejected. */
  close(): Promise<void>;
}

/** Runs one batch as one transaction. Rejects when the batch may have to be sent again. */
export interface Executor {
  execute(commands: readonly Command[]): Promise<readonly Outcome[]>;
  close(): Promise<void>;
}

/** Commands of one transaction at most, so that no answer waits for a very long one. */
const MAX_BATCH = 256;

/** Characters of tasks' requests in one transaction, unless one alone has more: other commands wait behind it. */
const MAX_PAYLOADS = 32 * 1024 * 1024;

/** Tries of a batch before its commands are refused. */
const MAX_ATTEMPTS = 3;

/** Time after which a batch is not retried: its callers get an error. */
const GIVE_UP_MS = 4_000;

/** How long a batch gathers while that brings it company: less than a sync of an ordinary disk takes. */
const GATHER_MS = 1;

/** More commands than this, over the last batch and this one, are many however slowly the machine works. */
const FEW = 5;

/** The store is well and refuses the command: it breaks an invariant, and would break it again. */
export class CommandRefused extends Error {
  constructor(reason: string) {
    super(`The store refused a command: ${reason}`);
    this.name = "CommandRefused";
  }
}

interface Waiting {
  readonly command: Command;
  readonly resolve: (answer: AnswerTo<Command>) => void;
  readonly reject: (error: GatewayError | CommandRefused) => void;
}

/**
 * A writer that hands batches to `executor`, one at a time: while one is written, the next gathers. A command can be
 * sent twice without harm, so a batch whose executor died is sent again. `pace` is real time: it spaces writes to a
 * real disk, and nothing that is stored depends on it.
 */
export function createWriter(executor: Executor, log: Log, pace: Clock): Writer {
  const waiting: Waiting[] = [];
  let writing = false;
  let closed = false;
  const idle: (() => void)[] = [];
  /** Commands of the batch before, and when it and the one before that were taken. */
  let together = 0;
  let [takenMs, takenBeforeMs] = [-Infinity, -Infinity];

  const run = async (batch: readonly Waiting[]): Promise<void> => {
    const outcomes = await attempt(executor, log, pace, batch);
    batch.forEach((item, i) => answer(item, outcomes[i]));
  };

  const pump = async (): Promise<void> => {
    writing = true;
    while (waiting.length > 0) {
      // A caller by itself does not wait, nor do a few of which less than one comes in the time; many share a write.
      const isParallel = together > 1 || waiting.length > 1;
      const inMs = Math.max(1, pace.steadyMs() - takenBeforeMs);
      if (isParallel && together + waiting.length > Math.min(inMs, FEW)) await wait(pace, GATHER_MS);
      together = waiting.length;
      [takenBeforeMs, takenMs] = [takenMs, pace.steadyMs()];
      const batch = waiting.splice(0, batchLength(waiting));
      await run(batch);
    }
    writing = false;
    for (const resolve of idle.splice(0)) resolve();
  };

  const submit = (command: Command): Promise<AnswerTo<Command>> => {
    if (closed) return Promise.reject(storeAway("the writer is closed"));
    return new Promise((resolve, reject) => {
      waiting.push({ command, resolve, reject });
      if (!writing) void pump();
    });
  };

  return {
    // The executor answers each command as its kind is answered.
    submit: submit as Writer["submit"],
    async close() {
      closed = true;
      if (writing) await new Promise<void>((resolve) => idle.push(resolve));
      await executor.close();
    },
  };
}

/** The number of waiting commands that go into the next transaction: at least one. */
function batchLength(waiting: readonly Waiting[]): number {
  const most = Math.min(waiting.length, MAX_BATCH);
  let payloads = 0;
  for (let i = 0; i < most; i += 1) {
    const command = waiting[i]?.command;
    if (command?.kind === "submit") payloads += command.payload.length;
    if (i > 0 && payloads > MAX_PAYLOADS) return i;
  }
  return most;
}

async function attempt(
  executor: Executor,
  log: Log,
  pace: Clock,
  batch: readonly Waiting[],
): Promise<readonly Outcome[]> {
  const commands = batch.map((item) => item.command);
  const startedMs = pace.steadyMs();
  for (let tries = 1; ; tries += 1) {
    try {
      return await executor.execute(commands);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      log.error("the ledger's writer failed", { error: reason });
      if (tries === MAX_ATTEMPTS || pace.steadyMs() - startedMs > GIVE_UP_MS)
        return commands.map(() => ({ failure: reason, passing: true }));
    }
  }
}

function answer(item: Waiting, outcome: Outcome | undefined): void {
  if (outcome !== undefined && "answer" in outcome) item.resolve(outcome.answer);
  else {
    const { failure = "no answer", passing = false } = outcome ?? { passing: true };
    const reason = `${item.command.kind}: ${failure}`;
    item.reject(passing ? storeAway(reason) : new CommandRefused(reason));
  }
}

/** The store takes no writes now, for `reason`, which goes to the log alone. */
export function storeAway(reason: string): GatewayError {
  return new GatewayError("overloaded_error", "The ledger cannot be written now. Try again shortly.", {
    cause: new Error(reason),
    retryAfterSec: 2,
  });
}
