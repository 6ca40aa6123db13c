import { sql } from "kysely";
import { type Migration, Migrator } from "kysely/migration";
import { type Failpoint, noFailpoint } from "../core/failpoint.ts";
import { type Engine, SCHEMA_WORDS, type SchemaWords } from "./engine.ts";
import { initial } from "./migrations/0001-initial.ts";
import { books } from "./migrations/0002-books.ts";
import { keyLimits } from "./migrations/0003-key-limits.ts";
import { tasks } from "./migrations/0004-tasks.ts";
import { journal } from "./migrations/0005-journal.ts";
import { journalGaps } from "./migrations/0007-journal-gaps.ts";
import { allotments } from "./migrations/0008-allotments.ts";
import { keptResponses } from "./migrations/0009-kept-responses.ts";
import { routes } from "./migrations/0010-routes.ts";
import { usage } from "./migrations/0011-usage.ts";
import { sessions } from "./migrations/0012-sessions.ts";
import { found } from "./migrations/0013-found.ts";
import { recentUsage } from "./migrations/0014-recent-usage.ts";
import type { Database } from "./schema.ts";

/** Every migration by name, in order. A name that has shipped is never changed or removed. */
export const MIGRATIONS: Readonly<Record<string, (words: SchemaWords) => readonly string[]>> = {
  "0001-initial": initial,
  "0002-books": books,
  "0003-key-limits": keyLimits,
  "0004-tasks": tasks,
  "0005-journal": journal,
  "0007-journal-gaps": journalGaps,
  "0008-allotments": allotments,
  "0009-kept-responses": (words) => (words.keepsApart ? [] : keptResponses(words)),
  "0010-routes": routes,
  "0011-usage": usage,
  "0012-sessions": sessions,
  "0013-found": found,
  "0014-recent-usage": recentUsage,
};

/**
 * Brings the schema up to date in one transaction, so that a start that dies in it leaves the schema as it was. Two
 * processes that start at once take turns. Throws when a statement fails, or when a newer version made the store.
 */
export async function migrate(
  database: Database,
  engine: Engine,
  failpoint: Failpoint = noFailpoint,
): Promise<void> {
  const migrator = new Migrator({
    db: database,
    provider: { getMigrations: async () => migrationsFor(SCHEMA_WORDS[engine], failpoint) },
  });
  const { error } = await migrator.migrateToLatest();
  if (error === undefined) return;
  const reason = (await madeByNewer(database)) ?? (error instanceof Error ? error.message : "unknown");
  throw new Error(
    engine === "postgres"
      ? `The database of DATABASE_URL cannot be used: ${reason}`
      : `The database could not be brought up to date: ${reason}`,
    { cause: error },
  );
}

/** The error for a store with a migration that this version does not know. */
async function madeByNewer(database: Database): Promise<string | undefined> {
  try {
    const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(
      database,
    );
    const unknown = rows.find(({ name }) => !(name in MIGRATIONS));
    if (unknown === undefined) return undefined;
    return `It was made by a newer version of Switchyard, which knows the migration ${unknown.name}. Start that version.`;
  } catch {
    // The store does not answer: the first error says more.
    return undefined;
  }
}

function migrationsFor(words: SchemaWords, failpoint: Failpoint): Record<string, Migration> {
  const asMigration = (statements: readonly string[]): Migration => ({
    async up(db) {
      for (const statement of statements) {
        failpoint("migrate.before_statement");
        await sql.raw(statement).execute(db);
      }
    },
  });
  return Object.fromEntries(
    Object.entries(MIGRATIONS).map(([name, statementsIn]) => [name, asMigration(statementsIn(words))]),
  );
}
