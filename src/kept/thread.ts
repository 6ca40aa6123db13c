import { serveThreadLate } from "../runtime/worker.ts";
import type { KeptOrder, KeptOutcome } from "./thread-store.ts";

serveThreadLate<string, KeptOrder, KeptOutcome>(async () => {
  const { openKeptFile } = await import("../db/kept-file.ts");
  const { keptStoreOver } = await import("./tables.ts");
  return (file) => {
    const store = keptStoreOver(openKeptFile(file));
    return async ({ id, what, terms }) => {
      try {
        const run = store[what] as (...terms: readonly unknown[]) => Promise<unknown>;
        return { id, done: await run(...terms) };
      } catch (error) {
        return { id, problem: (error as Error).message };
      }
    };
  };
});
