import { ensureLoading, openThread, type Thread } from "../../runtime/worker.ts";
import { type Order, type Orders, type Outcome, resultOf, type Results } from "./orders.ts";

/** A thread that reads requests, one order after the other. */
export interface Lane {
  /** Keeps a thread ready from now on. Throws where it cannot be started. */
  start(): void;
  /** The present thread. Throws where it cannot be started. */
  current(): ReadingThread;
  /** Ends it. */
  stop(): void;
}

/** Options of an order. */
export interface OrderTerms {
  /** Memory that moves to the thread, and is empty here afterwards; the rest is copied. */
  readonly moved?: readonly ArrayBuffer[];
  /** Receives the `model` of the body. */
  readonly asked?: ((model: unknown) => void) | undefined;
  /** Aborts when the client leaves: an order that still waits then is dropped. */
  readonly signal?: AbortSignal | undefined;
}

/** A queue of orders for one thread. Requests that were read end with the thread. */
export interface ReadingThread {
  stop(): void;
  /**
   * Sends an order. Orders about requests that were read go before new bodies, so that few requests are open at once.
   * Rejects with the refusal, with the signal's reason, or when the thread ends before it has answered.
   */
  order<Kind extends keyof Orders>(
    kind: Kind,
    order: Orders[Kind],
    terms?: OrderTerms,
  ): Promise<Results[Kind]>;
}

/** An order without an answer so far. */
interface Pending extends OrderTerms {
  readonly order: Order;
  answer(outcome: Outcome): void;
  reject(error: unknown): void;
}

/** Orders that bring a new body; all others are about a request that was read. */
const BODY_ORDERS: ReadonlySet<keyof Orders> = new Set(["read", "image", "video", "embeddings"]);

/** A lane whose thread starts with the first order, or by `start`. */
export function createLane(): Lane {
  let running: ReadingThread | undefined;

  const open = (): ReadingThread => {
    const opened = openReadingThread(() => {
      if (running === opened) running = undefined;
    });
    return opened;
  };

  return {
    start: () => void (running ??= open()),
    current: () => (running ??= open()),
    stop: () => running?.stop(),
  };
}

function openReadingThread(onClose: () => void): ReadingThread {
  const open: Pending[] = [];
  const unread: Pending[] = [];
  let underWay: Pending | undefined;
  let ended: Error | undefined;
  let isLoaded = false;

  const thread: Thread<Order> = openThread<Order, Outcome>(
    new URL("./reading-thread.ts", import.meta.url),
    null,
    {
      onMessage(outcome) {
        isLoaded = true;
        const answered = underWay;
        underWay = undefined;
        answered?.answer(outcome);
        sendNext();
      },
      onClose(reason) {
        ended = new Error(`The thread that reads requests ended: ${reason}`);
        onClose();
        for (const waiting of [underWay, ...open.splice(0), ...unread.splice(0)]) waiting?.reject(ended);
      },
    },
  );

  // The thread has one order at a time: those that wait here can still be dropped.
  const sendNext = (): void => {
    while (underWay === undefined) {
      const next = open.shift() ?? unread.shift();
      if (next === undefined) return;
      try {
        next.signal?.throwIfAborted();
        if (!isLoaded) ensureLoading();
        thread.post(next.order, next.moved);
        underWay = next;
      } catch (error) {
        next.reject(error);
      }
    }
  };

  return {
    stop: () => thread.stop(),
    order: (kind, order, terms = {}) =>
      new Promise((resolve, reject) => {
        if (ended !== undefined) throw ended;
        const pending: Pending = {
          ...terms,
          order: { do: kind, ...order } as Order,
          answer(outcome) {
            if ("asked" in outcome) terms.asked?.(outcome.asked);
            try {
              resolve(resultOf(outcome) as Results[typeof kind]);
            } catch (error) {
              reject(error);
            }
          },
          reject,
        };
        (BODY_ORDERS.has(kind) ? unread : open).push(pending);
        sendNext();
      }),
  };
}
