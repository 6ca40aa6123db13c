import { GatewayError } from "../core/errors.ts";

/** The error for a store of result files that cannot be used now; it tells the client no more, and to try again. */
export function unavailable(done: "stored" | "read", cause: unknown): GatewayError {
  return new GatewayError("overloaded_error", `Results cannot be ${done} at the moment.`, {
    cause,
    retryAfterSec: 10,
  });
}
