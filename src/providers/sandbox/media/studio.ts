import type { Clock, Timer } from "../../../core/time/clock.ts";
import { unlessAborted } from "../../../core/time/unless-aborted.ts";
import { openThread, type Thread } from "../../../runtime/worker.ts";
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

/** A studio without a thread. */
export function openStudio(clock: Clock): Studio {
  let last: Promise<unknown> = Promise.resolve();
  let end = (_answer: StudioAnswer): void => {};
  let thread: Thread<ImageOrder> | undefined;
  let idle: Timer | undefined;
  let standsBy = false;

  const start = (): Thread<ImageOrder> => {
    const opened: Thread<ImageOrder> = openThread<ImageOrder, StudioAnswer>(
      new URL("./studio-thread.ts", import.meta.url),
      null,
      {
        onMessage: (answer) => end(answer),
        onClose(reason) {
          if (thread !== opened) return;
          thread = undefined;
          end({ problem: `its thread ended: ${reason}` });
        },
      },
    );
    return opened;
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

  const drawNow = async (order: ImageOrder, signal: AbortSignal): Promise<Uint8Array> => {
    signal.throwIfAborted();
    idle?.cancel();
    const answer = await new Promise<StudioAnswer>((resolve) => {
      end = resolve;
      (thread ??= start()).post(order);
    }).finally(() => (idle = clock.setTimer(IDLE_MS, rest)));
    if ("bytes" in answer) return answer.bytes;
    throw new Error(`The sandbox could not draw: ${answer.problem}`);
  };

  return {
    startThread() {
      standsBy = true;
      thread ??= start();
    },
    draw(order, signal) {
      const drawn = last.then(() => drawNow(order, signal));
      last = drawn.catch(() => {});
      return unlessAborted(drawn, signal);
    },
  };
}
