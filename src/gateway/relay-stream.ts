import type { Clock, Timer } from "../core/clock.ts";
import { GatewayError, toGatewayError } from "../core/errors.ts";
import { NO_USAGE } from "../core/usage.ts";
import type { Metered, RelayProtocol } from "../protocols/protocol.ts";
import type { UpstreamAnswer } from "../providers/upstream.ts";
import { type CallServices, ClientGone, type PaidCall } from "./paid-call.ts";
import type { RequestRecord } from "./request-record.ts";
import { createStreamWatch } from "./stream-watch.ts";

/** Bytes for a client, pulled when it can take more. */
export interface ByteSource {
  /** The next bytes; `undefined` when all were given. Never rejects: a broken answer has an end that says so. */
  pull(): Promise<Uint8Array | undefined>;
  /** The client has gone: upstream is stopped and what was used is charged. */
  cancel(): void;
  /** Where keep-alives go while a pull waits. */
  onKeepAlive(send: (bytes: Uint8Array) => void): void;
  /** All bytes were given. */
  readonly ended: boolean;
}

/** What a streamed relay is made of. */
export interface StreamParts {
  readonly services: CallServices;
  readonly call: PaidCall;
  readonly protocol: RelayProtocol;
  readonly record: RequestRecord;
  readonly body: Uint8Array;
}

/**
 * Starts a streamed call. Resolves when the answer's content has begun, or after the keep-alive time, whichever
 * comes first; until then a failure rejects and becomes a status of its own.
 */
export async function openStreamSource(parts: StreamParts): Promise<ByteSource> {
  const source = createStreamSource(parts);
  const { clock, timeouts } = parts.services;
  let timer: Timer | undefined;
  const committed = new Promise<void>((resolve) => {
    timer = clock.setTimer(timeouts.keepAliveMs, resolve);
  });
  try {
    await Promise.race([source.begin(), committed]);
  } finally {
    timer?.cancel();
  }
  const refusal = source.commit();
  if (refusal !== undefined) throw refusal;
  return source;
}

interface StartingSource extends ByteSource {
  /** Calls upstream and reads up to the first content. Rejects when it fails before the source was committed. */
  begin(): Promise<void>;
  /** From now on a failure is told inside the stream; one that came just before is given back. */
  commit(): Error | undefined;
}

function createStreamSource({ services, call, protocol, record, body }: StreamParts): StartingSource {
  const { clock, failpoint } = services;
  const stream = protocol.openStream(call.context);
  const held: Uint8Array[] = [];
  let upstream: UpstreamAnswer | undefined;
  let beginning: Promise<void> | undefined;
  let failure: Error | undefined;
  let committed = false;
  let ended = false;
  let left = false;
  let refused = false;

  const watch = createStreamWatch({
    clock,
    timeouts: services.timeouts,
    stream,
    hasHeaders: () => upstream !== undefined,
    onLate: (error) => call.abort(error),
    onStalled: () => leave(),
  });

  /** Reads until there is something to send, the stream is over (`false`), or it broke (throws). */
  const readOn = async (answer: UpstreamAnswer): Promise<Uint8Array | false> => {
    for (;;) {
      const bytes = await answer.read();
      const out = bytes === undefined ? stream.end() : stream.push(bytes);
      watch.touch();
      if (stream.failure !== undefined) {
        if (out !== undefined) held.push(out);
        throw stream.failure;
      }
      if (out !== undefined && bytes !== undefined && !stream.isDone) return out;
      if (out !== undefined) held.push(out);
      if (bytes === undefined || stream.isDone) return false;
    }
  };

  const begin = async (): Promise<void> => {
    watch.start();
    upstream = await call.send(body, true);
    while (!stream.hasContent && !stream.isDone) {
      const out = await readOn(upstream);
      if (out === false) {
        if (!stream.isComplete) throw cutOff();
        return;
      }
      held.push(out);
    }
  };

  /** Ends a good answer. */
  const finish = async (): Promise<Uint8Array> => {
    if (upstream !== undefined) void readToEnd(upstream, call, clock);
    const metered = stream.metered();
    const credit = await call.settle(metered);
    return close(200, stream.tail(metered, credit));
  };

  /** Ends an answer that broke: what came is charged, and its end says that it broke. */
  const breakOff = async (error: Error): Promise<Uint8Array> => {
    call.abort(error);
    const metered: Metered | undefined = stream.hasContent ? stream.metered() : undefined;
    const credit = await call.settleBroken(metered, error);
    const told = metered ?? { usage: NO_USAGE, flags: [] };
    return close(200, stream.failureTail(toGatewayError(error), told, credit));
  };

  const close = (status: number, tail: Uint8Array): Uint8Array => {
    ended = true;
    watch.stop();
    if (stream.repairs.length > 0) record.note({ repairs: stream.repairs });
    record.finish(status);
    return tail;
  };

  const leave = (): void => {
    if (ended || left) return;
    left = true;
    call.abort(new ClientGone());
    const metered = upstream === undefined ? undefined : stream.metered();
    call
      .settleLeft(metered)
      .catch((error: unknown) => record.note({ error: String(error) }))
      .finally(() => close(499, EMPTY));
  };

  const endOf = async (error: unknown): Promise<Uint8Array | undefined> => {
    if (left || error instanceof ClientGone) {
      leave();
      return undefined;
    }
    if (upstream !== undefined && stream.failure === undefined) {
      // The last event may have come whole, and only the goodbye was lost.
      const rest = stream.end();
      if (rest !== undefined) held.push(rest);
    }
    try {
      const tail =
        stream.isComplete && stream.failure === undefined ? await finish() : await breakOff(error as Error);
      return joined([...held.splice(0), tail]);
    } catch (storeError) {
      // The charge could not be written: the answer must not look finished.
      record.note({ error: String(storeError) });
      const lost = { usage: stream.metered().usage, flags: [] };
      return close(200, stream.failureTail(toGatewayError(storeError), lost, 0n));
    }
  };

  const next = async (): Promise<Uint8Array | undefined> => {
    try {
      await beginning;
      if (failure !== undefined) throw failure;
      if (held.length > 0) return joined(held.splice(0));
      if (!stream.isDone) {
        const out = await readOn(upstream as UpstreamAnswer);
        if (out !== false) {
          failpoint("stream.after_chunk");
          return out;
        }
        if (!stream.isComplete) throw cutOff();
      }
    } catch (error) {
      return endOf(error);
    }
    return endOf(undefined);
  };

  return {
    begin() {
      // Once content has come, a failure is part of the stream, however the bytes were cut into reads.
      beginning = begin().catch(async (error: unknown) => {
        failure = error as Error;
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
    async pull() {
      if (ended || left) return undefined;
      watch.clientWants(true);
      try {
        return await next();
      } finally {
        watch.clientWants(false);
      }
    },
    cancel: leave,
    onKeepAlive: (send) => watch.onKeepAlive(send),
    get ended() {
      return ended || left;
    },
  };

  /** Nothing was sent to the client: the failure becomes the answer's status. */
  async function refuse(error: Error): Promise<void> {
    refused = true;
    watch.stop();
    call.abort(error);
    if (error instanceof ClientGone) {
      left = true;
      await call.settleLeft(upstream === undefined ? undefined : stream.metered());
    } else {
      ended = true;
      await call.settleBroken(undefined, error);
    }
  }
}

const EMPTY = new Uint8Array(0);

/** How long upstream may take for its goodbye before its connection is given up. */
const GOODBYE_MS = 1_000;

/** Reads what follows the end mark, so that the connection can serve again; whatever it says is not used. */
async function readToEnd(upstream: UpstreamAnswer, call: PaidCall, clock: Clock): Promise<void> {
  const timer = clock.setTimer(GOODBYE_MS, () => call.abort(new Error("The answer had ended.")));
  try {
    while ((await upstream.read()) !== undefined);
  } catch {
    // The answer is whole: how its connection ends makes no difference.
  } finally {
    timer.cancel();
  }
}

function cutOff(): GatewayError {
  return new GatewayError("upstream_error", "The provider's answer ended early.");
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  if (pieces.length === 1) return pieces[0] as Uint8Array;
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
