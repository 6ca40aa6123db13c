import type { Clock, Timer } from "../core/time/clock.ts";
import { GatewayError } from "../core/errors.ts";
import { inPieces } from "../runtime/pieces.ts";

/** How long a request may take to be sent. */
export interface SendLimits {
  readonly clock: Clock;
  /** Until the provider is connected, with TLS where it has it. */
  readonly connectMs: number;
  /** For how long the provider may take nothing of the request. */
  readonly writeMs: number;
}

/** The cause of a failure before all of the request was sent, so that nobody can have taken it. */
export class NotSent extends Error {
  readonly code = "NOT_SENT";

  constructor(cause?: unknown) {
    super("The request was not sent whole.", { cause });
    this.name = "NotSent";
  }
}

/** A request that is sent in pieces. */
export interface PiecewiseRequest {
  readonly bytes: Uint8Array;
  readonly limits: SendLimits | undefined;
  readonly signal: AbortSignal;
  /** Told once nothing of the bytes is held any more. */
  readonly onSent: () => void;
}

/**
 * Sends a request with a body whose way is seen. Rejects with `timeout_error` at a limit, and with the signal's reason.
 * A failure before the last byte was given to the HTTP client has `NotSent` as its cause.
 */
export function sendInPieces(
  { bytes, limits, signal, onSent }: PiecewiseRequest,
  send: Send,
): Promise<Response> {
  const controller = new AbortController();
  const leave = (): void => controller.abort(signal.reason);
  if (signal.aborted) leave();
  // It stays: the answer's body ends with the call, too.
  else signal.addEventListener("abort", leave, { once: true });
  const watch = new SendWatch(bytes.length, limits, (error) => controller.abort(error));
  const body = inPieces(bytes, { onTaken: (left) => watch.taken(left), onGone: onSent });
  // Apart, since an async function would keep the bytes until the answer comes.
  return watched(send(body.open, controller.signal), watch, { signal: controller.signal, letGo: body.letGo });
}

type Send = (body: () => ReadableStream<Uint8Array>, signal: AbortSignal) => Promise<Response>;

async function watched(
  answering: Promise<Response>,
  watch: SendWatch,
  { signal, letGo }: { readonly signal: AbortSignal; letGo(): void },
): Promise<Response> {
  try {
    return await answering;
  } catch (error) {
    letGo();
    if (signal.aborted) throw signal.reason;
    throw watch.isWhole ? error : new NotSent(error);
  } finally {
    watch.stop();
  }
}

/** Looks after the way of one body. */
class SendWatch {
  readonly #limits: SendLimits | undefined;
  readonly #onLate: (error: GatewayError) => void;
  #left: number;
  #takenMs = 0;
  #timer: Timer | undefined;

  constructor(length: number, limits: SendLimits | undefined, onLate: (error: GatewayError) => void) {
    this.#left = length;
    this.#limits = limits;
    this.#onLate = onLate;
    this.#timer = limits?.clock.setTimer(limits.connectMs, () =>
      this.#late("The provider could not be connected to in time."),
    );
  }

  /** The HTTP client has all of it. */
  get isWhole(): boolean {
    return this.#left === 0;
  }

  taken(left: number): void {
    const isFirst = this.#takenMs === 0;
    this.#left = left;
    this.#takenMs = this.#limits?.clock.steadyMs() ?? 0;
    if (left === 0) this.stop();
    else if (isFirst && this.#limits !== undefined) this.#rearm(this.#limits, this.#limits.writeMs);
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #rearm(limits: SendLimits, delayMs: number): void {
    this.stop();
    this.#timer = limits.clock.setTimer(delayMs, () => {
      const leftMs = this.#takenMs + limits.writeMs - limits.clock.steadyMs();
      if (leftMs > 0) this.#rearm(limits, leftMs);
      else this.#late("The provider did not take the request in time.");
    });
  }

  #late(message: string): void {
    this.#onLate(new GatewayError("timeout_error", message, { cause: new NotSent() }));
  }
}

/** The HTTP client closes a connection after five minutes without a call (measured on Bun 1.4.5). */
const POOLED_MS = 360_000;

/** When a provider was asked, and has answered, last. */
interface Reach {
  answeredMs: number;
  /** The first call since then. */
  askedMs: number | undefined;
}

const reaches = new WeakMap<object, Reach>();

/**
 * Notes a call of `provider`, and tells whether it may be out of reach. It may be when it has left a call without an
 * answer for as long as a connection may take. It may be also when no connection to it can be left. A body in pieces
 * then shows whether one comes about. To any other it goes whole, which costs 20 us less.
 */
export function mayBeOutOfReach(provider: object, { clock, connectMs }: SendLimits): boolean {
  const nowMs = clock.steadyMs();
  let reach = reaches.get(provider);
  if (reach === undefined) {
    reach = { answeredMs: Number.NEGATIVE_INFINITY, askedMs: undefined };
    reaches.set(provider, reach);
  }
  reach.askedMs ??= nowMs;
  return nowMs - reach.answeredMs >= POOLED_MS || nowMs - reach.askedMs >= connectMs;
}

/** Notes that `provider` has answered. */
export function noteAnswer(provider: object, { clock }: SendLimits): void {
  const reach = reaches.get(provider);
  if (reach === undefined) return;
  reach.answeredMs = clock.steadyMs();
  reach.askedMs = undefined;
}
