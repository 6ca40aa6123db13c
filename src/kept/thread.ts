import { serveThreadLate } from "../runtime/worker.ts";
import type { KeptOrder, KeptOutcome } from "./thread-store.ts";

serveThreadLate<string, KeptOrder, KeptOutcome>(async () => {
  const { openKeptFile } = await import("../db/kept-file.ts");
  const { keptStoreOver } = await import("./tables.ts");
  const { sql } = await import("kysely");
  return (file) => {
    const database = openKeptFile(file);
    const store = keptStoreOver(database);
    const underWay = new Set<Promise<KeptOutcome>>();
    const answer = async ({ id, what, terms }: KeptOrder): Promise<KeptOutcome> => {
      try {
        // An answer that is being kept needs two statements, and the file between them.
        if (what === "close") await Promise.all(underWay);
        const run = store[what] as (...terms: readonly unknown[]) => Promise<unknown>;
        const done = await run(...terms);
        // What was deleted leaves room, which goes back to the disk bit by bit.
        if (what === "sweep") await sql`pragma incremental_vacuum(2000)`.execute(database);
        return { id, done };
      } catch (error) {
        return { id, problem: (error as Error).message };
      }
    };
    return (order) => {
      const answered = answer(order);
      underWay.add(answered);
      return answered.finally(() => underWay.delete(answered));
    };
  };
});
