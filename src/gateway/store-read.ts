import { GatewayError } from "../core/errors.ts";
import { isDiskFull } from "../db/sqlite-file.ts";

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

/** Reads of the store that see everything that was answered before they began, but for what a full disk did not take. */
export type StoreReader = <Rows>(rows: () => Promise<Rows>) => Promise<Rows>;

/**
 * Reads that wait for `current`, after which the store has everything that was answered before. On a full disk they
 * tell what the store has: no request is accepted then, and whoever makes room needs to look. Where requests go on
 * although the store takes nothing, because another program has locked it, what they would tell is wrong: they reject.
 */
export function createStoreReader(current: () => Promise<void>): StoreReader {
  return (rows) => {
    const unlessFull = (error: unknown): Promise<void> => {
      if (!isDiskFull(error)) throw error;
      return Promise.resolve();
    };
    return readStore(current().catch(unlessFull).then(rows));
  };
}
