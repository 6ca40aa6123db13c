import type { Clock } from "../core/time/clock.ts";
import { streamBody } from "../runtime/stream-body.ts";
import { MAX_BODY_BYTES } from "./read-body.ts";

/** A declared body up to this length may come to its end though it is not needed. */
const MAX_DROPPED_BYTES = 256 * 1024 * 1024;

/** Of any other body the gateway drops the rest for this long, and at most as much as a body may have. */
const REST_MS = 2_000;

/**
 * `answer` for a request whose body was not read to its end. Its client may read the answer only after sending all, so
 * closing the connection at once could lose the answer. The runtime discards the rest of a body without holding it.
 * Where the rest is far too long, or has no declared end, we drop it for a while behind the answer. Then we end the
 * connection.
 */
export async function answerEarly(answer: Response, request: Request, clock: Clock): Promise<Response> {
  if (request.body === null || endsSoon(request.headers)) return answer;
  const bytes = await answer.bytes();
  const { headers, status } = answer;
  headers.set("connection", "close");
  const body = streamBody({
    async pipe(sink) {
      sink.write(bytes);
      await sink.flush();
      await dropRest(request.body, clock);
    },
    cancel() {},
  });
  return new Response(body, { status, headers });
}

function endsSoon(headers: Headers): boolean {
  const length = headers.get("content-length");
  return length !== null && Number(length) <= MAX_DROPPED_BYTES;
}

async function dropRest(body: ReadableStream<Uint8Array> | null, clock: Clock): Promise<void> {
  const reader = body?.getReader();
  const timer = clock.setTimer(REST_MS, () => reader?.releaseLock());
  try {
    for (let left = MAX_BODY_BYTES; left > 0;) left -= (await reader?.read())?.value?.length ?? Infinity;
  } catch {
    // The time is over, or the client has gone: nothing is left to do.
  } finally {
    timer.cancel();
  }
}
