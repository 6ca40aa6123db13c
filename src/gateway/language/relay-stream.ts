import type { Clock, Timer } from "../../core/clock.ts";
import { GatewayError, toGatewayError } from "../../core/errors.ts";
import type { Handover } from "../../core/handover.ts";
import { roomWithin } from "../../core/stall.ts";
import { describeError } from "../../core/log.ts";
import { NO_USAGE } from "../../core/usage.ts";
import type { Metered, RelayProtocol, UpstreamBody } from "../../protocols/protocol.ts";
import type { UpstreamAnswer } from "../../providers/upstream.ts";
import { type CallServices, ClientGone, type PaidCall } from "./paid-call.ts";
import type { RequestRecord } from "../request-record.ts";
import { createStreamWatch } from "./stream-watch.ts";

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
  const answer = createStreamAnswer(parts);
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

interface StartingAnswer extends StreamAnswer {
  /** Calls upstream and reads up to the first content. Rejects when it fails before the answer was committed. */
  begin(): Promise<void>;
  /** From now on a failure is told inside the stream; one that came just before is given back. */
  commit(): Error | undefined;
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

function createStreamAnswer({ services, call, protocol, record, body }: StreamParts): StartingAnswer {
  const { clock, failpoint } = services;
  const stream = protocol.openStream(call.context);
  const held: Uint8Array[] = [];
  let upstream: UpstreamAnswer | undefined;
  let reader: Reader | undefined;
  let beginning: Promise<void> | undefined;
  let failure: Error | undefined;
  let committed = false;
  let refused = false;
  let begun = false;
  let ended = false;
  const gone = Promise.withResolvers<never>();
  gone.promise.catch(() => undefined);
  const watch = createStreamWatch({
    clock,
    timeouts: services.timeouts,
    stream,
    hasHeaders: () => upstream !== undefined,
    onLate: (error) => call.abort(error),
    onStalled: () => leave(),
  });

  /** Takes one read of upstream; `false` when there is no more to read. What it gave goes to `give`. */
  const takeOne = async (give: (bytes: Uint8Array) => void): Promise<boolean> => {
    const { done, value } = reader === undefined ? NOTHING : await reader.read();
    if (!done) call.sawByte();
    const out = done ? stream.end(upstream?.tellsItsEnd === true) : stream.push(value);
    watch.touch();
    if (out !== undefined) give(out);
    if (stream.failure !== undefined) throw stream.failure;
    return !done && !stream.isDone;
  };

  const start = async (): Promise<void> => {
    watch.start();
    upstream = await call.send(body, true);
    reader = upstream.open();
    let more = true;
    while (more && !stream.hasContent) more = await takeOne((bytes) => held.push(bytes));
    if (!more && !stream.isComplete) throw cutOff();
  };

  /** Nothing was sent to the client: the failure becomes the answer's status. */
  const refuse = async (error: Error): Promise<void> => {
    refused = true;
    ended = true;
    watch.stop();
    call.abort(error);
    if (error instanceof ClientGone)
      await call.settleLeft(upstream === undefined ? undefined : stream.metered());
    else await call.settleBroken(undefined, error);
  };

  const close = (status: number): void => {
    ended = true;
    watch.stop();
    if (stream.repairs.length > 0) record.note({ repairs: stream.repairs });
    record.finish(status);
  };

  /** The end of a good answer. */
  const finish = async (): Promise<Uint8Array> => {
    if (upstream !== undefined && reader !== undefined) void readToEnd(reader, call, clock);
    const metered = stream.metered();
    const credit = await call.settle(metered, true);
    failpoint("answer.before_end");
    return stream.tail(metered, credit);
  };

  /** The end of an answer that broke: what came is charged, and the end says that it broke. */
  const breakOff = async (error: Error): Promise<Uint8Array> => {
    call.abort(error);
    const metered: Metered | undefined = stream.hasContent ? stream.metered() : undefined;
    const credit = await call.settleBroken(metered, error);
    return stream.failureTail(toGatewayError(error), metered ?? { usage: NO_USAGE, flags: [] }, credit);
  };

  const leave = (): void => {
    if (ended) return;
    ended = true;
    gone.reject(new ClientGone());
    call.abort(new ClientGone());
    call
      .settleLeft(upstream === undefined ? undefined : stream.metered())
      .catch((error: unknown) => record.note({ error: describeError(error) }))
      .finally(() => close(499));
  };

  /** The end of the answer once reading has stopped, for `error` or for the end mark; nothing for a client that left. */
  const endOf = async (error: Error | undefined, give: (bytes: Uint8Array) => void): Promise<void> => {
    if (ended) return;
    if (error instanceof ClientGone) return leave();
    if (error !== undefined && stream.failure === undefined) {
      // The last event may have come whole, and only the goodbye was lost.
      const rest = stream.end(false);
      if (rest !== undefined) give(rest);
    }
    try {
      const whole = stream.isComplete && stream.failure === undefined;
      give(whole ? await finish() : await breakOff(error ?? cutOff()));
    } catch (storeError) {
      // The charge is not written yet: the answer must not look finished, nor tell a credit that the ledger lacks.
      record.note({ error: describeError(storeError) });
      const metered = { usage: stream.metered().usage, flags: [] };
      give(stream.failureTail(toGatewayError(storeError), metered, undefined));
    }
  };

  const relayTo = async (sink: ByteSink): Promise<void> => {
    await beginning;
    for (const bytes of held.splice(0)) sink.write(bytes);
    if (failure !== undefined) throw failure;
    const write = (bytes: Uint8Array): void => sink.write(bytes);
    let more = begun;
    while (more && !ended) {
      const room = sink.flush();
      if (room !== undefined) {
        watch.clientWants(false);
        // A client that takes nothing for too long is left behind, and its connection with it.
        await Promise.race([room, gone.promise]);
        watch.clientWants(true);
      }
      failpoint("stream.after_chunk");
      more = await takeOne(write);
    }
  };

  return {
    begin() {
      // Once content has come, a failure is part of the stream, however the bytes were cut into reads.
      beginning = start()
        .then(() => {
          begun = !stream.isDone;
        })
        .catch(async (error: unknown) => {
          failure =
            upstream === undefined || error instanceof GatewayError
              ? (error as Error)
              : upstream.failureOf(error);
          if (!committed && !stream.hasContent) await refuse(failure);
        });
      return beginning.then(() => {
        if (refused) throw failure;
      });
    },
    commit() {
      committed = true;
      return refused ? failure : undefined;
    },
    async pipe(sink) {
      watch.keepAlivesTo((bytes) => {
        sink.write(bytes);
        void sink.flush();
      });
      let error: Error | undefined;
      try {
        await relayTo(sink);
      } catch (cause) {
        error =
          cause instanceof GatewayError || upstream === undefined
            ? (cause as Error)
            : upstream.failureOf(cause);
      }
      if (ended) throw new ClientGone();
      await endOf(error, (bytes) => sink.write(bytes));
      close(200);
      // It is charged by now: who does not take the end has no whole answer, and no connection either.
      await roomWithin(sink.flush(), clock, services.timeouts.stalledClientMs);
    },
    cancel: leave,
  };
}

const NOTHING = { done: true, value: undefined } as const;

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
