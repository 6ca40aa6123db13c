import type { Clock, Timer } from "../../core/clock.ts";
import { openThread, type Thread } from "../../runtime/worker.ts";
import type { ImageOrder } from "./image-order.ts";
import type { StudioAnswer } from "./studio-thread.ts";

/** Where images are made, one after the other, on a thread of its own. */
export interface Studio {
  /** From now on a thread that has started always stands by. Without it one starts with work, and ends without. */
  startThread(): void;
  /** The bytes of an image. Rejects with the signal's reason when that comes first. */
  draw(order: ImageOrder, signal: AbortSignal): Promise<Uint8Array>;
}

/** A thread is kept for so long after its work: what it has loaded and compiled costs memory, and time to do again. */
const IDLE_MS = 10_000;

interface Waiting {
  readonly order: ImageOrder;
  readonly signal: AbortSignal;
  resolve(bytes: Uint8Array): void;
  reject(error: Error): void;
}

/** A studio without a thread. */
export function openStudio(clock: Clock): Studio {
  const queue: Waiting[] = [];
  let current: Waiting | undefined;
  let thread: Thread<ImageOrder> | undefined;
  let idle: Timer | undefined;
  let standsBy = false;

  const start = (): Thread<ImageOrder> => {
    const opened: Thread<ImageOrder> = openThread<ImageOrder, StudioAnswer>(
      new URL("./studio-thread.ts", import.meta.url),
      null,
      {
        onMessage(answer) {
          const { resolve, reject } = current ?? {};
          current = undefined;
          if ("bytes" in answer) resolve?.(answer.bytes);
          else reject?.(new Error(`The sandbox could not draw: ${answer.problem}`));
          next();
        },
        onClose(reason) {
          if (thread !== opened) return;
          thread = undefined;
          const { reject } = current ?? {};
          current = undefined;
          reject?.(new Error(`The sandbox's thread ended: ${reason}`));
          next();
        },
      },
    );
    return opened;
  };

  const next = (): void => {
    if (current !== undefined) return;
    do current = queue.shift();
    while (current?.signal.aborted === true);
    idle?.cancel();
    if (current !== undefined) give(current);
    else idle = clock.setTimer(IDLE_MS, rest);
  };

  const give = (waiting: Waiting): void => {
    try {
      (thread ??= start()).post(waiting.order);
    } catch (error) {
      current = undefined;
      waiting.reject(error as Error);
      next();
    }
  };

  /** The memory that the work took goes with its thread. */
  const rest = (): void => {
    thread?.stop();
    thread = undefined;
    if (!standsBy) return;
    try {
      thread = start();
    } catch {
      // Descriptors have run out: the next order tries again.
    }
  };

  return {
    startThread() {
      standsBy = true;
      thread ??= start();
    },
    draw: (order, signal) =>
      waitFor(order, signal, (waiting) => {
        queue.push(waiting);
        next();
      }),
  };
}

/** The bytes of an order that `enqueue` is given, unless its signal comes first. */
function waitFor(
  order: ImageOrder,
  signal: AbortSignal,
  enqueue: (waiting: Waiting) => void,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const leave = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", leave, { once: true });
    const done = (): void => signal.removeEventListener("abort", leave);
    enqueue({
      order,
      signal,
      resolve(bytes) {
        done();
        resolve(bytes);
      },
      reject(error) {
        done();
        reject(error);
      },
    });
  });
}
