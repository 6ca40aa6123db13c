import type { Clock, Timer } from "../../core/clock.ts";
import { openThread, type Thread } from "../../runtime/worker.ts";
import type { VideoOrder, ImageOrder } from "./image-order.ts";
import type { StudioAnswer, StudioOrder } from "./studio-thread.ts";

/** Where images and videos are made, one after the other, on a thread that is there while there is work. */
export interface Studio {
  /** The bytes of an image. Rejects with the signal's reason when that comes first. */
  draw(order: ImageOrder, signal: AbortSignal): Promise<Uint8Array>;
  /** The bytes of a video. */
  video(order: VideoOrder, signal: AbortSignal): Promise<Uint8Array>;
}

/** The thread is kept for so long without work: what it has loaded and compiled costs memory, and time to do again. */
const IDLE_MS = 10_000;

interface Waiting {
  readonly order: StudioOrder;
  readonly signal: AbortSignal;
  resolve(bytes: Uint8Array): void;
  reject(error: Error): void;
}

/** A studio whose thread starts with its first order. */
export function openStudio(clock: Clock): Studio {
  const queue: Waiting[] = [];
  let current: Waiting | undefined;
  let thread: Thread<StudioOrder> | undefined;
  let idle: Timer | undefined;

  const start = (): Thread<StudioOrder> => {
    const opened: Thread<StudioOrder> = openThread<StudioOrder, StudioAnswer>(
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
    if (current !== undefined) (thread ??= start()).post(current.order);
    else
      idle = clock.setTimer(IDLE_MS, () => {
        thread?.stop();
        thread = undefined;
      });
  };

  const enqueue = (order: StudioOrder, signal: AbortSignal): Promise<Uint8Array> =>
    new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const leave = (): void => reject(signal.reason as Error);
      signal.addEventListener("abort", leave, { once: true });
      const done = (): void => signal.removeEventListener("abort", leave);
      queue.push({
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
      next();
    });

  return {
    draw: (order, signal) => enqueue({ kind: "image", order }, signal),
    video: (order, signal) => enqueue({ kind: "video", order }, signal),
  };
}
