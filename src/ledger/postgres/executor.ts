import pg from "pg";
import { type Failpoint, noFailpoint } from "../../core/failpoint.ts";
import { connectWriter, postgresCompiler } from "../../db/postgres.ts";
import { decide } from "../decide/books.ts";
import { hasChanges } from "../decide/changes.ts";
import { referencesOf } from "../decide/state.ts";
import { type Command, movesMoney, type Outcome, type RecordCommand } from "../commands.ts";
import { recordAnswer, recordStatement } from "../records.ts";
import type { Executor } from "../writer.ts";
import {
  type LoadedRow,
  loadStatement,
  lockProvidersStatement,
  lockStatement,
  payloadStatements,
  saveStatement,
  type Statement,
  stateOf,
} from "./statements.ts";

/** Retries of a transaction after losing a race. */
const MAX_RACES = 3;

/**
 * Runs batches on a PostgreSQL server, over one connection that it replaces when it breaks. Any number of processes may
 * do so at once: row locks put their transactions in order.
 */
export function createPostgresExecutor(url: string, failpoint: Failpoint = noFailpoint): Executor {
  let connected: Promise<pg.Client> | undefined;

  /** A connection that has replaced it meanwhile stays. */
  const forget = (lost: Promise<pg.Client>): void => {
    if (connected === lost) connected = undefined;
  };

  const connection = (): Promise<pg.Client> => {
    if (connected !== undefined) return connected;
    const made = connectWriter(url, () => forget(made));
    made.catch(() => forget(made));
    connected = made;
    return made;
  };

  /** Throws when the batch as a whole failed; whether it was committed may then be unknown. */
  const run = async (commands: readonly Command[]): Promise<readonly Outcome[]> => {
    for (let races = 1; ; races += 1) {
      const current = connection();
      const client = await current;
      try {
        return await transaction(client, commands, failpoint);
      } catch (error) {
        if (isConnectionFault(error)) {
          forget(current);
          client.end().catch(() => undefined);
          throw error;
        }
        if (isRace(error) && races < MAX_RACES) continue;
        if (isStoreFault(error)) throw error;
        return await apart(commands, error);
      }
    }
  };

  /** A batch that fails by one of its commands is run command by command, so that only this one gets a failure. */
  const apart = async (commands: readonly Command[], error: unknown): Promise<readonly Outcome[]> => {
    if (commands.length === 1) {
      const failure = error instanceof Error ? error.message : String(error);
      return [isRace(error) ? { failure, passing: true } : { failure }];
    }
    const outcomes: Outcome[] = [];
    for (const command of commands) outcomes.push(...(await run([command])));
    return outcomes;
  };

  return {
    execute: run,
    async close() {
      const closing = connected;
      connected = undefined;
      await closing?.then((client) => client.end()).catch(() => undefined);
    },
  };
}

async function transaction(
  client: pg.Client,
  commands: readonly Command[],
  failpoint: Failpoint,
): Promise<readonly Outcome[]> {
  const records = commands.filter((command): command is RecordCommand => !movesMoney(command));
  const money = commands.filter(movesMoney);
  const outcomes = new Map<Command, Outcome>();
  try {
    // Sent together, as none needs an answer of another. Accounts are locked before a record locks its row, so that a
    // batch with both does not deadlock with one of money alone.
    const references = referencesOf(money);
    const isMoney = money.length > 0;
    const begun = client.query("begin isolation level read committed");
    const providers = lockProvidersStatement(references);
    const bounded = providers === undefined ? undefined : send(client, providers);
    const locked = isMoney ? send(client, lockStatement(references)) : undefined;
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
      const { outcomes: decided, changes } = decide(stateOf(rows[0] as LoadedRow), money);
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

const build = postgresCompiler();

function record(client: pg.Client, command: RecordCommand): Promise<pg.QueryResult> {
  const { sql, parameters } = recordStatement(build, "postgres", command);
  return client.query(sql, [...parameters]);
}

function send<Row extends pg.QueryResultRow>(
  client: pg.Client,
  { name, text, values }: Statement,
): Promise<pg.QueryResult<Row>> {
  return client.query<Row>({ name, text, values: [...values] });
}

/** Waits for every answer, so that none is left for the next batch, then throws the first error. */
async function all<Sent extends readonly unknown[]>(
  sent: readonly [...Sent],
): Promise<{ -readonly [Place in keyof Sent]: Awaited<Sent[Place]> }> {
  for (const result of await Promise.allSettled(sent)) if (result.status === "rejected") throw result.reason;
  return await Promise.all(sent);
}

/** The error's SQLSTATE; none when it did not come from the server. */
function stateOfError(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

/** The connection is gone or silent: it is not used again. */
function isConnectionFault(error: unknown): boolean {
  const state = stateOfError(error);
  // An error without one comes from the socket or its client, which leaves the state of the connection unknown.
  if (state === undefined) return true;
  return /^(08|57P)/.test(state);
}

/** Lost to another transaction: serialisation, deadlock, a row that another wrote first, a row that has changed. */
function isRace(error: unknown): boolean {
  return ["40001", "40P01", "23505", "22012"].includes(stateOfError(error) ?? "");
}

/** Faults of the server and not of a command: full, read-only, out of connections or time. */
function isStoreFault(error: unknown): boolean {
  return /^(25|53|55|57|58|XX)/.test(stateOfError(error) ?? "");
}
