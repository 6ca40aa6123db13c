import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Kysely, sql } from "kysely";
import { type Migration, Migrator } from "kysely/migration";
import { SCHEMA_WORDS } from "../../src/db/engine.ts";
import { initial } from "../../src/db/migrations/0001-initial.ts";
import { openUnhurried } from "../../src/db/postgres.ts";
import type { Database } from "../../src/db/schema.ts";
import { kyselyOver } from "../../src/db/sqlite.ts";
import { openForWriting } from "../../src/db/sqlite-file.ts";
import { describeOnEngines, type TestEngine, type TestPlace } from "../gateway/engines.ts";
import { type GatewayProcess, shownKey, startProcess, temporaryFolder } from "../gateway/process.ts";
import { faultsOfBooks, readBooks, withBooks } from "./books.ts";
import { kill, urlUnlessKilled } from "./station.ts";
import { LONG } from "../runs.ts";

// A first start that dies, at every statement of the schema and at every commit, and the start after it.

describeOnEngines("a start killed", (engine) => {
  const folder = temporaryFolder();
  const settings = join(folder.path, "switchyard.yaml");
  // The start after it waits until the one before cannot be alive any more, before it makes anything anew.
  writeFileSync(settings, "timeouts: { process_lease_seconds: 1 }\n");
  afterAll(folder.remove);
  const begin = (place: TestPlace, environment: Readonly<Record<string, string>> = {}): GatewayProcess =>
    startProcess({ ...place.environment, SWITCHYARD_CONFIG: settings, ...environment });

  for (const older of [false, true]) {
    const from = older ? "a database of the version before" : "a new database";
    test(`in any statement of its migrations of ${from} leaves nothing of them behind (K31)`, async () => {
      const place = await engine.newPlace();
      if (older) await makeFirstVersion(engine, place);
      const before = await schemaOf(engine, place);
      let killed = 0;
      // Each start goes as far as the one before, and by so many statements further.
      for (let nth = 1; ; nth += LONG ? 1 : 19) {
        const gateway = begin(place, { SWITCHYARD_FAILPOINT: `migrate.before_statement:kill:${nth}` });
        if ((await urlUnlessKilled(gateway)) !== undefined) {
          await kill(gateway);
          break;
        }
        expect(await schemaOf(engine, place)).toEqual(before);
        killed += 1;
      }
      expect(killed).toBeGreaterThan(LONG ? 12 : 3);
      const fresh = await engine.newPlace();
      const whole = begin(fresh);
      await whole.ready();
      await kill(whole);
      expect(await schemaOf(engine, place)).toEqual(await schemaOf(engine, fresh));
      if (older) expect(await chargedKey(place)).toEqual({ spent: 70n, held: 0n });
      expect(faultsOfBooks(await readBooks(place.place))).toEqual([]);
      await place.remove();
      await fresh.remove();
    }, 1_200_000);
  }

  // A death after a commit and one before the next are nearly the same: every fifth commit from each side will do.
  const step = LONG ? 1 : 5;
  const sides = { "writer.before_commit": 1, "writer.after_commit": step };
  for (const [point, first] of Object.entries(sides)) {
    test(`at any commit (${point}) shows a key and a token that work, and opens one account (K32)`, async () => {
      let shown = false;
      const dieAt = async (nth: number): Promise<void> => {
        const place = await engine.newPlace();
        const first = begin(place, { SWITCHYARD_WRITER_FAILPOINT: `${point}:kill:${nth}` });
        const url = await urlUnlessKilled(first);
        if (url !== undefined && (await survives(first))) shown = true;
        await kill(first);
        await checkInstallation(place, begin(place), first.output());
        await place.remove();
      };
      for (let nth = first; !shown; nth += 2 * step) {
        expect(nth).toBeLessThan(40);
        await Promise.all([dieAt(nth), dieAt(nth + step)]);
      }
    }, 1_200_000);
  }
});

/** Whether a gateway that listens comes to the end of its first start. */
async function survives(gateway: GatewayProcess): Promise<boolean> {
  let ended = false;
  void gateway.exited().then(() => (ended = true));
  while (!ended && !gateway.output().includes("It belongs to the account")) await Bun.sleep(2);
  // What is written down after that is two commits; on PostgreSQL a heartbeat may follow, which is none of the start.
  await Bun.sleep(150);
  return !ended;
}

/** The last key and token that either start has shown work, nobody else is let in, and there is one account. */
async function checkInstallation(place: TestPlace, second: GatewayProcess, before: string): Promise<void> {
  try {
    const url = await second.ready();
    const untilMs = performance.now() + 15_000;
    const shown = (): string => before + second.output();
    const token = (): string | undefined =>
      [...shown().matchAll(/Admin token \(shown once\): (adm-\w+)/g)].at(-1)?.[1];
    const status = async (path: string, secret?: string): Promise<number> => {
      const headers = secret === undefined ? {} : { authorization: `Bearer ${secret}` };
      return (await fetch(`${url}${path}`, { headers })).status;
    };
    const admitted = async (): Promise<boolean> =>
      (await status("/api/v1/models", shownKey(shown()) ?? "no key")) === 200 &&
      (await status("/admin/v1/accounts", token() ?? "no token")) === 200;
    // What the second start shows, if anything, comes shortly after it listens.
    while (!(await admitted())) {
      expect(performance.now()).toBeLessThan(untilMs);
      await Bun.sleep(5);
    }
    for (const secret of [undefined, "", "adm-", `adm-${"0".repeat(48)}`])
      expect(await status("/admin/v1/accounts", secret)).toBe(401);
    const books = await readBooks(place.place);
    expect(books.accounts.map(({ name, balance, held }) => ({ name, balance, held }))).toEqual([
      { name: "default", balance: 100_000_000_000n, held: 0n },
    ]);
    expect(faultsOfBooks(books)).toEqual([]);
  } finally {
    await kill(second);
  }
}

/** A database as the first version left it, with a charge in it. */
async function makeFirstVersion(engine: TestEngine, { place }: TestPlace): Promise<void> {
  const database: Database =
    "file" in place ? kyselyOver(openForWriting(place.file)) : openUnhurried(place.url);
  const up = async (db: Kysely<unknown>): Promise<void> => {
    for (const statement of initial(SCHEMA_WORDS[engine.name])) await sql.raw(statement).execute(db);
  };
  const migrations: Record<string, Migration> = { "0001-initial": { up } };
  const migrator = new Migrator({ db: database, provider: { getMigrations: async () => migrations } });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
  const rows = [
    "insert into accounts (id, name, balance, held, created_at_ms) values ('a', 'a', 930, 0, 1)",
    "insert into keys (id, account_id, name, hash, hint, created_at_ms) values ('k', 'a', 'k', 'h', 'h', 1)",
    "insert into price_versions (version, model, rules, created_at_ms) values ('v', 'm', '[]', 1)",
    `insert into holds (id, account_id, key_id, request_id, boot_id, amount, state, price_version, created_at_ms,
       expires_at_ms, ended_at_ms, end_reason, settled)
     values ('x', 'a', 'k', 'r', 'b', 100, 'settled', 'v', 1, 2, 2, 'completed', 70)`,
    `insert into ledger (cause, account_id, counter, amount, balance_after, kind, created_at_ms)
     values ('g:grant', 'a', 'funding', 1000, 1000, 'grant', 1)`,
    `insert into ledger (cause, account_id, counter, amount, balance_after, kind, request_id, created_at_ms)
     values ('x:settle', 'a', 'revenue', -70, 930, 'settle', 'r', 2)`,
  ];
  for (const row of rows) await sql.raw(row).execute(database);
  await database.destroy();
}

/** Everything that the schema consists of, as text in order. */
async function schemaOf(engine: TestEngine, { place }: TestPlace): Promise<unknown> {
  if ("file" in place && !(await Bun.file(place.file).exists())) return [];
  const ask =
    engine.name === "sqlite"
      ? "select type, name, sql from sqlite_master where name not like 'kysely%' and name not like 'sqlite_autoindex_kysely%' order by type, name"
      : `select table_name as place, column_name as name, data_type || is_nullable as kind from information_schema.columns
           where table_schema = 'public' and table_name not like 'kysely%'
         union all select tablename, indexname, indexdef from pg_indexes
           where schemaname = 'public' and tablename not like 'kysely%'
         union all select tgrelid::regclass::text, tgname, '' from pg_trigger where not tgisinternal
         order by 1, 2, 3`;
  return withBooks(place, async (database) => (await sql.raw(ask).execute(database)).rows);
}

function chargedKey({ place }: TestPlace): Promise<unknown> {
  return withBooks(place, (database) =>
    database.selectFrom("keys").select(["spent", "held"]).where("id", "=", "k").executeTakeFirst(),
  );
}
