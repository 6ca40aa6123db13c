import type { Changes, HoldEnding, NewHold } from "../decide/changes.ts";
import { type BooksState, type HoldState, noState, type References } from "../decide/state.ts";
import { columns, type Statement, toJson } from "./statement.ts";
import {
  COUNT_TASKS,
  LOAD_TASKS,
  type LoadedTasks,
  SAVE_TASKS,
  savedTasks,
  TASK_COLUMNS,
  taskReferences,
  tasksOf,
} from "./tasks.ts";

/**
 * Locks the accounts of a batch, in the order of their ids, so that two writers never wait for each other in a circle.
 * Everything that changes a key's or a hold's money holds its account's lock.
 */
export function lockStatement({ accounts }: References): Statement {
  return {
    name: "books-lock",
    text: "select id from accounts where id = any($1::text[]) order by id for update",
    values: [[...accounts]],
  };
}

/**
 * Reads what a batch refers to, once its accounts are locked. Both in one would not do: a statement sees the rows that
 * stood when it began, not those that were made while it waited for the locks.
 */
export function loadStatement(references: References): Statement {
  const { accounts, keys, holds, causes } = references;
  const values = [[...accounts], [...keys], [...holds], [...causes]];
  if (references.tasks.size === 0) return { name: "books-load", text: LOAD, values };
  return { name: "books-load-tasks", text: LOAD_ALL, values: [...values, ...taskReferences(references)] };
}

const LOADED = `
  a as materialized (
    select id, status, balance, held from accounts where id = any($1::text[])),
  k as materialized (
    select id, account_id, revoked_at_ms, expires_at_ms, budget, spent, held from keys
    where id = any($2::text[])),
  h as materialized (
    select id, account_id, key_id, request_id, model, price_version, amount, expected_cost, state, settled,
      end_reason, created_at_ms, task_id
    from holds where id = any($3::text[])),
  e as materialized (
    select cause, account_id, amount, balance_after from ledger where cause = any($4::text[]))`;

const COLUMNS = `
  (select coalesce(json_agg(a), '[]') from a) as accounts,
  (select coalesce(json_agg(k), '[]') from k) as keys,
  (select coalesce(json_agg(h), '[]') from h) as holds,
  (select coalesce(json_agg(e), '[]') from e) as entries`;

const LOAD = `with ${LOADED} select ${COLUMNS}`;
const LOAD_ALL = `with ${LOADED}, ${LOAD_TASKS} select ${COLUMNS}, ${TASK_COLUMNS}`;

/** What the load statement gives: one row of JSON, whose numbers are all below 2^53. */
export interface LoadedRow extends Partial<LoadedTasks> {
  readonly accounts: readonly { id: string; status: string; balance: number; held: number }[];
  readonly keys: readonly {
    id: string;
    account_id: string;
    revoked_at_ms: number | null;
    expires_at_ms: number | null;
    budget: number | null;
    spent: number;
    held: number;
  }[];
  readonly holds: readonly {
    id: string;
    account_id: string;
    key_id: string;
    request_id: string;
    model: string;
    price_version: string;
    amount: number;
    expected_cost: number;
    state: HoldState["state"];
    settled: number | null;
    end_reason: string | null;
    created_at_ms: number;
    task_id: string | null;
  }[];
  readonly entries: readonly { cause: string; account_id: string; amount: number; balance_after: number }[];
}

/** The state of the books as it was read. */
export function stateOf(row: LoadedRow): BooksState {
  return {
    ...noState(),
    ...tasksOf(row),
    accounts: new Map(
      row.accounts.map(({ id, status, balance, held }) => [
        id,
        { id, active: status === "active", balance: BigInt(balance), held: BigInt(held) },
      ]),
    ),
    keys: new Map(
      row.keys.map((key) => [
        key.id,
        {
          id: key.id,
          account: key.account_id,
          revoked: key.revoked_at_ms !== null,
          expiresAtMs: key.expires_at_ms,
          budget: key.budget === null ? null : BigInt(key.budget),
          spent: BigInt(key.spent),
          held: BigInt(key.held),
        },
      ]),
    ),
    holds: new Map(
      row.holds.map((hold) => [
        hold.id,
        {
          id: hold.id,
          account: hold.account_id,
          key: hold.key_id,
          requestId: hold.request_id,
          model: hold.model,
          priceVersion: hold.price_version,
          amount: BigInt(hold.amount),
          expectedCost: BigInt(hold.expected_cost),
          state: hold.state,
          settled: hold.settled === null ? null : BigInt(hold.settled),
          endReason: hold.end_reason,
          createdAtMs: hold.created_at_ms,
          task: hold.task_id,
        },
      ]),
    ),
    entries: new Map(
      row.entries.map((entry) => [
        entry.cause,
        {
          account: entry.account_id,
          amount: BigInt(entry.amount),
          balanceAfter: BigInt(entry.balance_after),
        },
      ]),
    ),
  };
}

/**
 * Writes what was decided, all of it in one statement. It fails, and with it the transaction, unless every account
 * covers its change and every row to be changed is as it was read. Rows to be changed come as arrays: the server
 * takes those to be short and looks each row up, where it takes JSON to be long and reads the table instead.
 */
export function saveStatement(changes: Changes): Statement {
  const accounts = [...changes.accounts.values()];
  const keys = [...changes.keys.values()];
  const ended = [...changes.endedHolds.values()];
  const values = [
    toJson([...changes.prices.values()]),
    toJson([...changes.newHolds.values()].map(holdRow)),
    toJson(changes.entries),
    toJson(changes.requests),
    ...columns(accounts, ["id", "balance", "held"]),
    ...columns(keys, ["id", "spent", "held"]),
    ...columns(ended, ["id", "state", "settled", "endReason", "endedAtMs"]),
    accounts.length + keys.length + ended.length + changes.changedTasks.size,
  ];
  if (changes.newTasks.size + changes.changedTasks.size === 0)
    return { name: "books-save", text: SAVE, values };
  return { name: "books-save-tasks", text: SAVE_ALL, values: [...values, ...savedTasks(changes)] };
}

const SAVED = `
  p as (insert into price_versions (version, model, rules, created_at_ms)
    select * from json_to_recordset($1::json) as t(version text, model text, rules text, "createdAtMs" bigint)
    on conflict do nothing),
  n as (insert into holds (id, account_id, key_id, request_id, boot_id, model, amount, expected_cost, price_version,
      created_at_ms, expires_at_ms, task_id, state, settled, end_reason, ended_at_ms)
    select * from json_to_recordset($2::json) as t(id text, account text, key text, "requestId" text, boot text,
      model text, amount bigint, "expectedCost" bigint, "priceVersion" text, "createdAtMs" bigint,
      "expiresAtMs" bigint, task text, state text, settled bigint, "endReason" text, "endedAtMs" bigint)),
  l as (insert into ledger (cause, account_id, key_id, counter, amount, balance_after, kind, request_id, reason,
      created_at_ms)
    select * from json_to_recordset($3::json) as t(cause text, account text, key text, counter text, amount bigint,
      "balanceAfter" bigint, kind text, "requestId" text, reason text, "createdAtMs" bigint)),
  r as (insert into requests (id, account_id, key_id, hold_id, model, provider, outcome, charge, price_version, usage,
      flags, attempts, admitted_at_ms, held_at_ms, first_byte_at_ms, ended_at_ms, settled_at_ms)
    select * from json_to_recordset($4::json) as t(id text, account text, key text, hold text, model text,
      provider text, outcome text, charge bigint, "priceVersion" text, usage text, flags text, attempts text,
      "admittedAtMs" bigint, "heldAtMs" bigint, "firstByteAtMs" bigint, "endedAtMs" bigint, "settledAtMs" bigint)),
  a as (update accounts set balance = accounts.balance + t.balance, held = accounts.held + t.held
    from unnest($5::text[], $6::bigint[], $7::bigint[]) as t(id, balance, held)
    where accounts.id = t.id and accounts.held + t.held >= 0
      and accounts.balance + t.balance >= accounts.held + t.held returning 1),
  k as (update keys set spent = keys.spent + t.spent, held = keys.held + t.held
    from unnest($8::text[], $9::bigint[], $10::bigint[]) as t(id, spent, held)
    where keys.id = t.id returning 1),
  h as (update holds set state = t.state, settled = t.settled, end_reason = t.reason, ended_at_ms = t.at
    from unnest($11::text[], $12::text[], $13::bigint[], $14::text[], $15::bigint[]) as t(id, state, settled, reason, at)
    where holds.id = t.id and holds.ended_at_ms is null returning 1)`;

const COUNTED = "(select count(*) from a) + (select count(*) from k) + (select count(*) from h)";

const SAVE = `with ${SAVED} select 1 / (case when ${COUNTED} = $16::bigint then 1 else 0 end) as written`;
const SAVE_ALL = `with ${SAVED}, ${SAVE_TASKS}
select 1 / (case when ${COUNTED} + ${COUNT_TASKS} = $16::bigint then 1 else 0 end) as written`;

function holdRow({ ending, ...made }: NewHold): object {
  const ended: Partial<HoldEnding> = ending ?? {};
  return {
    ...made,
    state: ended.state ?? "held",
    settled: ended.settled ?? null,
    endReason: ended.endReason ?? null,
    endedAtMs: ended.endedAtMs ?? null,
  };
}
