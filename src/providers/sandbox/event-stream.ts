import { type Clock, wait } from "../../core/time/clock.ts";
import type { SandboxEvent } from "./formats/format.ts";

export interface StreamPace {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Tokens a second; absent: as fast as they are taken. */
  readonly speed: number | undefined;
  /** The connection breaks half-way. */
  readonly breaks: boolean;
}

/**
 * The events as a body. One is made when it is asked for, as many long choices would not fit into memory at once. None
 * is made earlier than the speed allows. The body fails with the signal's reason when that ends it.
 */
export function eventStream(
  events: () => Iterable<SandboxEvent>,
  { clock, signal, speed, breaks }: StreamPace,
): ReadableStream<Uint8Array> {
  const iterator = (breaks ? firstHalf(events) : events())[Symbol.iterator]();
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

/** A plain answer breaks in mid-word, a stream between events. */
function* firstHalf(events: () => Iterable<SandboxEvent>): Iterable<SandboxEvent> {
  let count = 0;
  for (const _event of events()) count += 1;
  let left = Math.ceil(count / 2);
  for (const { text, tokens } of events()) {
    if (left === 0) return;
    left -= 1;
    yield { text: count === 1 ? text.slice(0, text.length / 2) : text, tokens };
  }
}
