import { type Migration, Migrator } from "kysely/migration";
import { initial } from "./migrations/0001-initial.ts";
import type { Database } from "./sqlite.ts";

/** Every migration by name, in order. A name that has shipped is never changed or taken out. */
const MIGRATIONS: Readonly<Record<string, Migration>> = {
  "0001-initial": initial,
};

/** Brings the schema up to date; each migration is applied whole or not at all. Throws when one fails. */
export async function migrate(database: Database): Promise<void> {
  const migrator = new Migrator({ db: database, provider: { getMigrations: async () => MIGRATIONS } });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw new Error("The database could not be brought up to date.", { cause: error });
}
