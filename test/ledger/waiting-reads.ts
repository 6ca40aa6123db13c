import type { Database } from "../../src/db/schema.ts";

/** Makes every read of `database` wait for `current` first, after which the store has everything that was answered. */
export function waitingReads(database: Database, current: () => Promise<unknown>): Database {
  const executor = database.getExecutor();
  const provide = executor.provideConnection.bind(executor);
  executor.provideConnection = async (consumer, ...more) => {
    await current();
    return provide(consumer, ...more);
  };
  return database;
}
