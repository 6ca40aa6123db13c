import { GatewayError } from "../core/errors.ts";

/** The store's answer. A store that is away is not the caller's fault, and the request may be retried. */
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

/** Reads of the store that see everything that was answered before they began. */
export type StoreReader = <Rows>(rows: () => Promise<Rows>) => Promise<Rows>;

/** Reads that wait for `current`, after which the store has everything that was answered before. */
export function createStoreReader(current: () => Promise<void>): StoreReader {
  return (rows) => readStore(current().then(rows));
}
