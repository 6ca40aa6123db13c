import { openThread, type Thread } from "../../runtime/worker.ts";
import type { Outcome } from "../commands.ts";
import type { Batch, BatchOutcomes, ThreadSettings } from "./thread.ts";
import type { Executor } from "../writer.ts";

interface Pending {
  readonly number: number;
  resolve(outcomes: readonly Outcome[]): void;
  reject(error: Error): void;
}

/**
 * Runs batches on a SQLite thread. The next batch replaces a thread that died. Once the disk has failed to keep what
 * was written, it calls `onLost` and writes nothing any more.
 */
export function createSqliteExecutor(
  settings: ThreadSettings,
  onLost: (reason: string) => void = () => {},
): Executor {
  let thread: Thread<Batch> | undefined;
  let pending: Pending | undefined;
  let number = 0;
  let lost: string | undefined;

  const open = (): Thread<Batch> => {
    const opened = openThread<Batch, BatchOutcomes>(new URL("./thread.ts", import.meta.url), settings, {
      onMessage(answer) {
        if (pending?.number !== answer.number) return;
        const { resolve } = pending;
        pending = undefined;
        if (answer.lost !== undefined && lost === undefined) {
          lost = answer.lost;
          onLost(lost);
        }
        resolve(answer.outcomes);
      },
      onClose(reason) {
        if (thread !== opened) return;
        thread = undefined;
        pending?.reject(new Error(`The ledger's thread ended: ${reason}`));
        pending = undefined;
      },
    });
    return opened;
  };

  return {
    execute(commands) {
      const failure = lost;
      if (failure !== undefined) return Promise.resolve(commands.map(() => ({ failure, passing: true })));
      thread ??= open();
      number += 1;
      const batch: Batch = { number, commands };
      const outcomes = new Promise<readonly Outcome[]>((resolve, reject) => {
        pending = { number: batch.number, resolve, reject };
      });
      thread.post(batch);
      return outcomes;
    },
    close() {
      const closing = thread;
      thread = undefined;
      closing?.stop();
    },
  };
}
