import { openKeeper, type Keeper } from "../../src/ledger/sqlite/keeper.ts";
import type { Intent } from "../../src/ledger/intents.ts";
import { openSqliteStore } from "../../src/ledger/sqlite/store.ts";
import type { BooksStore } from "../../src/ledger/sqlite/thread-store.ts";
import type { SqliteDatabase } from "../../src/runtime/sqlite.ts";
import { type Ask, assertBooks, type BooksText, readBooks } from "./check-books.ts";

/** What becomes of a write: done; refused; or its answer never comes, and it was written or not. */
export type Fate = "done" | "refused" | "lost before" | "lost after";

/** The real keeper over the real tables in memory, without a thread and without files. */
export interface KeptBooks {
  /** The keeper of this moment. */
  keeper(): Keeper;
  /** Whether the process has died: another is to take over. */
  isDead(): boolean;
  /** The process dies, unless it is dead, and another takes over from its notes and the tables. */
  restart(): Promise<void>;
  /** Checks every rule of the books and gives them as text, with the open holds as if they stood in the tables. */
  read(): Promise<BooksText>;
}

/** Books in `database`. Each write asks `fateOf` what becomes of it, and may wait there. */
export async function openKeptBooks(
  database: SqliteDatabase,
  fateOf: () => Fate | Promise<Fate>,
): Promise<KeptBooks> {
  const tables = openSqliteStore(database);
  const store: BooksStore = {
    load: async (references) => tables.load(references),
    async write(batch) {
      const fate = await fateOf();
      if (fate === "refused") return { failure: "the disk is full", passing: true };
      if (fate === "lost before") throw new Error("the thread died");
      const written = tables.write(batch);
      if (fate === "lost after") throw new Error("the thread died");
      return written;
    },
    current: async () => {},
    close: async () => {},
  };
  let notes: Intent[] = [];
  let openNow: () => Iterable<Intent> = () => [];
  const open = (): Promise<Keeper> =>
    openKeeper({
      store,
      left: notes,
      openIntents(holds) {
        openNow = holds;
        notes = [...holds()];
        return { note: (intent) => void notes.push(intent), close() {} };
      },
      lost: () => undefined,
    });
  let keeper = await open();
  return {
    keeper: () => keeper,
    isDead: () => false,
    async restart() {
      keeper = await open();
    },
    read: () => readWithHolds(database, openNow()),
  };
}

/** Checks every rule of the tables and gives them as text, with `open` holds as if they stood there. */
export async function readWithHolds(database: SqliteDatabase, open: Iterable<Intent>): Promise<BooksText> {
  const ask: Ask = (sql) => database.prepare(sql).all();
  database.execute("begin");
  try {
    for (const intent of open) standInTables(database, intent);
    await assertBooks(ask);
    return await readBooks(ask);
  } finally {
    database.execute("rollback");
  }
}

function standInTables(database: SqliteDatabase, { hold, prices }: Intent): void {
  const { id, account, key, requestId, boot, model, amount, expectedCost, createdAtMs, expiresAtMs } = hold;
  database
    .prepare("insert into price_versions values (?, ?, ?, ?) on conflict do nothing")
    .run(prices.version, prices.model, prices.rules, prices.createdAtMs);
  database
    .prepare(
      `insert into holds (id, account_id, key_id, request_id, boot_id, model, amount, expected_cost, state,
         price_version, created_at_ms, expires_at_ms) values (?, ?, ?, ?, ?, ?, ?, ?, 'held', ?, ?, ?)`,
    )
    .run(
      id,
      account,
      key,
      requestId,
      boot,
      model,
      amount,
      expectedCost,
      prices.version,
      createdAtMs,
      expiresAtMs,
    );
  database.prepare("update accounts set held = held + ? where id = ?").run(amount, account);
  database.prepare("update keys set held = held + ? where id = ?").run(amount, key);
}
