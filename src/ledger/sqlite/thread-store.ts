import { openThread, type Thread } from "../../runtime/worker.ts";
import type { BooksState, References } from "../decide/state.ts";
import type { Batch, Written } from "./batch.ts";
import type { ThreadSettings, Work, WorkDone } from "./thread.ts";

/** The tables of the books, as their keeper uses them: what is asked first is done first. */
export interface BooksStore {
  /** The rows that are referred to, as they were last written. */
  load(references: References): Promise<BooksState>;
  /** Writes the batch as one transaction. Rejects when it is not known whether it was written. */
  write(batch: Batch): Promise<Written>;
  /** Resolves when reads of the database see all that was written; rejects when they cannot now. */
  current(): Promise<void>;
  close(): Promise<void>;
}

interface Asked {
  resolve(done: BooksState | Written): void;
  reject(error: Error): void;
}

/** Tables that a thread of their own reads and writes. A new thread takes the place of one that died. */
export function openThreadStore(
  settings: ThreadSettings,
  /** Called when the disk has failed to keep what was written. */
  onLost: (reason: string) => void,
): BooksStore {
  let thread: Thread<Work> | undefined;
  let asked: Asked[] = [];
  let isClosed = false;

  const open = (): Thread<Work> => {
    const opened = openThread<Work, WorkDone>(new URL("./thread.ts", import.meta.url), settings, {
      onMessage({ done, lost }) {
        if (thread !== opened) return;
        if (lost !== undefined) onLost(lost);
        asked.shift()?.resolve(done);
      },
      onClose(reason) {
        if (thread === opened) refuseAll(`The ledger's thread ended: ${reason}`);
      },
    });
    return opened;
  };

  const refuseAll = (reason: string): void => {
    thread = undefined;
    const unanswered = asked;
    asked = [];
    for (const { reject } of unanswered) reject(new Error(reason));
  };

  const ask = (work: Work): Promise<BooksState | Written> =>
    new Promise((resolve, reject) => {
      if (isClosed) throw new Error("The ledger's thread is closed.");
      thread ??= open();
      asked.push({ resolve, reject });
      thread.post(work);
    });

  return {
    load: (references) => ask({ load: references }) as Promise<BooksState>,
    write: (batch) => ask({ write: batch }) as Promise<Written>,
    current: async () => {},
    async close() {
      isClosed = true;
      const closing = thread;
      refuseAll("The ledger's thread was closed.");
      closing?.stop();
    },
  };
}
