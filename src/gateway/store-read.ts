import { GatewayError } from "../core/errors.ts";

/** What the store answers. A store that cannot be asked now is not the caller's fault, and may be asked again. */
export async function readStore<Rows>(rows: Promise<Rows>): Promise<Rows> {
  try {
    return await rows;
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause;
    throw new GatewayError("overloaded_error", "The store cannot be read now. Try again shortly.", {
      cause,
      retryAfterSec: 2,
    });
  }
}
