import type { MicroCredits } from "../../core/credits.ts";
import { isEnded, type TaskState } from "../../core/task.ts";
import type { SqliteDatabase, SqliteRow, SqliteStatement } from "../../runtime/sqlite.ts";
import type { ChangedTask, Changes, HoldEnding, NewHold, NewTask } from "../decide/changes.ts";
import type { AccountState, BooksState, HoldState, KeyState, References, TaskRow } from "../decide/state.ts";

/** Rows of the books in a SQLite database, within whatever transaction is open. */
export interface SqliteRows {
  /** What a batch refers to, as it stands. */
  load(references: References): BooksState;
  /** Writes what was decided. Throws when a row is not as it was when that was decided. */
  save(changes: Changes): void;
}

/** The rows of `database`, which must have the current schema. */
export function openSqliteRows(database: SqliteDatabase): SqliteRows {
  const statements = { ...prepareStatements(database), ...prepareTaskStatements(database) };
  return {
    load: (references) => load(statements, references),
    save: (changes) => save(statements, changes),
  };
}

type Statements = ReturnType<typeof prepareStatements> & ReturnType<typeof prepareTaskStatements>;

function prepareStatements(database: SqliteDatabase) {
  const prepare = (sql: string): SqliteStatement => database.prepare(sql);
  return {
    account: prepare("select status, balance, held from accounts where id = ?"),
    key: prepare(
      "select account_id, revoked_at_ms, expires_at_ms, budget, spent, held from keys where id = ?",
    ),
    hold: prepare(
      `select account_id, key_id, request_id, model, price_version, amount, expected_cost, state, settled,
         end_reason, created_at_ms, task_id
       from holds where id = ?`,
    ),
    entry: prepare("select account_id, amount, balance_after from ledger where cause = ?"),
    changeAccount: prepare(
      `update accounts set balance = balance + ?2, held = held + ?3
       where id = ?1 and held + ?3 >= 0 and balance + ?2 >= held + ?3`,
    ),
    changeKey: prepare("update keys set spent = spent + ?2, held = held + ?3 where id = ?1"),
    insertPrices: prepare(
      "insert into price_versions (version, model, rules, created_at_ms) values (?, ?, ?, ?) on conflict do nothing",
    ),
    insertHold: prepare(
      `insert into holds
         (id, account_id, key_id, request_id, boot_id, model, amount, expected_cost, price_version, created_at_ms,
          expires_at_ms, task_id, state, settled, end_reason, ended_at_ms)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    endHold: prepare(
      `update holds set state = ?2, settled = ?3, end_reason = ?4, ended_at_ms = ?5 where id = ?1 and state = 'held'`,
    ),
    insertEntry: prepare(
      `insert into ledger
         (cause, account_id, key_id, counter, amount, balance_after, kind, request_id, reason, created_at_ms)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    insertRequest: prepare(
      `insert into requests
         (id, account_id, key_id, hold_id, model, provider, outcome, charge, price_version, usage, flags, attempts,
          admitted_at_ms, held_at_ms, first_byte_at_ms, ended_at_ms, settled_at_ms)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
  };
}

function prepareTaskStatements(database: SqliteDatabase) {
  const prepare = (sql: string): SqliteStatement => database.prepare(sql);
  return {
    task: prepare(
      `select account_id, key_id, hold_id, state, epoch, owner, lease_until_ms, provider, job, attempts, refusals,
         deadline_ms, charge, files_until_ms, started_at_ms, ended_at_ms
       from tasks where id = ?`,
    ),
    countPending: prepare("select count(*) as tasks from tasks where account_id = ? and state = 'pending'"),
    countRunning: prepare("select count(*) as tasks from tasks where provider = ? and state = 'running'"),
    insertTask: prepare(
      `insert into tasks
         (id, kind, account_id, key_id, hold_id, request_id, model, state, epoch, owner, lease_until_ms, provider, job,
          attempts, refusals, terms, warnings, timeout_sec, deadline_ms, result, error_type, error_message, charge,
          files_until_ms, created_at_ms, ready_at_ms, awaited_by, started_at_ms, ended_at_ms)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    // What is said of its end stays: it is said once.
    changeTask: prepare(
      `update tasks set state = ?4, epoch = ?5, owner = ?6, lease_until_ms = ?7, provider = ?8, job = ?9,
         attempts = ?10, refusals = ?11, result = coalesce(?12, result), error_type = coalesce(?13, error_type),
         error_message = coalesce(?14, error_message), charge = ?15, files_until_ms = ?16, started_at_ms = ?17,
         ended_at_ms = ?18
       where id = ?1 and state = ?2 and epoch = ?3`,
    ),
    insertPayload: prepare("insert into task_payloads (task_id, sealed) values (?, ?)"),
    deletePayload: prepare("delete from task_payloads where task_id = ?"),
  };
}

/** The store is on this machine: its time is that of whoever asks. */
function load(statements: Statements, references: References): BooksState {
  return {
    accounts: readAll(references.accounts, statements.account, accountState),
    keys: readAll(references.keys, statements.key, keyState),
    holds: readAll(references.holds, statements.hold, holdState),
    entries: readAll(references.causes, statements.entry, (_, row) => ({
      account: row.account_id as string,
      amount: row.amount as MicroCredits,
      balanceAfter: row.balance_after as MicroCredits,
    })),
    tasks: readAll(references.tasks, statements.task, taskRow),
    pending: readAll(references.pendingOf, statements.countPending, countOf),
    running: readAll(references.runningAt, statements.countRunning, countOf),
    storeMs: null,
  };
}

function readAll<State>(
  ids: ReadonlySet<string>,
  statement: SqliteStatement,
  read: (id: string, row: SqliteRow) => State,
): Map<string, State> {
  const found = new Map<string, State>();
  for (const id of ids) {
    const row = statement.get(id);
    if (row !== undefined) found.set(id, read(id, row));
  }
  return found;
}

function accountState(id: string, row: SqliteRow): AccountState {
  return {
    id,
    active: row.status === "active",
    balance: row.balance as MicroCredits,
    held: row.held as MicroCredits,
  };
}

function keyState(id: string, row: SqliteRow): KeyState {
  return {
    id,
    account: row.account_id as string,
    revoked: row.revoked_at_ms !== null,
    expiresAtMs: row.expires_at_ms === null ? null : Number(row.expires_at_ms),
    budget: row.budget as MicroCredits | null,
    spent: row.spent as MicroCredits,
    held: row.held as MicroCredits,
  };
}

function holdState(id: string, row: SqliteRow): HoldState {
  return {
    id,
    account: row.account_id as string,
    key: row.key_id as string,
    requestId: row.request_id as string,
    model: row.model as string,
    priceVersion: row.price_version as string,
    amount: row.amount as MicroCredits,
    expectedCost: row.expected_cost as MicroCredits,
    state: row.state as HoldState["state"],
    settled: row.settled as MicroCredits | null,
    endReason: row.end_reason as string | null,
    createdAtMs: Number(row.created_at_ms),
    task: row.task_id as string | null,
  };
}

function taskRow(id: string, row: SqliteRow): TaskRow {
  const whole = (name: string): number | null => (row[name] === null ? null : Number(row[name]));
  return {
    id,
    account: row.account_id as string,
    key: row.key_id as string,
    hold: row.hold_id as string,
    state: row.state as TaskState,
    epoch: Number(row.epoch),
    owner: row.owner as string | null,
    leaseUntilMs: whole("lease_until_ms"),
    provider: row.provider as string | null,
    job: row.job as string | null,
    attempts: Number(row.attempts),
    refusals: Number(row.refusals),
    deadlineMs: Number(row.deadline_ms),
    charge: row.charge as MicroCredits | null,
    filesUntilMs: whole("files_until_ms"),
    startedAtMs: whole("started_at_ms"),
    endedAtMs: whole("ended_at_ms"),
  };
}

const countOf = (_: string, row: SqliteRow): number => Number(row.tasks);

/** Writes what was decided. A row that is not as it was when that was decided makes the whole fail. */
function save(statements: Statements, changes: Changes): void {
  for (const { version, model, rules, createdAtMs } of changes.prices.values())
    statements.insertPrices.run(version, model, rules, createdAtMs);
  for (const { id, balance, held } of changes.accounts.values())
    mustChange(statements.changeAccount.run(id, balance, held), id);
  for (const { id, spent, held } of changes.keys.values())
    mustChange(statements.changeKey.run(id, spent, held), id);
  for (const made of changes.newHolds.values()) insertHold(statements, made);
  for (const ending of changes.endedHolds.values()) endHold(statements, ending);
  for (const entry of changes.entries) {
    statements.insertEntry.run(
      entry.cause,
      entry.account,
      entry.key,
      entry.counter,
      entry.amount,
      entry.balanceAfter,
      entry.kind,
      entry.requestId,
      entry.reason,
      entry.createdAtMs,
    );
  }
  for (const request of changes.requests) insertRequest(statements, request);
  for (const made of changes.newTasks.values()) insertTask(statements, made);
  for (const changed of changes.changedTasks.values()) changeTask(statements, changed);
}

function insertHold(statements: Statements, made: NewHold): void {
  statements.insertHold.run(
    made.id,
    made.account,
    made.key,
    made.requestId,
    made.boot,
    made.model,
    made.amount,
    made.expectedCost,
    made.priceVersion,
    made.createdAtMs,
    made.expiresAtMs,
    made.task,
    made.ending?.state ?? "held",
    made.ending?.settled ?? null,
    made.ending?.endReason ?? null,
    made.ending?.endedAtMs ?? null,
  );
}

function endHold(statements: Statements, ending: HoldEnding): void {
  const { id, state, settled, endReason, endedAtMs } = ending;
  mustChange(statements.endHold.run(id, state, settled, endReason, endedAtMs), id);
}

function insertRequest(statements: Statements, request: Changes["requests"][number]): void {
  statements.insertRequest.run(
    request.id,
    request.account,
    request.key,
    request.hold,
    request.model,
    request.provider,
    request.outcome,
    request.charge,
    request.priceVersion,
    request.usage,
    request.flags,
    request.attempts,
    request.admittedAtMs,
    request.heldAtMs,
    request.firstByteAtMs,
    request.endedAtMs,
    request.settledAtMs,
  );
}

function insertTask(statements: Statements, { row, ending, payload, ...made }: NewTask): void {
  statements.insertTask.run(
    row.id,
    made.kind,
    row.account,
    row.key,
    row.hold,
    made.requestId,
    made.model,
    row.state,
    row.epoch,
    row.owner,
    row.leaseUntilMs,
    row.provider,
    row.job,
    row.attempts,
    row.refusals,
    made.terms,
    made.warnings,
    made.timeoutSec,
    row.deadlineMs,
    ending?.result ?? null,
    ending?.errorType ?? null,
    ending?.errorMessage ?? null,
    row.charge,
    row.filesUntilMs,
    made.createdAtMs,
    made.readyAtMs,
    made.awaitedBy,
    row.startedAtMs,
    row.endedAtMs,
  );
  if (payload !== undefined) statements.insertPayload.run(row.id, payload);
}

function changeTask(statements: Statements, { before, row, ending }: ChangedTask): void {
  const changed = statements.changeTask.run(
    row.id,
    before.state,
    before.epoch,
    row.state,
    row.epoch,
    row.owner,
    row.leaseUntilMs,
    row.provider,
    row.job,
    row.attempts,
    row.refusals,
    ending?.result ?? null,
    ending?.errorType ?? null,
    ending?.errorMessage ?? null,
    row.charge,
    row.filesUntilMs,
    row.startedAtMs,
    row.endedAtMs,
  );
  mustChange(changed, row.id);
  if (isEnded(row.state) && !isEnded(before.state)) statements.deletePayload.run(row.id);
}

function mustChange(rows: number, id: string): void {
  if (rows !== 1) throw new Error(`The row ${id} was not as it had been read.`);
}
