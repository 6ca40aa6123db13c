import type { Clock, Timer } from "../../core/time/clock.ts";
import { GatewayError, toGatewayError } from "../../core/errors.ts";
import type { MemoryShare } from "../../core/bytes/request-memory.ts";
import { roomWithin } from "../../core/time/stall.ts";
import { describeError } from "../../core/log/log.ts";
import { NO_USAGE } from "../../core/money/usage.ts";
import type { Metered, RelayStream } from "../../protocols/protocol.ts";
import type { UpstreamAnswer } from "../../providers/upstream.ts";
import type { BodySink, WrittenBody } from "../../runtime/stream-body.ts";
import { ClientGone } from "./client-gone.ts";
import type { CallServices, PaidCall } from "./paid-call.ts";
import type { RequestRecord } from "../request-record.ts";
import { type HeldEvents, openHeldEvents } from "./held-events.ts";
import type { AnswerKeeping } from "./kept-state.ts";
import { createStreamWatch, type StreamWatch, type Watched } from "./stream-watch.ts";

/** A streamed answer that has begun, or that waits for a slow provider. */
export interface StreamAnswer extends WrittenBody {
  /** Sends the whole answer: a broken one has an end that says so. Rejects only when the client has gone. */
  pipe(sink: BodySink): Promise<void>;
  /** The client has gone: upstream is stopped and what was used is charged. */
  cancel(): void;
}

/** What a streamed relay is made of. */
export interface StreamParts {
  readonly services: CallServices;
  readonly call: PaidCall;
  readonly record: RequestRecord;
  /** What the request holds. */
  readonly memory: Pick<MemoryShare, "openPart">;
  /** Keeps the answer before its client has the end; absent where it is not kept. */
  readonly keeping?: AnswerKeeping | undefined;
}

/**
 * Starts a streamed call. Resolves when the answer's content has begun, or after the keep-alive time, whichever comes
 * first. Until then a failure rejects and becomes a status of its own.
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
class RelayedStream implements StreamAnswer, Watched {
  stream: RelayStream;
  /** Upstream has begun to answer. */
  hasHeaders = false;
  readonly #services: CallServices;
  readonly #call: PaidCall;
  readonly #record: RequestRecord;
  readonly #keeping: AnswerKeeping | undefined;
  readonly #watch: StreamWatch;
  /** What `stream` was opened with. */
  #context: PaidCall["context"];
  readonly #held: HeldEvents;
  #reader: Reader | undefined;
  /** What a rejected read of the answer means. */
  #explain: UpstreamAnswer["failureOf"] = asItIs;
  #tellsItsEnd = false;
  #beginning: Promise<void> | undefined;
  #failure: Error | undefined;
  /** Ends a wait for the client, which has gone. */
  #giveUp: ((reason: ClientGone) => void) | undefined;
  #hasMore = true;
  #committed = false;
  #refused = false;
  #ended = false;

  constructor({ services, call, record, memory, keeping }: StreamParts) {
    this.#held = openHeldEvents(memory);
    this.#services = services;
    this.#keeping = keeping;
    this.#call = call;
    this.#record = record;
    this.#context = call.context;
    this.stream = call.protocol.openStream(call.context);
    this.#watch = createStreamWatch(services.clock, services.timeouts, this);
  }

  /** Calls upstream and reads up to the first content. Rejects when it fails before the answer was committed. */
  async begin(): Promise<void> {
    // Once content has come, a failure is part of the stream, however the bytes were cut into reads.
    this.#beginning = this.#start().catch(async (error: unknown) => {
      this.#failure = this.#failureOf(error);
      if (!this.#committed && !this.stream.hasContent) await this.#refuse(this.#failure);
    });
    await this.#beginning;
    if (this.#refused) throw this.#failure;
  }

  /** From now on a failure is told inside the stream; one that came just before is given back. */
  commit(): Error | undefined {
    this.#committed = true;
    return this.#refused ? this.#failure : undefined;
  }

  async pipe(sink: BodySink): Promise<void> {
    const { clock, timeouts, failpoint } = this.#services;
    let error: Error | undefined;
    this.#watch.keepAlivesTo(sink);
    try {
      await this.#beginning;
      this.#beginning = undefined;
      for (const bytes of this.#held.release()) sink.write(bytes);
      if (this.#failure !== undefined) throw this.#failure;
      while (this.#hasMore && !this.#ended) {
        const room = sink.flush();
        if (room !== undefined) await this.#roomFor(room);
        failpoint("stream.after_chunk");
        // The only promise of a chunk: most chunks are one event, and each promise more costs as much as reading it.
        const out = this.#take(await this.#read());
        if (out !== undefined) sink.write(out);
        if (this.stream.failure !== undefined) throw this.stream.failure;
      }
    } catch (cause) {
      error = this.#failureOf(cause);
    }
    if (this.#ended) throw new ClientGone();
    await this.#endOf(error, sink);
    this.#close(200);
    // It is charged by now: who does not take the end has no whole answer, and no connection either.
    await roomWithin(sink.flush(), clock, timeouts.stalledClientMs);
  }

  cancel(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#held.release();
    this.#giveUp?.(new ClientGone());
    this.#call.abort(new ClientGone());
    this.#call
      .settleLeft(this.#seen())
      .catch((error: unknown) => this.#record.note({ error: describeError(error) }))
      .finally(() => this.#close(499));
  }

  onLate(error: GatewayError): void {
    this.#call.abort(error);
  }

  onStalled(): void {
    this.cancel();
  }

  /** What upstream has said of usage; `undefined` where it has not answered. */
  #seen(): Metered | undefined {
    return this.hasHeaders ? this.stream.metered() : undefined;
  }

  #failureOf(cause: unknown): Error {
    return cause instanceof GatewayError ? cause : this.#explain(cause);
  }

  async #start(): Promise<void> {
    this.#watch.start();
    let upstream = await this.#call.send(true);
    for (;;) {
      this.#open(upstream);
      try {
        await this.#readToContent();
        return this.#call.sawAnswer();
      } catch (cause) {
        const error = this.#failureOf(cause);
        if (this.stream.hasContent) throw error;
        this.hasHeaders = false;
        void this.#reader?.cancel().catch(() => {});
        const next = await this.#call.sendAgain(error, true, () => this.#forget());
        if (next === undefined) throw error;
        upstream = next;
      }
    }
  }

  /** Forgets what an attempt has sent: its client gets nothing of it, whatever the next one comes to. */
  #forget(): void {
    this.#held.release();
    this.stream = this.#call.protocol.openStream(this.#context);
  }

  async #readToContent(): Promise<void> {
    const { stream } = this;
    while (this.#hasMore && !stream.hasContent) {
      const out = this.#take(await this.#read());
      // The client has gone.
      if (this.#ended) throw new ClientGone();
      if (out !== undefined) this.#held.add(out, stream.hasContent);
      if (stream.failure !== undefined) throw stream.failure;
      if (!stream.hasContent) this.#held.check();
    }
    if (!this.#hasMore && !stream.isComplete) throw cutOff();
    if (stream.hasContent) this.#record.sawContent();
  }

  /** Keeps of the answer what is needed to read it: the rest would stay in memory for as long as the stream lasts. */
  #open(upstream: UpstreamAnswer): void {
    const { tellsItsEnd, failureOf } = upstream;
    const { context, protocol } = this.#call;
    // Another way has a context of its own.
    if (context !== this.#context) this.stream = protocol.openStream(context);
    this.#context = context;
    this.#hasMore = true;
    this.hasHeaders = true;
    this.#watch.begun();
    this.#reader = upstream.open();
    this.#tellsItsEnd = tellsItsEnd;
    this.#explain = failureOf;
  }

  /** The next read of upstream. */
  #read(): Promise<ReadResult> | ReadResult {
    return this.#reader?.read() ?? NOTHING;
  }

  /** Takes one read of upstream; gives what it makes for the client. */
  #take({ done, value }: ReadResult): Uint8Array | undefined {
    const { stream } = this;
    if (!done) this.#call.sawByte();
    const out = done ? stream.end(this.#tellsItsEnd) : stream.push(value);
    this.#watch.touch();
    this.#hasMore = !done && !stream.isDone;
    return out;
  }

  /** Waits until the client has taken some; one that takes nothing for too long is left behind, and its connection. */
  async #roomFor(room: Promise<unknown>): Promise<void> {
    const { promise: gone, reject } = Promise.withResolvers<never>();
    this.#watch.clientWants(false);
    this.#giveUp = reject;
    await Promise.race([room, gone]);
    this.#giveUp = undefined;
    this.#watch.clientWants(true);
  }

  /** Nothing was sent to the client: the failure becomes the answer's status. */
  async #refuse(error: Error): Promise<void> {
    this.#refused = true;
    this.#ended = true;
    this.#held.release();
    this.#watch.stop();
    this.#call.abort(error);
    if (error instanceof ClientGone) await this.#call.settleLeft(this.#seen());
    else await this.#call.settleBroken(undefined, error);
  }

  /** The end of the answer once reading has stopped, for `error` or for the end mark; nothing for a client that left. */
  async #endOf(error: Error | undefined, sink: BodySink): Promise<void> {
    const { stream } = this;
    if (this.#ended) return;
    if (error instanceof ClientGone) return this.cancel();
    if (error !== undefined && stream.failure === undefined) {
      // The last event may have come whole, and only the goodbye was lost.
      const rest = stream.end(false);
      if (rest !== undefined) sink.write(rest);
    }
    try {
      const whole = stream.isComplete && stream.failure === undefined;
      sink.write(whole ? await this.#finish() : await this.#breakOff(error ?? cutOff()));
    } catch (storeError) {
      // The charge is not written yet: the answer must not look finished, nor tell a credit that the ledger lacks.
      this.#record.note({ error: describeError(storeError) });
      const metered = { usage: stream.metered().usage, flags: [] };
      sink.write(stream.failureTail(toGatewayError(storeError), metered, undefined));
    }
  }

  /** The end of a good answer. */
  async #finish(): Promise<Uint8Array> {
    const { clock, failpoint } = this.#services;
    if (this.#reader !== undefined) void readToEnd(this.#reader, this.#call, clock);
    const metered = this.stream.metered();
    const credit = await this.#call.settle(metered, true);
    failpoint("answer.before_end");
    const tail = this.stream.tail(metered, credit);
    // A client asks for what it was given as soon as it has this.
    if (this.#keeping !== undefined) await this.#keeping.kept();
    return tail;
  }

  /** The end of an answer that broke: what came is charged, and the end says that it broke. */
  async #breakOff(error: Error): Promise<Uint8Array> {
    this.#call.abort(error);
    const metered = this.stream.hasContent ? this.stream.metered() : undefined;
    const credit = await this.#call.settleBroken(metered, error);
    const told = metered ?? { usage: NO_USAGE, flags: [] };
    return this.stream.failureTail(toGatewayError(error), told, credit);
  }

  #close(status: number): void {
    const { repairs } = this.stream;
    this.#ended = true;
    this.#watch.stop();
    if (repairs.length > 0) this.#record.note({ repairs });
    this.#record.finish(status);
  }
}

function asItIs(cause: unknown): Error {
  return cause as Error;
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
