import { existsSync } from "node:fs";
import { openThread, type Thread } from "../runtime/worker.ts";
import type { KeptStore } from "./tables.ts";

/** What the thread is asked, and what it answers. */
export interface KeptOrder {
  readonly id: number;
  readonly what: keyof KeptStore;
  readonly terms: readonly unknown[];
}

export type KeptOutcome = { readonly id: number } & (
  | { readonly done: unknown }
  | { readonly problem: string }
);

interface Asked {
  resolve(done: never): void;
  reject(error: Error): void;
}

/** A store in a file of this machine. */
export interface ThreadStore extends KeptStore {
  /** Starts the thread where there is something to read; else it starts with the first answer that is kept. */
  startThread(): void;
}

/**
 * The store in `file`, which a thread of its own reads and writes: neither requests nor the books wait for its disk. A
 * new thread takes the place of one that died.
 */
export function openThreadStore(file: string): ThreadStore {
  let thread: Thread<KeptOrder> | undefined;
  const asked = new Map<number, Asked>();
  let lastId = 0;

  const open = (): Thread<KeptOrder> => {
    const opened = openThread<KeptOrder, KeptOutcome>(new URL("./thread.ts", import.meta.url), file, {
      onMessage(outcome) {
        const waiting = asked.get(outcome.id);
        asked.delete(outcome.id);
        if ("done" in outcome) waiting?.resolve(outcome.done as never);
        else waiting?.reject(new Error(outcome.problem));
      },
      onClose(reason) {
        if (thread === opened) endWith(`The thread of kept answers ended: ${reason}`);
      },
    });
    return opened;
  };

  const endWith = (reason: string): void => {
    thread = undefined;
    const unanswered = [...asked.values()];
    asked.clear();
    for (const { reject } of unanswered) reject(new Error(reason));
  };

  const ask = <What extends keyof KeptStore>(
    what: What,
    ...terms: Parameters<KeptStore[What]>
  ): ReturnType<KeptStore[What]> =>
    new Promise((resolve, reject) => {
      thread ??= open();
      lastId += 1;
      asked.set(lastId, { resolve, reject });
      thread.post({ id: lastId, what, terms });
    }) as ReturnType<KeptStore[What]>;

  return {
    keep: (...terms) => ask("keep", ...terms),
    chain: (...terms) => ask("chain", ...terms),
    texts: (...terms) => ask("texts", ...terms),
    owners: (...terms) => ask("owners", ...terms),
    remove: (...terms) => ask("remove", ...terms),
    trim: (...terms) => ask("trim", ...terms),
    // A thread takes memory, and there is nothing to delete where nothing was ever kept.
    sweep: async (...terms) => (thread !== undefined || existsSync(file) ? ask("sweep", ...terms) : false),
    startThread() {
      if (existsSync(file)) thread ??= open();
    },
    async close() {
      if (thread === undefined) return;
      // Whatever was asked before is done by then.
      await ask("close").catch(() => {});
      const closing = thread;
      endWith("The thread of kept answers was closed.");
      closing?.stop();
    },
  };
}
