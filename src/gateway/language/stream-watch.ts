import type { Clock, Timer } from "../../core/time/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import type { RelayStream } from "../../protocols/protocol.ts";
import type { BodySink } from "../../runtime/stream-body.ts";
import type { Timeouts } from "../timeouts.ts";

/** What a watch looks at, and what it tells. */
export interface Watched {
  /** The content so far, and what says nothing. */
  readonly stream: Pick<RelayStream, "chunks" | "keepAlive">;
  /** Upstream has begun to answer. */
  readonly hasHeaders: boolean;
  /** A deadline has passed. */
  onLate(error: GatewayError): void;
  /** The client takes nothing. */
  onStalled(): void;
}

/** Watches over a stream's deadlines with one timer that wakes seldom; a chunk only leaves the time it came. */
export interface StreamWatch {
  start(): void;
  stop(): void;
  /** Upstream has begun to answer, perhaps anew. */
  begun(): void;
  /** Bytes came from upstream. */
  touch(): void;
  /** Whether the client waits for bytes (else we wait for the client). */
  clientWants(wants: boolean): void;
  /** From now on a quiet stream is kept open. */
  keepAlivesTo(sink: BodySink): void;
}

/** A watch that has not been started. */
export function createStreamWatch(clock: Clock, timeouts: Timeouts, watched: Watched): StreamWatch {
  return new Watch(clock, timeouts, watched);
}

class Watch implements StreamWatch {
  readonly #clock: Clock;
  readonly #timeouts: Timeouts;
  readonly #watched: Watched;
  #startedMs = 0;
  #byteMs = 0;
  #contentMs = 0;
  #chunks = 0;
  #takenMs = 0;
  #quietMs = 0;
  #isWanted = true;
  #isLate = false;
  #timer: Timer | undefined;
  #sink: BodySink | undefined;

  constructor(clock: Clock, timeouts: Timeouts, watched: Watched) {
    this.#clock = clock;
    this.#timeouts = timeouts;
    this.#watched = watched;
  }

  start(): void {
    const nowMs = this.#clock.steadyMs();
    this.#startedMs = this.#byteMs = this.#contentMs = this.#takenMs = this.#quietMs = nowMs;
    this.#arm();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  begun(): void {
    this.#byteMs = this.#contentMs = this.#clock.steadyMs();
    this.#chunks = 0;
  }

  touch(): void {
    const { chunks } = this.#watched.stream;
    this.#byteMs = this.#clock.steadyMs();
    // A chunk that gives the client nothing does not keep an answer alive for ever.
    if (chunks === this.#chunks) return;
    this.#chunks = chunks;
    this.#contentMs = this.#byteMs;
  }

  clientWants(wants: boolean): void {
    // While the client takes nothing we read nothing: that time is not the provider's silence.
    if (wants && !this.#isWanted) this.#byteMs = this.#contentMs = this.#clock.steadyMs();
    if (!wants) this.#takenMs = this.#clock.steadyMs();
    this.#isWanted = wants;
  }

  keepAlivesTo(sink: BodySink): void {
    this.#sink = sink;
  }

  #check(): void {
    const { stream, hasHeaders } = this.#watched;
    const { streamMs, stalledClientMs, firstByteMs, idleMs, contentIdleMs, keepAliveMs } = this.#timeouts;
    const nowMs = this.#clock.steadyMs();
    const isWanted = this.#isWanted;
    if (!isWanted && nowMs - this.#takenMs >= stalledClientMs) return this.#watched.onStalled();
    if (nowMs - this.#startedMs >= streamMs) {
      if (!this.#isLate) this.#late("The answer took longer than a stream may.");
      // Who waits for the client hears nothing of it.
      if (!isWanted) this.#arm();
      return;
    }
    if (isWanted && !hasHeaders && nowMs - this.#startedMs >= firstByteMs)
      return this.#late("The provider did not begin to answer in time.");
    if (isWanted && hasHeaders && nowMs - this.#byteMs >= idleMs)
      return this.#late("The provider went silent in mid-answer.");
    if (isWanted && hasHeaders && nowMs - this.#contentMs >= contentIdleMs)
      return this.#late("The provider sent nothing but keep-alives.");
    const sink = this.#sink;
    if (isWanted && sink !== undefined && nowMs - Math.max(this.#byteMs, this.#quietMs) >= keepAliveMs) {
      this.#quietMs = nowMs;
      sink.write(stream.keepAlive);
      void sink.flush();
    }
    this.#arm();
  }

  #late(message: string): void {
    this.#isLate = true;
    this.#watched.onLate(new GatewayError("timeout_error", message));
  }

  #arm(): void {
    const delayMs = Math.max(1, Math.floor(this.#timeouts.keepAliveMs / 3));
    this.#timer = this.#clock.setTimer(delayMs, () => this.#check());
  }
}
