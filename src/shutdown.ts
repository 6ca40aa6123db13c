import { type Clock, wait } from "./core/time/clock.ts";
import type { Listener } from "./runtime/serve.ts";
import type { Services } from "./services.ts";

/** Calls that are ended then have this long to send their error, with the result of a task that they waited for. */
const GOODBYE_MS = 6_000;

/** Exit code of a process that a second signal ended. */
const CUT_SHORT = 130;

/** What a shutdown needs. */
export interface ShutdownParts {
  readonly services: Pick<Services, "drain" | "endCalls" | "close">;
  readonly listener: Pick<Listener, "drain" | "stop">;
  /** How long a load balancer has to see the 503 of `readyz`, before new connections are refused. */
  readonly delayMs: number;
  /** How long requests under way may take once the listener is closed. */
  readonly drainMs: number;
  readonly clock: Clock;
  flush(): void;
  exit(code: number): void;
}

/** The signals that end a gateway. */
export type EndSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

/**
 * The handler of each signal. At the first, `readyz` is 503. A SIGTERM comes from the operator of a load balancer, so
 * everything is served for `delayMs` more; the others come from a terminal. Then the gateway takes no new connection.
 * Requests under way have `drainMs`; the rest is ended with an error. Everything is written, exit 0. The second signal
 * ends the process at once.
 */
export function createShutdown(parts: ShutdownParts): (signal: EndSignal) => Promise<void> {
  const { services, listener, delayMs, drainMs, clock, flush, exit } = parts;
  let stopping = false;
  return async (signal) => {
    if (stopping) {
      flush();
      exit(CUT_SHORT);
      return;
    }
    stopping = true;
    services.drain();
    if (signal === "SIGTERM" && delayMs > 0) await wait(clock, delayMs);
    const timers = [
      clock.setTimer(drainMs, services.endCalls),
      clock.setTimer(drainMs + GOODBYE_MS, () => void listener.stop()),
    ];
    await listener.drain();
    for (const timer of timers) timer.cancel();
    await services.close();
    flush();
    exit(0);
  };
}
