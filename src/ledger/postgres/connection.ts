import pg from "pg";
import { connectWriter } from "../../db/postgres.ts";
import type { Statement } from "./statements.ts";

/** The one connection of a process's writes. It is replaced when it breaks. */
export interface Connection {
  /** Runs `work` on it. Rejects with what that rejects with, and where there is no connection. */
  use<Result>(work: (client: pg.Client) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

/** Other processes ask on this channel for what is allotted of an account. */
export const RECALL_CHANNEL = "switchyard_recall";

/** What a connection hears from other processes. */
export interface Heard {
  /** Another process needs what is allotted of the account. */
  onRecall(account: string): void;
  /** Such calls may have been missed: there was no connection for a while. */
  onMissed(): void;
}

/** Opens no connection before it is used. */
export function openConnection(url: string, heard?: Heard): Connection {
  let connected: Promise<pg.Client> | undefined;
  let hasListened = false;

  /** A connection that has replaced it meanwhile stays. */
  const forget = (lost: Promise<pg.Client>): void => {
    if (connected === lost) connected = undefined;
  };

  const open = async (onLost: () => void): Promise<pg.Client> => {
    const client = await connectWriter(url, onLost);
    if (heard === undefined) return client;
    client.on("notification", ({ payload = "" }) => heard.onRecall(payload));
    await client.query(`listen ${RECALL_CHANNEL}`);
    if (hasListened) heard.onMissed();
    hasListened = true;
    return client;
  };

  const connection = (): Promise<pg.Client> => {
    if (connected !== undefined) return connected;
    const made = open(() => forget(made));
    made.catch(() => forget(made));
    connected = made;
    return made;
  };

  return {
    async use(work) {
      const current = connection();
      const client = await current;
      try {
        return await work(client);
      } catch (error) {
        if (isConnectionFault(error)) {
          forget(current);
          client.end().catch(() => undefined);
        }
        throw error;
      }
    },
    async close() {
      const closing = connected;
      connected = undefined;
      await closing?.then((client) => client.end()).catch(() => undefined);
    },
  };
}

/** Sends a statement; the server keeps its plan by its name. */
export function send<Row extends pg.QueryResultRow>(
  client: pg.Client,
  { name, text, values }: Statement,
): Promise<pg.QueryResult<Row>> {
  return client.query<Row>({ name, text, values: [...values] });
}

/** Waits for every answer, so that none is left for the next batch, then throws the first error. */
export async function all<Sent extends readonly unknown[]>(
  sent: readonly [...Sent],
): Promise<{ -readonly [Place in keyof Sent]: Awaited<Sent[Place]> }> {
  for (const result of await Promise.allSettled(sent)) if (result.status === "rejected") throw result.reason;
  return await Promise.all(sent);
}

/** Runs statements that are sent together as one transaction, and gives their results. */
export async function inTransaction(
  client: pg.Client,
  statements: readonly Statement[],
): Promise<readonly pg.QueryResult<pg.QueryResultRow>[]> {
  try {
    const begun = client.query("begin isolation level read committed");
    const sent = statements.map((statement) => send(client, statement));
    // A commit after a statement that failed is a rollback.
    const [, results] = await all([begun, all(sent), client.query("commit")]);
    return results;
  } catch (error) {
    if (!isConnectionFault(error)) await client.query("rollback").catch(() => undefined);
    throw error;
  }
}

/** The error's SQLSTATE; none when it did not come from the server. */
function stateOfError(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

/** The connection is gone or silent: it is not used again. */
export function isConnectionFault(error: unknown): boolean {
  const state = stateOfError(error);
  // An error without one comes from the socket or its client, which leaves the state of the connection unknown.
  if (state === undefined) return true;
  return /^(08|57P)/.test(state);
}

/** Rows were not as they were expected: another wrote one of them first. */
export function isConflict(error: unknown): boolean {
  return ["23505", "22012"].includes(stateOfError(error) ?? "");
}

/** Lost to another transaction: serialisation, deadlock, a row that another wrote first, a row that has changed. */
export function isRace(error: unknown): boolean {
  return isConflict(error) || ["40001", "40P01"].includes(stateOfError(error) ?? "");
}

/** Faults of the server and not of a command: full, read-only, out of connections or time. */
export function isStoreFault(error: unknown): boolean {
  return /^(25|53|55|57|58|XX)/.test(stateOfError(error) ?? "");
}
