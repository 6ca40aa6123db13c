import { type Clock, wait } from "../../core/time/clock.ts";
import type { SandboxEvent } from "./format.ts";

/** How a stream goes. */
export interface StreamPace {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Tokens a second; absent: as fast as they are taken. */
  readonly speed: number | undefined;
  /** The connection breaks after the last event. */
  readonly breaks: boolean;
}

/**
 * The events as a body: one is made when it is asked for, and no earlier than the speed allows. It fails with the
 * signal's reason when that ends it.
 */
export function eventStream(events: Iterable<SandboxEvent>, pace: StreamPace): ReadableStream<Uint8Array> {
  const { clock, signal, speed, breaks } = pace;
  const iterator = events[Symbol.iterator]();
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        signal.throwIfAborted();
        const { done, value } = iterator.next();
        if (done === true) {
          if (breaks) throw new Error("The connection was reset.");
          return controller.close();
        }
        if (speed !== undefined && value.tokens > 0)
          await wait(clock, (value.tokens / speed) * 1_000, signal);
        controller.enqueue(encoder.encode(value.text));
      },
    },
    { highWaterMark: 0 },
  );
}
