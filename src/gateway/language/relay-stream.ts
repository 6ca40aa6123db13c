import type { Clock, Timer } from "../../core/time/clock.ts";
import { GatewayError, toGatewayError } from "../../core/errors.ts";
import type { Handover } from "../../core/handover.ts";
import { roomWithin } from "../../core/time/stall.ts";
import { describeError } from "../../core/log/log.ts";
import { NO_USAGE } from "../../core/money/usage.ts";
import type { Metered, RelayProtocol, RelayStream, UpstreamBody } from "../../protocols/protocol.ts";
import type { UpstreamAnswer } from "../../providers/upstream.ts";
import { type CallServices, ClientGone, type PaidCall } from "./paid-call.ts";
import type { RequestRecord } from "../request-record.ts";
import { createStreamWatch, type StreamWatch } from "./stream-watch.ts";

/** Where a streamed answer goes. */
export interface ByteSink {
  write(bytes: Uint8Array): void;
  /** Sends what was written; a promise where the client has to take some of it first. */
  flush(): Promise<unknown> | undefined;
}

/** A streamed answer that has begun, or that waits for a slow provider. */
export interface StreamAnswer {
  /** Sends the whole answer: a broken one has an end that says so. Rejects only when the client has gone. */
  pipe(sink: ByteSink): Promise<void>;
  /** The client has gone: upstream is stopped and what was used is charged. */
  cancel(): void;
}

/** What a streamed relay is made of. */
export interface StreamParts {
  readonly services: CallServices;
  readonly call: PaidCall;
  readonly protocol: RelayProtocol;
  readonly record: RequestRecord;
  readonly body: Handover<UpstreamBody>;
}

/**
 * Starts a streamed call. Resolves when the answer's content has begun, or after the keep-alive time, whichever
 * comes first; until then a failure rejects and becomes a status of its own.
 */
export async function openStreamAnswer(parts: StreamParts): Promise<StreamAnswer> {
  const answer = new RelayedStream(parts);
  const { clock, timeouts } = parts.services;
  let timer: Timer | undefined;
  const late = new Promise<void>((resolve) => {
    timer = clock.setTimer(timeouts.keepAliveMs, resolve);
  });
  try {
    await Promise.race([answer.begin(), late]);
  } finally {
    timer?.cancel();
  }
  const refusal = answer.commit();
  if (refusal !== undefined) throw refusal;
  return answer;
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;
type ReadResult = Awaited<ReturnType<Reader["read"]>>;

/** One streamed answer from its call to its end. Whatever happens first, the hold ends once. */
class RelayedStream implements StreamAnswer {
  readonly #parts: StreamParts;
  readonly #stream: RelayStream;
  readonly #watch: StreamWatch;
  /** What came before the answer was committed. */
  readonly #held: Uint8Array[] = [];
  readonly #gone = Promise.withResolvers<never>();
  #upstream: UpstreamAnswer | undefined;
  #reader: Reader | undefined;
  #beginning: Promise<void> | undefined;
  #failure: Error | undefined;
  #committed = false;
  #refused = false;
  #ended = false;

  constructor(parts: StreamParts) {
    const { services, call, protocol } = parts;
    this.#parts = parts;
    this.#stream = protocol.openStream(call.context);
    this.#gone.promise.catch(() => undefined);
    this.#watch = createStreamWatch({
      clock: services.clock,
      timeouts: services.timeouts,
      stream: this.#stream,
      hasHeaders: () => this.#upstream !== undefined,
      onLate: (error) => call.abort(error),
      onStalled: () => this.cancel(),
    });
  }

  /** Calls upstream and reads up to the first content. Rejects when it fails before the answer was committed. */
  async begin(): Promise<void> {
    // Once content has come, a failure is part of the stream, however the bytes were cut into reads.
    this.#beginning = this.#start().catch(async (error: unknown) => {
      this.#failure = this.#failureOf(error);
      if (!this.#committed && !this.#stream.hasContent) await this.#refuse(this.#failure);
    });
    await this.#beginning;
    if (this.#refused) throw this.#failure;
  }

  /** From now on a failure is told inside the stream; one that came just before is given back. */
  commit(): Error | undefined {
    this.#committed = true;
    return this.#refused ? this.#failure : undefined;
  }

  async pipe(sink: ByteSink): Promise<void> {
    this.#watch.keepAlivesTo((bytes) => {
      sink.write(bytes);
      void sink.flush();
    });
    let error: Error | undefined;
    try {
      await this.#relayTo(sink);
    } catch (cause) {
      error = this.#failureOf(cause);
    }
    if (this.#ended) throw new ClientGone();
    await this.#endOf(error, (bytes) => sink.write(bytes));
    this.#close(200);
    // It is charged by now: who does not take the end has no whole answer, and no connection either.
    const { clock, timeouts } = this.#parts.services;
    await roomWithin(sink.flush(), clock, timeouts.stalledClientMs);
  }

  cancel(): void {
    if (this.#ended) return;
    const { call, record } = this.#parts;
    this.#ended = true;
    this.#gone.reject(new ClientGone());
    call.abort(new ClientGone());
    call
      .settleLeft(this.#seen())
      .catch((error: unknown) => record.note({ error: describeError(error) }))
      .finally(() => this.#close(499));
  }

  /** What upstream has said of usage; `undefined` where it has not answered. */
  #seen(): Metered | undefined {
    return this.#upstream === undefined ? undefined : this.#stream.metered();
  }

  #failureOf(cause: unknown): Error {
    const upstream = this.#upstream;
    if (upstream === undefined || cause instanceof GatewayError) return cause as Error;
    return upstream.failureOf(cause);
  }

  async #start(): Promise<void> {
    const { call, body } = this.#parts;
    this.#watch.start();
    this.#upstream = await call.send(body, true);
    this.#reader = this.#upstream.open();
    const hold = (bytes: Uint8Array): void => void this.#held.push(bytes);
    let more = true;
    while (more && !this.#stream.hasContent) more = this.#take(await this.#read(), hold);
    if (!more && !this.#stream.isComplete) throw cutOff();
  }

  /** The next read of upstream. */
  #read(): Promise<ReadResult> | ReadResult {
    return this.#reader?.read() ?? NOTHING;
  }

  /** Takes one read of upstream; `false` when there is no more to read. What it gave goes to `give`. */
  #take({ done, value }: ReadResult, give: (bytes: Uint8Array) => void): boolean {
    const stream = this.#stream;
    if (!done) this.#parts.call.sawByte();
    const out = done ? stream.end(this.#upstream?.tellsItsEnd === true) : stream.push(value);
    this.#watch.touch();
    if (out !== undefined) give(out);
    if (stream.failure !== undefined) throw stream.failure;
    return !done && !stream.isDone;
  }

  /** Nothing was sent to the client: the failure becomes the answer's status. */
  async #refuse(error: Error): Promise<void> {
    const { call } = this.#parts;
    this.#refused = true;
    this.#ended = true;
    this.#watch.stop();
    call.abort(error);
    if (error instanceof ClientGone) await call.settleLeft(this.#seen());
    else await call.settleBroken(undefined, error);
  }

  async #relayTo(sink: ByteSink): Promise<void> {
    const { failpoint } = this.#parts.services;
    await this.#beginning;
    for (const bytes of this.#held.splice(0)) sink.write(bytes);
    if (this.#failure !== undefined) throw this.#failure;
    const write = (bytes: Uint8Array): void => sink.write(bytes);
    let more = !this.#stream.isDone;
    while (more && !this.#ended) {
      const room = sink.flush();
      if (room !== undefined) {
        this.#watch.clientWants(false);
        // A client that takes nothing for too long is left behind, and its connection with it.
        await Promise.race([room, this.#gone.promise]);
        this.#watch.clientWants(true);
      }
      failpoint("stream.after_chunk");
      // The only promise of a chunk: most chunks are one event, and each promise more costs as much as reading it.
      more = this.#take(await this.#read(), write);
    }
  }

  /** The end of the answer once reading has stopped, for `error` or for the end mark; nothing for a client that left. */
  async #endOf(error: Error | undefined, give: (bytes: Uint8Array) => void): Promise<void> {
    const stream = this.#stream;
    if (this.#ended) return;
    if (error instanceof ClientGone) return this.cancel();
    if (error !== undefined && stream.failure === undefined) {
      // The last event may have come whole, and only the goodbye was lost.
      const rest = stream.end(false);
      if (rest !== undefined) give(rest);
    }
    try {
      const whole = stream.isComplete && stream.failure === undefined;
      give(whole ? await this.#finish() : await this.#breakOff(error ?? cutOff()));
    } catch (storeError) {
      // The charge is not written yet: the answer must not look finished, nor tell a credit that the ledger lacks.
      this.#parts.record.note({ error: describeError(storeError) });
      const metered = { usage: stream.metered().usage, flags: [] };
      give(stream.failureTail(toGatewayError(storeError), metered, undefined));
    }
  }

  /** The end of a good answer. */
  async #finish(): Promise<Uint8Array> {
    const { call, services } = this.#parts;
    if (this.#reader !== undefined) void readToEnd(this.#reader, call, services.clock);
    const metered = this.#stream.metered();
    const credit = await call.settle(metered, true);
    services.failpoint("answer.before_end");
    return this.#stream.tail(metered, credit);
  }

  /** The end of an answer that broke: what came is charged, and the end says that it broke. */
  async #breakOff(error: Error): Promise<Uint8Array> {
    const { call } = this.#parts;
    call.abort(error);
    const metered = this.#stream.hasContent ? this.#stream.metered() : undefined;
    const credit = await call.settleBroken(metered, error);
    const told = metered ?? { usage: NO_USAGE, flags: [] };
    return this.#stream.failureTail(toGatewayError(error), told, credit);
  }

  #close(status: number): void {
    const { repairs } = this.#stream;
    this.#ended = true;
    this.#watch.stop();
    if (repairs.length > 0) this.#parts.record.note({ repairs });
    this.#parts.record.finish(status);
  }
}

const NOTHING: ReadResult = { done: true, value: undefined };

/** How long upstream may take for its goodbye before its connection is given up. */
const GOODBYE_MS = 1_000;

/** Reads what follows the end mark, so that the connection can serve again; whatever it says is not used. */
async function readToEnd(reader: Reader, call: PaidCall, clock: Clock): Promise<void> {
  const timer = clock.setTimer(GOODBYE_MS, () => call.abort(new Error("The answer had ended.")));
  try {
    while (!(await reader.read()).done);
  } catch {
    // The answer is whole: how its connection ends makes no difference.
  } finally {
    timer.cancel();
  }
}

function cutOff(): GatewayError {
  return new GatewayError("upstream_error", "The provider's answer ended early.");
}
