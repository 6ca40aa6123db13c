import { decide } from "../../src/ledger/decide/books.ts";
import type { Changes } from "../../src/ledger/decide/changes.ts";
import { type BooksState, noState, referencesOf } from "../../src/ledger/decide/state.ts";
import { type Command, movesMoney, type Outcome, type RecordCommand } from "../../src/ledger/commands.ts";
import { recordAnswer } from "../../src/ledger/records.ts";
import type { EntryRow, TaskRow } from "../../src/ledger/rows.ts";
import { type BooksText, taskLine } from "./check-books.ts";

/** Books that `decide` keeps in maps: all that a store does, without a store. */
export interface MemoryBooks {
  apply(commands: readonly Command[]): Outcome[];
  /** Compares with `modelBooks`. */
  text(): BooksText;
}

/** Empty books. */
export function createMemoryBooks(): MemoryBooks {
  const rows = noState();
  const ledger: EntryRow[] = [];
  return {
    apply(commands) {
      const outcomes = new Map<number, Outcome>();
      for (const [i, command] of commands.entries())
        if (!movesMoney(command)) outcomes.set(i, { answer: writeDown(rows, command) });
      const money = commands.filter(movesMoney);
      const decision = decide(readReferenced(rows, money), money);
      save(rows, ledger, decision.changes);
      const decided = decision.outcomes[Symbol.iterator]();
      return commands.map((_, i) => outcomes.get(i) ?? decided.next().value!);
    },
    text: () => textOf(rows, ledger),
  };
}

/** Only what a store would read: a reference that is missing there is missing here. */
function readReferenced(rows: BooksState, money: Parameters<typeof referencesOf>[0]): BooksState {
  const references = referencesOf(money);
  const tasks = [...rows.tasks.values()];
  const count = (names: ReadonlySet<string>, isCounted: (task: TaskRow, name: string) => boolean) =>
    new Map([...names].map((name) => [name, tasks.filter((task) => isCounted(task, name)).length]));
  return {
    accounts: pick(rows.accounts, references.accounts),
    keys: pick(rows.keys, references.keys),
    holds: pick(rows.holds, references.holds),
    entries: pick(rows.entries, references.causes),
    tasks: pick(rows.tasks, references.tasks),
    pending: count(references.pendingOf, (task, of) => task.state === "pending" && task.account === of),
    running: count(references.runningAt, (task, at) => task.state === "running" && task.provider === at),
    storeMs: null,
  };
}

function pick<Row>(rows: ReadonlyMap<string, Row>, ids: ReadonlySet<string>): Map<string, Row> {
  return new Map([...ids].flatMap((id) => (rows.has(id) ? [[id, rows.get(id)!]] : [])));
}

function writeDown({ accounts, keys, tasks }: BooksState, command: RecordCommand) {
  const found = [{}];
  if (command.kind === "forget_tasks")
    for (const { id, endedAtMs, filesUntilMs } of tasks.values())
      if (endedAtMs !== null && endedAtMs < command.beforeMs && filesUntilMs === null) tasks.delete(id);
  if (command.kind === "create_account" && !accounts.has(command.account))
    accounts.set(command.account, { id: command.account, status: "active", balance: 0n, held: 0n });
  if (command.kind === "close_account") {
    const account = accounts.get(command.account);
    if (account === undefined) return recordAnswer(command, []);
    accounts.set(account.id, { ...account, status: "disabled" });
  }
  if (command.kind === "revoke_keys")
    for (const key of keys.values())
      if (key.account === command.account)
        keys.set(key.id, { ...key, revokedAtMs: key.revokedAtMs ?? command.nowMs });
  if (command.kind === "issue_key") {
    const status = accounts.get(command.account)?.status;
    if (status !== "active" && !(status !== undefined && keys.has(command.key)))
      return recordAnswer(command, []);
    if (!keys.has(command.key)) {
      const { key: id, account, budget, expiresAtMs } = command;
      keys.set(id, { id, account, budget, expiresAtMs, revokedAtMs: null, spent: 0n, held: 0n });
    }
  }
  if (command.kind === "change_key" || command.kind === "revoke_key") {
    const key = keys.get(command.key);
    if (key === undefined || (command.kind === "change_key" && key.revokedAtMs !== null))
      return recordAnswer(command, []);
    if (command.kind === "revoke_key") keys.set(key.id, { ...key, revokedAtMs: command.nowMs });
    else keys.set(key.id, { ...key, budget: command.budget === undefined ? key.budget : command.budget });
  }
  return recordAnswer(command, found);
}

function save(rows: BooksState, ledger: EntryRow[], changes: Changes): void {
  for (const { id, balance, held } of changes.accounts.values()) {
    const row = rows.accounts.get(id)!;
    rows.accounts.set(id, { ...row, balance: row.balance + balance, held: row.held + held });
  }
  for (const { id, spent, held } of changes.keys.values()) {
    const row = rows.keys.get(id)!;
    rows.keys.set(id, { ...row, spent: row.spent + spent, held: row.held + held });
  }
  for (const made of changes.newHolds.values()) {
    if (rows.holds.has(made.id)) throw new Error(`The hold ${made.id} is made twice.`);
    rows.holds.set(made.id, made);
  }
  for (const ended of changes.endedHolds.values()) {
    if (rows.holds.get(ended.id)?.state !== "held") throw new Error(`The hold ${ended.id} is ended twice.`);
    rows.holds.set(ended.id, ended);
  }
  for (const entry of changes.entries) {
    if (rows.entries.has(entry.cause)) throw new Error(`The entry ${entry.cause} is written twice.`);
    rows.entries.set(entry.cause, entry);
    ledger.push(entry);
  }
  for (const row of changes.newTasks.values()) {
    if (rows.tasks.has(row.id)) throw new Error(`The task ${row.id} is made twice.`);
    rows.tasks.set(row.id, row);
  }
  for (const { was, atEpoch, ...row } of changes.changedTasks.values()) {
    const found = rows.tasks.get(row.id);
    if (found?.state !== was || found.epoch !== atEpoch)
      throw new Error(`The task ${row.id} is not as it was.`);
    rows.tasks.set(row.id, row);
  }
}

function textOf({ accounts, keys, holds, tasks }: BooksState, ledger: readonly EntryRow[]): BooksText {
  const lines: string[] = [];
  for (const { id, balance, held } of accounts.values()) lines.push(`account ${id} ${balance} held ${held}`);
  for (const { id, account, spent, held, budget, revokedAtMs } of keys.values())
    lines.push(
      `key ${id} of ${account} spent ${spent} held ${held} of ${budget ?? "any"}${revokedAtMs === null ? "" : " revoked"}`,
    );
  const lost = new Map<string, bigint>();
  for (const entry of ledger) {
    const [hold = ""] = entry.cause.split(":");
    if (entry.kind === "loss") lost.set(hold, (lost.get(hold) ?? 0n) - entry.amount);
    if (entry.kind === "grant")
      lines.push(`grant ${entry.cause} ${entry.account} ${entry.amount} = ${entry.balanceAfter}`);
  }
  for (const { id, amount, state, settled } of holds.values())
    lines.push(`hold ${id} ${amount} ${state} ${settled ?? 0n} lost ${lost.get(id) ?? 0n}`);
  for (const task of tasks.values()) lines.push(taskLine({ ...task, hasFiles: task.filesUntilMs !== null }));
  return lines.toSorted();
}
