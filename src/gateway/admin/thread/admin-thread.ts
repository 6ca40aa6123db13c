import type { ShownUsage } from "../usage-text.ts";
import type { Engine } from "../../../db/engine.ts";
import { kyselyOverRuns } from "../../../db/remote.ts";
import type { Database } from "../../../db/schema.ts";
import type { GatheredRefusals } from "../../../ledger/refusals.ts";
import { openThread, type Thread } from "../../../runtime/worker.ts";
import type { ListRequests, ListWork } from "./lists.ts";
import { type AdminDone, type AdminWork, readPart, type ThreadPlace } from "./messages.ts";

/** A thread for what operators read, and for figures of it, with connections of its own: requests wait for neither. */
export interface AdminThread {
  /** Typed reads, each run there. */
  readonly database: Database;
  /** The answer to a question about usage, as JSON. */
  usage(query: ShownUsage): Promise<Uint8Array>;
  /** A list, as JSON. */
  list<Name extends keyof ListRequests>(name: Name, asked: ListRequests[Name]): Promise<Uint8Array>;
  /** Counts the next requests in the usage that is kept; resolves with whether there are more. */
  rollUp(): Promise<boolean>;
  writeRefusals(refusals: GatheredRefusals): Promise<void>;
  /** Starts it before it is needed. */
  start(): void;
  close(): void;
}

interface Asked {
  resolve(done: AdminDone): void;
  reject(error: Error): void;
}

/** The thread over the store at `place`. It starts with the first work; a new one takes the place of one that died. */
export function openAdminThread(place: ThreadPlace): AdminThread {
  const engine: Engine = "file" in place ? "sqlite" : "postgres";
  let thread: Thread<{ readonly id: number; readonly content: AdminWork }> | undefined;
  const asked = new Map<number, Asked>();
  let isClosed = false;
  let last = 0;

  const refuseAll = (reason: string): void => {
    thread = undefined;
    const unanswered = [...asked.values()];
    asked.clear();
    for (const { reject } of unanswered) reject(new Error(reason));
  };

  const open = (): NonNullable<typeof thread> => {
    const opened: NonNullable<typeof thread> = openThread<
      { readonly id: number; readonly content: AdminWork },
      { readonly id: number; readonly content: AdminDone }
    >(new URL("./thread.ts", import.meta.url), place, {
      onMessage({ id, content }) {
        asked.get(id)?.resolve(content);
        asked.delete(id);
      },
      onClose(reason) {
        if (thread === opened) refuseAll(`The thread of the admin interface ended: ${reason}`);
      },
    });
    return opened;
  };

  const ask = async (content: AdminWork): Promise<Exclude<AdminDone, { readonly error: string }>> => {
    const done = await new Promise<AdminDone>((resolve, reject) => {
      if (isClosed) throw new Error("The thread of the admin interface is closed.");
      thread ??= open();
      last += 1;
      asked.set(last, { resolve, reject });
      thread.post({ id: last, content });
    });
    if ("error" in done) throw new Error(done.error);
    return done;
  };

  return {
    database: kyselyOverRuns(engine, async (sql, parameters) => {
      const done = await ask({ sql, parameters });
      return "parts" in done ? readParts(done) : [];
    }),
    async usage(query) {
      const done = await ask({ usage: query });
      return "bytes" in done ? done.bytes : new Uint8Array();
    },
    async list(name, asked) {
      const done = await ask({ list: name, asked } as ListWork);
      return "bytes" in done ? done.bytes : new Uint8Array();
    },
    async rollUp() {
      const done = await ask({ rollUp: true });
      return "more" in done && done.more;
    },
    async writeRefusals(refusals) {
      await ask({ refusals });
    },
    start() {
      thread ??= open();
    },
    close() {
      isClosed = true;
      const closing = thread;
      refuseAll("The thread of the admin interface was closed.");
      closing?.stop();
    },
  };
}

/** Others have their turns between the parts. */
async function readParts({
  columns,
  parts,
}: Extract<AdminDone, { readonly parts: unknown }>): Promise<readonly object[]> {
  const rows: object[] = [];
  for (const [i, part] of parts.entries()) {
    if (i > 0) await new Promise((resolve) => setImmediate(resolve));
    rows.push(...readPart(columns, part));
  }
  return rows;
}
