import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresDialect,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from "kysely";
import pg from "pg";
import type { Database, Tables } from "./schema.ts";

/** A read without an answer by then is cancelled, and its request gets an error. */
const ANSWER_MS = 5_000;

/** Connections for reads; further reads wait for one. */
const MAX_CONNECTIONS = 8;

/** Integers of 64 bits come as `bigint`, as they do from the other engine. */
const INT8 = pg.types.builtins.INT8;
const types: pg.CustomTypesConfig = {
  getTypeParser(id, format) {
    if (id === INT8) return (text: string) => BigInt(text);
    return pg.types.getTypeParser(id, format) as (text: string) => unknown;
  },
};

const settings = {
  application_name: "switchyard",
  types,
  connectionTimeoutMillis: ANSWER_MS,
  // The server stops by itself; the client's own limit is for a server that is silent.
  statement_timeout: ANSWER_MS,
  query_timeout: ANSWER_MS,
  keepAlive: true,
} as const;

/** Opens typed reads, or tables apart from the books. Connections are made as they are needed, and anew after the server was away. */
export function openPostgres<Held = Tables>(url: string, most = MAX_CONNECTIONS): Kysely<Held> {
  return readsOf<Held>(new pg.Pool({ ...settings, connectionString: url, max: most }));
}

/** Opens one connection without time limits, for migrations and audits. */
export function openUnhurried(url: string): Database {
  return readsOf(
    new pg.Pool({
      connectionString: url,
      max: 1,
      connectionTimeoutMillis: ANSWER_MS,
      keepAlive: true,
      types,
    }),
  );
}

/**
 * The pool replaces a broken connection, and the next read finds out how the server is. The pool handles errors of idle
 * connections. A connection in use may break too while it waits for nothing, just before a read or just after the
 * answer. An error without a handler ends the process.
 */
function readsOf<Held = Tables>(pool: pg.Pool): Kysely<Held> {
  pool.on("error", () => undefined);
  pool.on("connect", (client) => {
    client.on("error", () => undefined);
    // Compiling a read takes longer than any of them runs. Where this fails the read tells why.
    client.query("select set_config('jit', 'off', false)").catch(() => undefined);
  });
  return new Kysely<Held>({ dialect: new PostgresDialect({ pool }) });
}

/** A query builder that only compiles, for statements that the writer sends itself. */
export function postgresCompiler(): Database {
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });
}

/**
 * Planner settings of the writer. Its statements look up a few rows by their keys, and the server keeps their plans. A
 * plan from when the tables were empty or not yet analysed would read whole tables at each batch. And compiling a plan
 * takes longer than any of the statements runs.
 */
const NOT_FOR_THE_WRITER = ["enable_seqscan", "enable_hashjoin", "enable_mergejoin", "jit"];

/**
 * A connection for the writer, which sends statements without waiting for the answer to the one before. A commit is on
 * the disk when it is answered, whatever the server's default is. A process that freezes within a transaction does not
 * keep its locks. `onLost` is called when the connection has ended, and may be called more than once.
 */
export async function connectWriter(url: string, onLost = (): void => undefined): Promise<pg.Client> {
  const client = new pg.Client({
    ...settings,
    connectionString: url,
    pipeline: true,
    idle_in_transaction_session_timeout: ANSWER_MS,
  });
  // Set before the first statement: an error event without a handler would end the process.
  client.on("error", onLost);
  client.on("end", onLost);
  try {
    await client.connect();
    await client.query(
      "select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'",
    );
    await client.query("select set_config(name, 'off', false) from unnest($1::text[]) as t (name)", [
      NOT_FOR_THE_WRITER,
    ]);
    // A plan for the values of one batch costs as much as the batch, and is the same.
    await client.query("select set_config('plan_cache_mode', 'force_generic_plan', false)");
    return client;
  } catch (error) {
    client.end().catch(() => undefined);
    throw error;
  }
}
