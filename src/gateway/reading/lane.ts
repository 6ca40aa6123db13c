import { openThread, type Thread } from "../../runtime/worker.ts";
import { type Order, type Orders, type Outcome, resultOf, type Results } from "./orders.ts";

/** A thread on which requests are read, one order after the other. */
export interface Lane {
  /** From now on a thread stands by. Throws where it cannot be started. */
  start(): void;
  /** The thread of this moment. Throws where it cannot be started. */
  current(): ReadingThread;
  /** Ends it. */
  stop(): void;
}

/** How an order is given. */
export interface OrderTerms {
  /** Memory that goes to the thread, and is empty here afterwards; all else is copied. */
  readonly moved?: readonly ArrayBuffer[];
  /** Told what the body says in `model`. */
  readonly asked?: ((model: unknown) => void) | undefined;
}

/** One thread. What it has read ends with it. */
export interface ReadingThread {
  stop(): void;
  /** Has it carry out an order. Rejects with the refusal, or when the thread ends before it has answered. */
  order<Kind extends keyof Orders>(
    kind: Kind,
    order: Orders[Kind],
    more?: {
      readonly moved?: readonly ArrayBuffer[];
      readonly asked?: ((model: unknown) => void) | undefined;
    },
  ): Promise<Results[Kind]>;
}

interface Pending {
  settle(outcome: Outcome): void;
  reject(error: Error): void;
}

/** A lane whose thread starts with the first order, or by `start`. */
export function createLane(): Lane {
  let running: ReadingThread | undefined;

  const open = (): ReadingThread => {
    const pending: Pending[] = [];
    let ended: Error | undefined;
    const thread: Thread<Order> = openThread<Order, Outcome>(
      new URL("./reading-thread.ts", import.meta.url),
      null,
      {
        // A thread answers in the order in which it was told.
        onMessage: (outcome) => pending.shift()?.settle(outcome),
        onClose(reason) {
          if (running === opened) running = undefined;
          ended = new Error(`The thread that reads requests ended: ${reason}`);
          for (const { reject } of pending.splice(0)) reject(ended);
        },
      },
    );
    const opened: ReadingThread = {
      stop: () => thread.stop(),
      order: (kind, order, { moved = [], asked } = {}) =>
        new Promise((resolve, reject) => {
          if (ended !== undefined) throw ended;
          thread.post({ do: kind, ...order } as Order, moved);
          pending.push({
            settle(outcome) {
              if ("asked" in outcome) asked?.(outcome.asked);
              try {
                resolve(resultOf(outcome) as Results[typeof kind]);
              } catch (error) {
                reject(error);
              }
            },
            reject,
          });
        }),
    };
    return opened;
  };

  return {
    start: () => void (running ??= open()),
    current: () => (running ??= open()),
    stop: () => running?.stop(),
  };
}
