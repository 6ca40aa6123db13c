import { sql } from "kysely";
import type { Engine } from "../../db/engine.ts";
import type { Database } from "../../db/schema.ts";

/** Tells up to which number no request is still being written: all that will ever be there can be read. */
export type Horizon = () => Promise<bigint>;

/**
 * One process writes to an embedded store, and its rows become visible in the order of their numbers. On a shared store
 * a row may become visible after one with a later number. So the newest number is remembered with the transactions that
 * were writing requests then, and it is passed on once those have ended: they took their lock on the table before their
 * numbers.
 */
export function createHorizon(database: Database, engine: Engine): Horizon {
  if (engine === "sqlite") return () => newest(database);
  let candidate: Candidate | undefined;
  let settled = 0n;
  return async () => {
    if (candidate !== undefined && !(await isAnyUnderWay(database, candidate.writing))) {
      settled = candidate.seq;
      candidate = undefined;
    }
    candidate ??= await readCandidate(database);
    if (candidate.writing.length === 0) {
      settled = candidate.seq;
      candidate = undefined;
    }
    return settled;
  };
}

interface Candidate {
  readonly seq: bigint;
  readonly writing: readonly string[];
}

async function newest(database: Database): Promise<bigint> {
  const row = await database
    .selectFrom("requests")
    .select("seq")
    .orderBy("seq", "desc")
    .limit(1)
    .executeTakeFirst();
  return row?.seq ?? 0n;
}

/** Transactions of this database that have written requests, or are about to. */
const WRITING = sql`from pg_locks where locktype = 'relation' and relation = 'requests'::regclass
  and database = (select oid from pg_database where datname = current_database()) and mode = 'RowExclusiveLock'`;

/** In one statement: the newest number is of its snapshot, which is older than its look at the locks. */
async function readCandidate(database: Database): Promise<Candidate> {
  const { rows } = await sql<Candidate>`select (select coalesce(max(seq), 0) from requests) as seq,
    array(select virtualtransaction ${WRITING}) as writing`.execute(database);
  return rows[0] ?? { seq: 0n, writing: [] };
}

async function isAnyUnderWay(database: Database, writing: readonly string[]): Promise<boolean> {
  const { rows } = await sql`select 1 ${WRITING} and virtualtransaction = any(${writing}) limit 1`.execute(
    database,
  );
  return rows.length > 0;
}
