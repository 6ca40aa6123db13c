import { joinBytes } from "../core/bytes/bytes.ts";
import { GatewayError } from "../core/errors.ts";
import type { Clock } from "../core/time/clock.ts";
import type { UpstreamAnswer } from "./upstream.ts";

/** What is read of a refusal at most. */
export const MOST_REFUSAL_BYTES = 1024 * 1024;

/** How long its end is waited for: another provider may be there to serve the request. */
const REFUSAL_MS = 5_000;

/**
 * The body of an answer with a status that is not a good one, as far as it comes. The answer's status and its headers
 * say enough. Rejects only with what ended the call's signal.
 */
export async function refusalBody(answer: UpstreamAnswer, clock: Clock): Promise<Uint8Array> {
  const reader = answer.open();
  const chunks: Uint8Array[] = [];
  const stop = (): void => void reader?.cancel().catch(() => {});
  const timer = clock.setTimer(REFUSAL_MS, stop);
  try {
    let left = MOST_REFUSAL_BYTES;
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
      left -= read.value.length;
      if (left < 0) break;
      // A copy: the runtime may reuse the bytes it gave.
      chunks.push(read.value.slice());
    }
  } catch (cause) {
    const error = answer.failureOf(cause);
    if (!(error instanceof GatewayError && error.kind === "upstream_error")) throw error;
  } finally {
    timer.cancel();
    stop();
  }
  return joinBytes(chunks);
}
