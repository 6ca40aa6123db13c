import type pg from "pg";
import { type Failpoint, noFailpoint } from "../../core/failpoint.ts";
import { postgresCompiler } from "../../db/postgres.ts";
import { hasChanges } from "../decide/changes.ts";
import { referencesOf } from "../decide/state.ts";
import { type Command, movesMoney, type Outcome, type RecordCommand } from "../commands.ts";
import { recordAnswer, recordStatement } from "../records.ts";
import type { Executor } from "../writer.ts";
import {
  all,
  type Connection,
  isConnectionFault,
  isRace,
  isStoreFault,
  openConnection,
  send,
} from "./connection.ts";
import { type Allotted, decideShared } from "./contested.ts";
import {
  allottedOf,
  type LoadedRow,
  loadStatement,
  lockProvidersStatement,
  lockAccounts,
  payloadStatements,
  saveStatement,
  type Statement,
  stateOf,
} from "./statements.ts";

/** Retries of a transaction after losing a race. */
const MAX_RACES = 3;

/** What a batch is run with. */
export interface Direct {
  readonly connection: Connection;
  readonly failpoint: Failpoint;
  /** Called with the accounts that commands were decided over; of each, whether one of them was contested. */
  readonly onDecided?: (accounts: ReadonlyMap<string, boolean>) => void;
}

/**
 * Runs batches on a PostgreSQL server with every hold in the tables. Any number of processes may do so at once: row
 * locks put their transactions in order.
 */
export function createPostgresExecutor(url: string, failpoint: Failpoint = noFailpoint): Executor {
  const connection = openConnection(url);
  return {
    execute: (commands) => runDirectly({ connection, failpoint }, commands),
    close: () => connection.close(),
  };
}

/** Runs a batch as one transaction. Throws when it failed as a whole; whether it was committed may then be unknown. */
export async function runDirectly(direct: Direct, commands: readonly Command[]): Promise<readonly Outcome[]> {
  for (let races = 1; ; races += 1) {
    try {
      return await direct.connection.use((client) => transaction(client, commands, direct));
    } catch (error) {
      if (isConnectionFault(error)) throw error;
      if (isRace(error) && races < MAX_RACES) continue;
      if (isStoreFault(error)) throw error;
      return await apart(direct, commands, error);
    }
  }
}

/** A batch that fails by one of its commands is run command by command, so that only this one gets a failure. */
async function apart(
  direct: Direct,
  commands: readonly Command[],
  error: unknown,
): Promise<readonly Outcome[]> {
  if (commands.length === 1) {
    const failure = error instanceof Error ? error.message : String(error);
    return [isRace(error) ? { failure, passing: true } : { failure }];
  }
  const outcomes: Outcome[] = [];
  for (const command of commands) outcomes.push(...(await runDirectly(direct, [command])));
  return outcomes;
}

async function transaction(
  client: pg.Client,
  commands: readonly Command[],
  { failpoint, onDecided }: Direct,
): Promise<readonly Outcome[]> {
  const records = commands.filter((command): command is RecordCommand => !movesMoney(command));
  const money = commands.filter(movesMoney);
  const outcomes = new Map<Command, Outcome>();
  try {
    // Sent together, as none needs an answer of another. Accounts are locked before a record locks its row, so that a
    // batch with both does not deadlock with one of money alone.
    const references = referencesOf(money);
    const isMoney = money.length > 0;
    const accounts = new Set([...references.accounts, ...closedBy(records)]);
    const begun = client.query("begin isolation level read committed");
    const providers = lockProvidersStatement(references);
    const bounded = providers === undefined ? undefined : send(client, providers);
    const locked = accounts.size > 0 ? send(client, lockAccounts(accounts)) : undefined;
    const recorded = records.map((command) => record(client, command));
    const loaded = isMoney ? send<LoadedRow>(client, loadStatement(references)) : undefined;
    await all([begun, bounded, locked, ...recorded, loaded]);
    for (const [i, command] of records.entries()) {
      const { rows } = (await recorded[i]) as pg.QueryResult<Record<string, unknown>>;
      outcomes.set(command, { answer: recordAnswer(command, rows) });
    }
    const saves: Statement[] = [];
    if (loaded !== undefined) {
      const { rows } = await loaded;
      const row = rows[0] as LoadedRow;
      // Whoever cannot ask other processes takes what is allotted for held.
      const allotted = onDecided === undefined ? NOTHING_ALLOTTED : allottedOf(row);
      const { outcomes: decided, changes, contested } = decideShared(stateOf(row), allotted, money);
      onDecided?.(new Map([...references.accounts].map((account) => [account, contested.has(account)])));
      money.forEach((command, i) => outcomes.set(command, decided[i] as Outcome));
      if (hasChanges(changes)) saves.push(saveStatement(changes), ...payloadStatements(changes));
    }
    failpoint("writer.before_commit");
    const results = await all([...saves.map((save) => send(client, save)), client.query("commit")]);
    // A commit after a statement that failed is a rollback, and its answer says so.
    if (results.at(-1)?.command !== "COMMIT") throw new Error("The transaction was rolled back.");
    failpoint("writer.after_commit");
    return commands.map((command) => outcomes.get(command) as Outcome);
  } catch (error) {
    // A silent server would time out once more.
    if (!isConnectionFault(error)) await client.query("rollback").catch(() => undefined);
    throw error;
  }
}

const NOTHING_ALLOTTED: Allotted = { accounts: new Map(), keys: new Map() };

const closedBy = (records: readonly RecordCommand[]): readonly string[] =>
  records.flatMap((command) => (command.kind === "close_account" ? [command.account] : []));

const build = postgresCompiler();

function record(client: pg.Client, command: RecordCommand): Promise<pg.QueryResult> {
  const { sql, parameters } = recordStatement(build, "postgres", command);
  return client.query(sql, [...parameters]);
}
