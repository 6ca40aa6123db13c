import { sql } from "kysely";
import type { Engine } from "../../db/engine.ts";
import type { Database } from "../../db/schema.ts";

/** Tells up to which number of a table no row is still being written: all that will ever be there can be read. */
export type Horizon = () => Promise<bigint>;

/**
 * One process writes to an embedded store, and its rows become visible in the order of their numbers. On a shared store
 * a row may become visible after one with a later number. So it remembers the newest number with the transactions that
 * were writing to the table then, and passes it on once those have ended. They took their lock on the table before
 * their numbers.
 */
export function createHorizon(database: Database, engine: Engine, table: Table): Horizon {
  if (engine === "sqlite") return () => newest(database, table);
  let candidate: Candidate | undefined;
  let settled = 0n;
  return async () => {
    if (candidate !== undefined && !(await isAnyUnderWay(database, table, candidate.writing))) {
      settled = candidate.seq;
      candidate = undefined;
    }
    candidate ??= await readCandidate(database, table);
    if (candidate.writing.length === 0) {
      settled = candidate.seq;
      candidate = undefined;
    }
    return settled;
  };
}

type Table = "requests" | "ledger";

interface Candidate {
  readonly seq: bigint;
  readonly writing: readonly string[];
}

async function newest(database: Database, table: Table): Promise<bigint> {
  const row = await database
    .selectFrom(table)
    .select("seq")
    .orderBy("seq", "desc")
    .limit(1)
    .executeTakeFirst();
  return row?.seq ?? 0n;
}

/** Transactions of this database that have written to the table, or are about to. */
const writing = (table: Table) => sql`from pg_locks
  where locktype = 'relation' and relation = ${sql.lit(table)}::regclass
    and database = (select oid from pg_database where datname = current_database()) and mode = 'RowExclusiveLock'`;

/** In one statement: the newest number is of its snapshot, which is older than its look at the locks. */
async function readCandidate(database: Database, table: Table): Promise<Candidate> {
  const { rows } = await sql<Candidate>`select (select coalesce(max(seq), 0) from ${sql.table(table)}) as seq,
    array(select virtualtransaction ${writing(table)}) as writing`.execute(database);
  return rows[0] ?? { seq: 0n, writing: [] };
}

async function isAnyUnderWay(database: Database, table: Table, those: readonly string[]): Promise<boolean> {
  const { rows } =
    await sql`select 1 ${writing(table)} and virtualtransaction = any(${those}) limit 1`.execute(database);
  return rows.length > 0;
}
