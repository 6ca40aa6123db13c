import { afterAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Client } from "pg";
import type { Engine } from "../../src/db/engine.ts";
import { migrate } from "../../src/db/migrate.ts";
import { openUnhurried, openPostgres } from "../../src/db/postgres.ts";
import type { Database } from "../../src/db/schema.ts";
import { kyselyOver } from "../../src/db/sqlite.ts";
import { checkSnapshot } from "../../src/ledger/audit/audit.ts";
import type { Command, Outcome } from "../../src/ledger/commands.ts";
import { createPostgresExecutor } from "../../src/ledger/postgres/executor.ts";
import { sharedCluster } from "../postgres/cluster.ts";
import { describeOnPostgres } from "../postgres/on-postgres.ts";
import { LONG, SEED } from "../runs.ts";
import { type Ask, assertBooks, type BooksText, modelBooks, readBooks } from "./check-books.ts";
import { commandsOf, histories } from "./histories.ts";
import { createLedgerModel } from "./ledger-model.ts";
import { createMemoryBooks } from "./memory-books.ts";
import { openMemoryStore } from "./sqlite-memory.ts";
import { openTableBooks } from "./table-books.ts";

/** Books under test. */
interface Subject {
  apply(commands: readonly Command[]): readonly Outcome[] | Promise<readonly Outcome[]>;
  /** The books as text, after the rules were checked. */
  read(): BooksText | Promise<BooksText>;
  /** Called after the history. */
  end?(): Promise<void>;
}

let rounds = 0;
let batchesDone = 0;
let commandsDone = 0;
/** Kinds of answers that were given, so that a generator that no longer reaches one is noticed. */
const seen = new Set<string>();

/** Runs histories against the model: every answer and, after every batch, every row. */
async function compare(
  open: () => Subject | Promise<Subject>,
  numRuns: number,
  { seed = SEED, hasClock = false } = {},
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(histories, async (steps) => {
      rounds += 1;
      const subject = await open();
      // A server's time goes on whatever the commands say: between two batches, but not within one.
      let storeMs = 1_000_000;
      const model = createLedgerModel(hasClock ? () => storeMs : undefined);
      for (const batch of commandsOf(steps, `h${rounds}`)) {
        storeMs += 1;
        const outcomes = await subject.apply(batch);
        expect(outcomes).toEqual(model.apply(batch));
        expect(await subject.read()).toEqual(modelBooks(model));
        for (const [i, outcome] of outcomes.entries()) seen.add(`${batch[i]!.kind} ${wordOf(outcome)}`);
        batchesDone += 1;
        commandsDone += batch.length;
      }
      await subject.end?.();
    }),
    { seed, numRuns },
  );
}

afterAll(() => {
  console.log(
    `model: ${rounds} histories, ${batchesDone} batches, ${commandsDone} commands, SWITCHYARD_TEST_SEED=${SEED}`,
  );
});

describe("any history in any batches comes to what the charging rules say", () => {
  test("as the one decision decides it", async () => {
    await compare(
      () => {
        const books = createMemoryBooks();
        return { apply: (commands) => books.apply(commands), read: () => books.text() };
      },
      LONG ? 30_000 : 3_000,
    );
    expect([...seen].toSorted()).toEqual(ALL_ANSWERS.toSorted());
  }, 600_000);

  test("on sqlite", async () => {
    await compare(
      async () => {
        const database = await openMemoryStore();
        const store = openTableBooks(database);
        const ask: Ask = (sql) => database.prepare(sql).all();
        return {
          apply: (commands) => store.apply(commands),
          read: () => readChecked(ask),
          async end() {
            await expectAudited(kyselyOver(database), "sqlite");
            database.close();
          },
        };
      },
      LONG ? 4_000 : 150,
    );
  }, 600_000);

  describeOnPostgres("on postgres", () => {
    for (let part = 0; part < (LONG ? 12 : 1); part += 1)
      test(`on postgres, database ${part + 1}`, () => compareOnPostgres(SEED + part), 600_000);
  });
});

/** Histories that share one database, as the accounts of one installation do. */
async function compareOnPostgres(seed: number): Promise<void> {
  const { url, drop } = await (await sharedCluster()).database();
  const migrating = openUnhurried(url);
  await migrate(migrating, "postgres");
  await migrating.destroy();
  const [executor, database] = [createPostgresExecutor(url), openPostgres(url)];
  const client = new Client({ connectionString: url });
  await client.connect();
  const isMine = (line: string): boolean => line.split(" ")[1]!.startsWith(`h${rounds}-`);
  const ask: Ask = async (sql) => (await client.query(sql)).rows;
  try {
    const subject: Subject = {
      apply: (commands) => executor.execute(commands),
      read: async () => (await readChecked(ask)).filter(isMine),
    };
    await compare(() => subject, 25, { seed, hasClock: true });
    await expectAudited(database, "postgres");
  } finally {
    await client.end();
    await executor.close();
    await database.destroy();
    await drop();
  }
}

function wordOf(outcome: Outcome): string {
  if ("failure" in outcome) return "failed";
  return outcome.answer.ok ? "ok" : outcome.answer.reason;
}

const ALL_ANSWERS = [
  "attempt failed",
  "attempt full",
  "attempt lost",
  "attempt ok",
  "cancel ended",
  "cancel ok",
  "cancel started",
  "cancel unknown_task",
  "change_key ok",
  "change_key unknown_key",
  "claim closed",
  "claim deadline",
  "claim ended",
  "claim full",
  "claim ok",
  "claim taken",
  "close_account ok",
  "close_account unknown_account",
  "create_account ok",
  "fail lost",
  "fail ok",
  "finish deadline",
  "finish lost",
  "finish ok",
  "forget_files ok",
  "forget_tasks ok",
  "grant below_held",
  "grant closed",
  "grant ok",
  "grant other_grant",
  "grant too_large",
  "grant unknown_account",
  "hold budget_exceeded",
  "hold insufficient_credits",
  "hold key_not_live",
  "hold ok",
  "issue_key ok",
  "issue_key unknown_account",
  "note_job lost",
  "note_job ok",
  "note_refusal failed",
  "note_refusal lost",
  "note_refusal ok",
  "release lost",
  "release ok",
  "renew lost",
  "renew ok",
  "revoke_key ok",
  "revoke_key unknown_key",
  "revoke_keys ok",
  "settle ok",
  "settle unknown_hold",
  "submit budget_exceeded",
  "submit failed",
  "submit insufficient_credits",
  "submit key_not_live",
  "submit ok",
  "submit too_many_pending",
  "void ok",
  "void settled",
  "void unknown_hold",
];

/** The gateway's own audit agrees. */
async function expectAudited(database: Database, engine: Engine): Promise<void> {
  const { checks } = await checkSnapshot(database, engine, { full: true, nowMs: 0 });
  expect(checks.filter(({ ok }) => !ok)).toEqual([]);
}

async function readChecked(ask: Ask): Promise<BooksText> {
  await assertBooks(ask);
  return readBooks(ask);
}
