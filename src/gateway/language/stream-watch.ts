import type { Clock, Timer } from "../../core/time/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import type { RelayStream } from "../../protocols/protocol.ts";
import type { Timeouts } from "../timeouts.ts";

/** Watches over a stream's deadlines with one timer that wakes seldom; a chunk only leaves the time it came. */
export interface StreamWatch {
  start(): void;
  stop(): void;
  /** Bytes came from upstream. */
  touch(): void;
  /** Whether the client waits for bytes (else we wait for the client). */
  clientWants(wants: boolean): void;
  keepAlivesTo(send: (bytes: Uint8Array) => void): void;
}

/** What a watch looks at, and whom it tells. */
export interface WatchParts {
  readonly clock: Clock;
  readonly timeouts: Timeouts;
  readonly stream: RelayStream;
  /** Upstream has begun to answer. */
  hasHeaders(): boolean;
  /** A deadline has passed. */
  onLate(error: GatewayError): void;
  /** The client takes nothing. */
  onStalled(): void;
}

/** A watch that has not been started. */
export function createStreamWatch({
  clock,
  timeouts,
  stream,
  hasHeaders,
  onLate,
  onStalled,
}: WatchParts): StreamWatch {
  let startedMs = 0;
  let byteMs = 0;
  let contentMs = 0;
  let chunks = 0;
  let takenMs = 0;
  let wanted = true;
  let quietMs = 0;
  let timer: Timer | undefined;
  let send: ((bytes: Uint8Array) => void) | undefined;

  const late = (message: string): void => onLate(new GatewayError("timeout_error", message));

  const check = (): void => {
    const nowMs = clock.steadyMs();
    if (nowMs - startedMs >= timeouts.streamMs) return late("The answer took longer than a stream may.");
    if (!wanted && nowMs - takenMs >= timeouts.stalledClientMs) return onStalled();
    if (wanted && !hasHeaders() && nowMs - startedMs >= timeouts.firstByteMs) {
      return late("The provider did not begin to answer in time.");
    }
    if (wanted && hasHeaders() && nowMs - byteMs >= timeouts.idleMs)
      return late("The provider went silent in mid-answer.");
    if (wanted && hasHeaders() && nowMs - contentMs >= timeouts.contentIdleMs) {
      return late("The provider sent nothing but keep-alives.");
    }
    if (wanted && send !== undefined && nowMs - Math.max(byteMs, quietMs) >= timeouts.keepAliveMs) {
      quietMs = nowMs;
      send(stream.keepAlive);
    }
    arm();
  };

  const arm = (): void => {
    timer = clock.setTimer(Math.max(1, Math.floor(timeouts.keepAliveMs / 3)), check);
  };

  return {
    start() {
      startedMs = byteMs = contentMs = takenMs = quietMs = clock.steadyMs();
      arm();
    },
    stop: () => timer?.cancel(),
    touch() {
      byteMs = clock.steadyMs();
      // A chunk that gives the client nothing does not keep an answer alive for ever.
      if (stream.chunks !== chunks) {
        chunks = stream.chunks;
        contentMs = byteMs;
      }
    },
    clientWants(wants) {
      // While the client takes nothing we read nothing: that time is not the provider's silence.
      if (wants && !wanted) byteMs = contentMs = clock.steadyMs();
      if (!wants) takenMs = clock.steadyMs();
      wanted = wants;
    },
    keepAlivesTo(to) {
      send = to;
    },
  };
}
