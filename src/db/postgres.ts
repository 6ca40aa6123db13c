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

/** A question that the store has not answered by then is given up: the request is told that it cannot be asked. */
const ANSWER_MS = 5_000;

/** Connections for reads; more questions than that wait for one another. */
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
  // The server gives up by itself; the client's own limit is for a server that says nothing at all.
  statement_timeout: ANSWER_MS,
  query_timeout: ANSWER_MS,
  keepAlive: true,
} as const;

/** Opens typed reads; connections are made as they are needed and made anew after the server was away. */
export function openPostgres(url: string): Database {
  return readsOf(new pg.Pool({ ...settings, connectionString: url, max: MAX_CONNECTIONS }));
}

/** Opens one connection without limits on time, for migrations and audits. */
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
 * A connection that breaks is replaced, and whoever asks next finds out how the server is. The pool listens to those
 * that nobody uses; one that is in use may break too while it waits for nothing, just before a question or just after
 * the answer, and an error that nobody listens to ends the process.
 */
function readsOf(pool: pg.Pool): Database {
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
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
 * What the planner does without for the writer. Its statements look up a few rows by their keys, and their plans are
 * kept: one that was made while the tables were empty or not yet counted would read whole tables at each batch. And
 * compiling a plan takes longer than any of them runs.
 */
const NOT_FOR_THE_WRITER = ["enable_seqscan", "enable_hashjoin", "enable_mergejoin", "jit"];

/**
 * A connection for the writer: statements are sent without waiting for the answer to the one before. A commit is on
 * the disk when it is answered, whatever the server's default is, and a process that freezes in the middle of a
 * transaction does not keep its locks. `onLost` is called when the connection has ended, whoever ended it, and may be
 * called more than once.
 */
export async function connectWriter(url: string, onLost = (): void => undefined): Promise<pg.Client> {
  const client = new pg.Client({
    ...settings,
    connectionString: url,
    pipeline: true,
    idle_in_transaction_session_timeout: ANSWER_MS,
  });
  // Before anything is asked: a server that goes away while nobody listens would end the process.
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
    return client;
  } catch (error) {
    client.end().catch(() => undefined);
    throw error;
  }
}
