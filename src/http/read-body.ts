import { joinBytes } from "../core/bytes/bytes.ts";
import type { Clock } from "../core/time/clock.ts";
import { GatewayError } from "../core/errors.ts";
import { JSON_FACTOR, type MemoryShare } from "../core/bytes/request-memory.ts";

/** The largest body that is read, in bytes. */
export const MAX_BODY_BYTES = 32 * 1024 * 1024;

/** A longer body is large. */
const LARGE_BYTES = 1024 * 1024;

/** Bodies come and go within seconds. */
const RETRY_SEC = 2;

/** Time limit for a whole body. */
const BODY_DEADLINE_MS = 30_000;

/** What a body is read with. */
export interface BodyTerms {
  readonly clock: Clock;
  /** The share of memory that holds it. */
  readonly memory: MemoryShare;
  /** Called before a body above 1 MiB is read, or its rest; the body is not read when this rejects. */
  readonly beforeLarge: (() => Promise<void>) | undefined;
  /** Called when the body has been read to its end. */
  readonly onRead: () => void;
}

/**
 * Reads a JSON request's body, and takes memory for it before. Throws, or rejects with:
 * - a 400 for another content type, an encoding or a charset;
 * - `input_too_large` beyond the limit before more than that was read;
 * - a 503 when there is no memory for it.
 */
export function readBody(request: Request, terms: BodyTerms): Promise<Uint8Array> {
  checkHeaders(request.headers);
  const header = request.headers.get("content-length");
  if (header === null) return readUntold(request, terms);
  const length = Number(header);
  if (length > MAX_BODY_BYTES) throw tooLarge();
  // Checked first, so that requests without room cost no read of the store.
  if (!terms.memory.hasRoomFor(length * JSON_FACTOR)) throw noMemory();
  return length > LARGE_BYTES && terms.beforeLarge !== undefined
    ? terms.beforeLarge().then(() => readTold(request, length, terms))
    : readTold(request, length, terms);
}

function readTold(request: Request, length: number, terms: BodyTerms): Promise<Uint8Array> {
  hold(terms.memory, length);
  return wholeInTime(request, terms);
}

/** A body that does not say how long it is. */
async function readUntold({ body }: Request, terms: BodyTerms): Promise<Uint8Array> {
  if (body === null) {
    terms.onRead();
    return new Uint8Array(0);
  }
  const { promise: late, reject } = Promise.withResolvers<never>();
  late.catch(() => undefined);
  const timer = terms.clock.setTimer(BODY_DEADLINE_MS, () => reject(tooLate()));
  try {
    return await readCounted(body, terms, late);
  } finally {
    timer.cancel();
  }
}

/** A body of a declared length. Its stream is not touched: the runtime would make one for each request. */
function wholeInTime(request: Request, { clock, onRead }: BodyTerms): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const timer = clock.setTimer(BODY_DEADLINE_MS, () => reject(tooLate()));
    request.bytes().then(
      (bytes) => {
        timer.cancel();
        onRead();
        resolve(bytes);
      },
      (error: Error) => {
        timer.cancel();
        reject(error);
      },
    );
  });
}

function checkHeaders(headers: Headers): void {
  const contentType = headers.get("content-type");
  const encoding = headers.get("content-encoding");
  if (contentType === "application/json" && encoding === null) return;
  const [type = "", ...parameters] = (contentType ?? "").toLowerCase().split(";");
  if (type.trim() !== "application/json") {
    throw new GatewayError("invalid_request_error", "The content-type must be application/json.");
  }
  const charset = parameters.map((text) => text.trim()).find((text) => text.startsWith("charset="));
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset)) {
    throw new GatewayError("invalid_request_error", "The body must be UTF-8.");
  }
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    throw new GatewayError(
      "unsupported_encoding",
      "Compressed request bodies are not taken: send it without content-encoding.",
    );
  }
}

/** A chunked body tells its length only by ending. Its unread rest is left for `answerEarly`. */
async function readCounted(
  body: ReadableStream<Uint8Array>,
  { memory, beforeLarge, onRead }: BodyTerms,
  late: Promise<never>,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), late]);
      if (done) {
        onRead();
        return joinBytes(chunks);
      }
      const before = length;
      length += value.length;
      if (length > MAX_BODY_BYTES) throw tooLarge();
      hold(memory, value.length);
      chunks.push(value);
      if (before <= LARGE_BYTES && length > LARGE_BYTES) await beforeLarge?.();
    }
  } finally {
    reader.releaseLock();
  }
}

function hold(memory: MemoryShare, bytes: number): void {
  if (!memory.take(bytes * JSON_FACTOR)) throw noMemory();
}

function noMemory(): GatewayError {
  const message = "The gateway has no memory for this body now. Try again shortly.";
  return new GatewayError("overloaded_error", message, { retryAfterSec: RETRY_SEC });
}

function tooLate(): GatewayError {
  return new GatewayError("invalid_request_error", "The body did not arrive in time.", {
    headers: { connection: "close" },
  });
}

function tooLarge(): GatewayError {
  return new GatewayError("input_too_large", `The body is larger than ${MAX_BODY_BYTES / 1024 / 1024} MiB.`);
}
