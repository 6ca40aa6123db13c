import { GatewayError } from "../core/errors.ts";

/** A store of result files that cannot be used now: the client is told no more, and may try again. */
export function unavailable(done: "stored" | "read", cause: unknown): GatewayError {
  return new GatewayError("overloaded_error", `Results cannot be ${done} at the moment.`, {
    cause,
    retryAfterSec: 10,
  });
}
