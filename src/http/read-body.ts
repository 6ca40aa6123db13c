import { joinBytes } from "../core/bytes.ts";
import type { Clock } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";

/** The largest body that is read, in bytes. */
export const MAX_BODY_BYTES = 32 * 1024 * 1024;

/** A body that has not come whole by then is given up. */
const BODY_DEADLINE_MS = 30_000;

/**
 * Reads a JSON request's body. Throws a 400 for another content type, an encoding or a charset, and
 * `input_too_large` beyond the limit, before more than the limit was taken in.
 */
export async function readBody(request: Request, clock: Clock): Promise<Uint8Array> {
  checkHeaders(request.headers);
  const length = request.headers.get("content-length");
  if (length !== null && Number(length) > MAX_BODY_BYTES) throw tooLarge();
  if (request.body === null) return new Uint8Array(0);
  let late: (error: Error) => void = () => {};
  const deadline = new Promise<never>((_, reject) => (late = reject));
  const timer = clock.setTimer(BODY_DEADLINE_MS, () =>
    late(new GatewayError("invalid_request_error", "The body did not arrive in time.")),
  );
  try {
    return await Promise.race([length === null ? readCounted(request.body) : readWhole(request), deadline]);
  } finally {
    timer.cancel();
  }
}

function checkHeaders(headers: Headers): void {
  const [type = "", ...parameters] = (headers.get("content-type") ?? "").toLowerCase().split(";");
  if (type.trim() !== "application/json") {
    throw new GatewayError("invalid_request_error", "The content-type must be application/json.");
  }
  const charset = parameters.map((text) => text.trim()).find((text) => text.startsWith("charset="));
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset)) {
    throw new GatewayError("invalid_request_error", "The body must be UTF-8.");
  }
  const encoding = headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    throw new GatewayError(
      "invalid_request_error",
      "Compressed request bodies are not taken: send it without content-encoding.",
    );
  }
}

async function readWhole(request: Request): Promise<Uint8Array> {
  return new Uint8Array(await request.arrayBuffer());
}

/** A chunked body tells its length only by ending. */
async function readCounted(body: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > MAX_BODY_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  return joinBytes(chunks);
}

function tooLarge(): GatewayError {
  return new GatewayError("input_too_large", `The body is larger than ${MAX_BODY_BYTES / 1024 / 1024} MiB.`, {
    headers: { connection: "close" },
  });
}
