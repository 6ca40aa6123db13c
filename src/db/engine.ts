/** The stores that the books can be kept in. */
export type Engine = "sqlite" | "postgres";

/** How an engine writes the parts of the schema in which the two differ. */
export interface SchemaWords {
  /** A primary key that counts up by itself. */
  readonly sequence: string;
  /** A whole number of 64 bits. */
  readonly integer: string;
  /** What ends a table. */
  readonly table: string;
  /** What ends a table that is kept in the order of its primary key. */
  readonly keyedTable: string;
  /** Statements that let rows be added to the ledger, and never be changed or deleted. */
  readonly protectLedger: readonly string[];
  /** Statements that lift this protection, for a migration that fills a new column. */
  readonly unprotectLedger: readonly string[];
  /** Statements that let a task change its state only as `TRANSITIONS` has it. */
  readonly protectTasks: readonly string[];
  /** Statements for books that several processes share. */
  readonly sharedBooks: readonly string[];
  /** Answers that are kept have a database of their own, which no write of the books waits for. */
  readonly keepsApart: boolean;
}

/**
 * A forbidden change of state. A task that is claimed and completed in one transaction is written once: it makes two
 * changes, and its epoch has risen.
 */
const NO_WAY = `not ((old.state = 'pending' and new.state in ('running', 'failed', 'cancelled'))
  or (old.state = 'running' and new.state in ('completed', 'failed'))
  or (old.state = 'pending' and new.state = 'completed' and new.epoch > old.epoch))`;

/** The words of each engine. */
export const SCHEMA_WORDS: Readonly<Record<Engine, SchemaWords>> = {
  sqlite: {
    sequence: "integer primary key autoincrement",
    integer: "integer",
    table: "strict",
    keyedTable: "strict, without rowid",
    protectLedger: [
      `create trigger ledger_is_append_only_update before update on ledger
        begin select raise(abort, 'ledger rows are never changed'); end`,
      `create trigger ledger_is_append_only_delete before delete on ledger
        begin select raise(abort, 'ledger rows are never deleted'); end`,
    ],
    unprotectLedger: [
      "drop trigger ledger_is_append_only_update",
      "drop trigger ledger_is_append_only_delete",
    ],
    protectTasks: [
      `create trigger tasks_go_their_ways before update of state on tasks
        when old.state <> new.state and ${NO_WAY}
        begin select raise(abort, 'a task does not go this way'); end`,
    ],
    sharedBooks: [],
    keepsApart: true,
  },
  postgres: {
    sequence: "bigint generated always as identity primary key",
    integer: "bigint",
    table: "",
    keyedTable: "",
    protectLedger: [
      `create or replace function refuse_ledger_change() returns trigger language plpgsql as
        $$ begin raise exception 'ledger rows are never changed or deleted'; end $$`,
      `create trigger ledger_is_append_only before update or delete or truncate on ledger
        for each statement execute function refuse_ledger_change()`,
    ],
    unprotectLedger: ["drop trigger ledger_is_append_only on ledger"],
    protectTasks: [
      `create function refuse_task_change() returns trigger language plpgsql as
        $$ begin raise exception 'a task does not go this way'; end $$`,
      `create trigger tasks_go_their_ways before update on tasks for each row
        when (old.state <> new.state and ${NO_WAY}) execute function refuse_task_change()`,
    ],
    sharedBooks: [
      `create function recall_allotments() returns trigger language plpgsql as
        $$ begin perform pg_notify('switchyard_recall', to_jsonb(new) ->> tg_argv[0]); return null; end $$`,
      `create trigger account_changes_status after update of status on accounts for each row
        when (old.status <> new.status) execute function recall_allotments('id')`,
      `create trigger key_is_changed after update of budget, revoked_at_ms, expires_at_ms on keys for each row
        execute function recall_allotments('account_id')`,
      // The statement that makes a hold changes its account, and fails where there is none.
      `alter table holds drop constraint holds_account_id_fkey`,
    ],
    keepsApart: false,
  },
};
