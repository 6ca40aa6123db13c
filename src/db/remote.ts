import {
  type DatabaseConnection,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import type { Engine } from "./engine.ts";
import type { Database, Tables } from "./schema.ts";

/** Runs one statement somewhere else; resolves with its rows. */
export type RunStatement = (sql: string, parameters: readonly unknown[]) => Promise<readonly object[]>;

/** A query builder whose statements `run` runs, each by itself: it has no transactions. */
export function kyselyOverRuns(engine: Engine, run: RunStatement): Database {
  const connection: DatabaseConnection = {
    executeQuery: async <Row>({ sql, parameters }: { sql: string; parameters: readonly unknown[] }) => ({
      rows: (await run(sql, parameters)) as Row[],
    }),
    streamQuery: () => {
      throw new Error("Rows are not streamed from there.");
    },
  };
  const refuse = (): Promise<void> => Promise.reject(new Error("There are no transactions there."));
  const driver: Driver = {
    init: async () => {},
    acquireConnection: async () => connection,
    beginTransaction: refuse,
    commitTransaction: refuse,
    rollbackTransaction: refuse,
    releaseConnection: async () => {},
    destroy: async () => {},
  };
  return new Kysely<Tables>({
    dialect: {
      createDriver: () => driver,
      ...(engine === "postgres"
        ? {
            createAdapter: () => new PostgresAdapter(),
            createIntrospector: (db) => new PostgresIntrospector(db),
            createQueryCompiler: () => new PostgresQueryCompiler(),
          }
        : {
            createAdapter: () => new SqliteAdapter(),
            createIntrospector: (db) => new SqliteIntrospector(db),
            createQueryCompiler: () => new SqliteQueryCompiler(),
          }),
    },
  });
}
