import type { Changes } from "../decide/changes.ts";
import {
  columnList,
  ENTRIES,
  type EntryRow,
  HOLDS,
  PRICE_VERSIONS,
  REQUESTS,
  type Rows,
  typeOf,
} from "../rows.ts";
import { RECALL_CHANNEL } from "./connection.ts";
import type { Statement } from "./statements.ts";

/** An allotment that is asked for. */
export interface Wanted {
  /** Names the allotment: a new one, or one that is to grow. */
  readonly id: string;
  readonly isNew: boolean;
  readonly boot: string;
  readonly account: string;
  readonly key: string;
  /** Less than this is not worth it: nothing is taken then. */
  readonly atLeast: bigint;
}

/** What was taken. */
export interface Taken {
  readonly amount: bigint;
  /** When the key expires; it was live now. */
  readonly expiresAtMs: number | null;
}

/** By how much one allotment changes, and what its process holds of it then. */
export interface AllotmentChange {
  readonly id: string;
  readonly account: string;
  readonly key: string;
  /** Taken from the allotment: by charges, by holds that go to the tables, or given back. */
  readonly less: bigint;
  readonly held: bigint;
}

/** Changes of the books by holds in memory: their amounts are of allotments, and no table counts them as held. */
export interface MemoryChanges {
  readonly changes: Changes;
  readonly allotments: readonly AllotmentChange[];
}

/** The server's time, as leases go by it. */
const NOW_MS = "cast(extract(epoch from clock_timestamp()) * 1000 as bigint)";

const isLive = (boot: string): string =>
  `exists (select 1 from processes where boot_id = ${boot} and lease_until_ms > ${NOW_MS})`;

/** No process takes an allotment of an account for so long after another needed what was allotted of it. */
const REST_MS = 10_000;

/** The most of what is free that one process takes at a time: one part of so many. */
const PARTS = 4;

/**
 * Takes a part of what is free of the account, and of the key's budget, under the account's lock. Takes nothing unless
 * the key is live and the process's lease lasts. It also takes nothing where another process has lately needed what was
 * allotted of the account, or where a live process knows nothing of allotments.
 */
export function takeStatement({ id, isNew, boot, account, key, atLeast }: Wanted, nowMs: number): Statement {
  return {
    name: "allotments-take",
    text: `with room as (
      select a.id as account, k.id as key, k.expires_at_ms,
        least(a.balance - a.held - a.allotted, k.budget - k.spent - k.held - k.allotted) / ${PARTS} as part
      from accounts a join keys k on k.account_id = a.id
      where a.id = $1 and k.id = $2 and a.status = 'active' and k.revoked_at_ms is null
        and (k.expires_at_ms is null or k.expires_at_ms > $3::bigint)
        and a.recalled_at_ms + ${REST_MS} <= ${NOW_MS} and ${isLive("$4")}
        and not exists (select 1 from processes where lease_until_ms > ${NOW_MS} and allots = 0)
        and ($5::boolean or exists (select 1 from allotments where id = $6))),
    taken as (select * from room where part >= $7::bigint),
    on_account as (update accounts set allotted = accounts.allotted + part from taken where accounts.id = account),
    on_key as (update keys set allotted = keys.allotted + part from taken where keys.id = key),
    made as (insert into allotments (id, boot_id, account_id, key_id, amount, held)
      select $6, $4, account, key, part, 0 from taken where $5::boolean),
    grown as (update allotments set amount = allotments.amount + part from taken
      where allotments.id = $6 and not $5::boolean)
    select part, expires_at_ms from taken`,
    values: [account, key, nowMs, boot, isNew, id, atLeast],
  };
}

/** Numbers the placeholders of the statement's values in order. */
function places() {
  let last = 0;
  return (): string => `$${(last += 1)}`;
}
const place = places();

/** Rows come as an array for each column: the server reads these three times as fast as JSON. */
const columnsOf = (rows: Rows): string =>
  `unnest(${Object.values(rows.columns)
    .map((column) => `${place()}::${typeOf(column)}[]`)
    .join(", ")})`;
const membersOf = (rows: Rows): string =>
  Object.keys(rows.columns)
    .map((member) => `"${member}"`)
    .join(", ");

const inserting = (rows: Rows): string =>
  `insert into ${rows.table} (${columnList(rows)}) select * from ${columnsOf(rows)}`;

/** The balance after an entry: that after the batch, and what later entries of the batch take. */
const ENTRY_VALUES = Object.keys(ENTRIES.columns)
  .map((member) =>
    member === "balanceAfter"
      ? `coalesce(((select balances from done))[t.place] + t."balanceAfter", 0)`
      : `t."${member}"`,
  )
  .join(", ");

/**
 * Writes what became of holds in memory in one statement, under the accounts' locks. It fails unless every allotment is
 * there and has what is taken from it: that of a process that was found dead is not.
 */
const SAVE = `with changed as (
  update accounts set balance = accounts.balance + t.balance, held = accounts.held + t.held,
    allotted = accounts.allotted - t.less
  from (select * from unnest(${place()}::text[], ${place()}::bigint[], ${place()}::bigint[], ${place()}::bigint[])
    with ordinality as u(id, balance, held, less, place) order by id) as t
  where accounts.id = t.id returning t.place, accounts.balance),
done as (select array_agg(balance order by place) as balances, count(*) as accounts from changed),
of_keys as (update keys set spent = keys.spent + t.spent, held = keys.held + t.held, allotted = keys.allotted - t.less
  from unnest(${place()}::text[], ${place()}::bigint[], ${place()}::bigint[], ${place()}::bigint[])
    as t(id, spent, held, less)
  where keys.id = t.id and (select accounts from done) is not null returning 1),
of_allotments as (update allotments set amount = allotments.amount - t.less, held = t.held
  from unnest(${place()}::text[], ${place()}::bigint[], ${place()}::bigint[]) as t(id, less, held)
  where allotments.id = t.id and (select accounts from done) is not null returning 1),
prices as (${inserting(PRICE_VERSIONS)} on conflict do nothing),
new_holds as (${inserting(HOLDS)}),
entries as (insert into ledger (${columnList(ENTRIES)}) select ${ENTRY_VALUES}
  from unnest(${place()}::bigint[], ${columnsOf(ENTRIES).slice("unnest(".length)} as t(place, ${membersOf(ENTRIES)})),
ended as (${inserting(REQUESTS)})
select 1 / (case when (select accounts from done) + (select count(*) from of_keys)
  + (select count(*) from of_allotments) = ${place()}::bigint then 1 else 0 end) as written`;

/** The one statement of a batch. The changes have all new holds, each as it is in the end. */
export function saveMemoryStatement({ changes, allotments }: MemoryChanges): Statement {
  const accounts = [...changes.accounts.values()];
  const keys = [...changes.keys.values()];
  const entries = placed(changes, accounts);
  const lessOf = sums(allotments, ({ account }) => account);
  const lessOfKey = sums(allotments, ({ key }) => key);
  return {
    name: "allotments-save",
    text: SAVE,
    values: [
      texts(accounts.map(({ id }) => id)),
      numbers(accounts.map(({ balance }) => balance)),
      numbers(accounts.map(({ held }) => held)),
      numbers(accounts.map(({ id }) => lessOf.get(id) ?? 0n)),
      texts(keys.map(({ id }) => id)),
      numbers(keys.map(({ spent }) => spent)),
      numbers(keys.map(({ held }) => held)),
      numbers(keys.map(({ id }) => lessOfKey.get(id) ?? 0n)),
      texts(allotments.map(({ id }) => id)),
      numbers(allotments.map(({ less }) => less)),
      numbers(allotments.map(({ held }) => held)),
      // In one order, so that two processes that have the same new ones do not wait for each other.
      ...arrays(
        PRICE_VERSIONS,
        [...changes.prices.values()].toSorted((one, other) => (one.version < other.version ? -1 : 1)),
      ),
      ...arrays(HOLDS, [...changes.newHolds.values()]),
      numbers(entries.map(({ place: at }) => at)),
      ...arrays(ENTRIES, entries),
      ...arrays(REQUESTS, changes.requests),
      accounts.length + keys.length + allotments.length,
    ],
  };
}

function sums(
  allotments: readonly AllotmentChange[],
  of: (change: AllotmentChange) => string,
): ReadonlyMap<string, bigint> {
  const found = new Map<string, bigint>();
  for (const change of allotments) found.set(of(change), (found.get(of(change)) ?? 0n) + change.less);
  return found;
}

/** An array for each column of `rows`. */
function arrays({ columns }: Rows, rows: readonly object[]): readonly string[] {
  const list = rows as readonly Readonly<Record<string, Value>>[];
  return Object.entries(columns).map(([member, { kind }]) => {
    const values = list.map((row) => row[member] ?? null);
    return kind === "text" ? texts(values as (string | null)[]) : numbers(values);
  });
}

type Value = string | number | bigint | null;

/** An array of whole numbers as the server reads it. */
const numbers = (values: readonly Value[]): string => `{${values.map((value) => value ?? "NULL").join(",")}}`;

/** An array of texts as the server reads it. */
function texts(values: readonly (string | null)[]): string {
  const items = values.map((value) => (value === null ? "NULL" : `"${value.replaceAll(/["\\]/g, "\\$&")}"`));
  return `{${items.join(",")}}`;
}

/** Entries with their account's place among the changes, and with what later entries of the batch take from it. */
function placed({ entries }: Changes, accounts: readonly { readonly id: string }[]) {
  const placeOf = new Map(accounts.map(({ id }, i) => [id, i + 1]));
  const later = new Map<string, bigint>();
  const found: (EntryRow & { readonly place: number | null })[] = [];
  for (const entry of entries.toReversed()) {
    const after = later.get(entry.account) ?? 0n;
    found.push({ ...entry, balanceAfter: after, place: placeOf.get(entry.account) ?? null });
    later.set(entry.account, after - entry.amount);
  }
  return found.toReversed();
}

/** Deletes allotments that nothing is left of. */
export function removeStatement(ids: readonly string[]): Statement {
  return {
    name: "allotments-remove",
    text: "delete from allotments where id = any($1::text[]) and amount = 0",
    values: [ids],
  };
}

/** Frees what `gone` deletes, under the accounts' locks; returns a row for each. */
const freeing = (gone: string): string => `with gone as (${gone} returning account_id, key_id, amount),
  of_accounts as (update accounts set allotted = allotted - t.amount
    from (select account_id, sum(amount)::bigint as amount from gone group by 1) as t where accounts.id = t.account_id),
  of_keys as (update keys set allotted = allotted - t.amount
    from (select key_id, sum(amount)::bigint as amount from gone group by 1) as t where keys.id = t.key_id)
  select account_id from gone`;

/** Allotments by their ids, or those of dead processes: a process that asks is none, whatever became of its lease. */
export type Freed = readonly string[] | { readonly deadBut: string };

/** Frees those allotments of `accounts`; processes are dead by the server's time. */
export function freeStatement(accounts: readonly string[], which: Freed): Statement {
  const ofAccounts = "delete from allotments where account_id = any($1::text[])";
  return "deadBut" in which
    ? {
        name: "allotments-free-dead",
        text: freeing(`${ofAccounts} and boot_id <> $2 and not ${isLive("allotments.boot_id")}`),
        values: [accounts, which.deadBut],
      }
    : {
        name: "allotments-free",
        text: freeing(`${ofAccounts} and id = any($2::text[])`),
        values: [accounts, which],
      };
}

/** Accounts of which dead processes but one have allotments. */
export function deadStatement(but: string): Statement {
  return {
    name: "allotments-dead",
    text: `select distinct account_id from allotments where boot_id <> $1 and not ${isLive("allotments.boot_id")} limit 1000`,
    values: [but],
  };
}

/** Those of `ids` that are accounts. */
export function accountsStatement(ids: readonly string[]): Statement {
  return {
    name: "allotments-accounts",
    text: "select id from accounts where id = any($1::text[])",
    values: [ids],
  };
}

/** Gives a row where the lease of a process lasts. */
export function liveStatement(boot: string): Statement {
  return { name: "allotments-live", text: `select 1 where ${isLive("$1")}`, values: [boot] };
}

/** The allotments of a process, and which of `holds` stand in the tables, at one moment. */
export function ownStatement(boot: string, holds: readonly string[]): Statement {
  return {
    name: "allotments-own",
    text: `select (select coalesce(json_agg(r), '[]') from
        (select id, account_id as account, amount from allotments where boot_id = $1) as r) as allotments,
      (select coalesce(json_agg(id), '[]') from holds where id = any($2::text[])) as holds`,
    values: [boot, holds],
  };
}

/** Whose allotments are asked for: an account's, or those of the account that a key belongs to. */
export type Recalled = { readonly account: string } | { readonly key: string };

/** Asks every process for what is allotted of the account; gives its id where there is anything. */
export function recallStatement(of: Recalled): Statement {
  const [name, where, id] =
    "account" in of
      ? ["account", "$1", of.account]
      : ["key", "(select account_id from keys where keys.id = $1)", of.key];
  return {
    name: `allotments-recall-${name}`,
    // The row is changed in any case: so the statement waits for an allotment that is taken just now, and sees it.
    text: `with asked as (
      update accounts set recalled_at_ms = case when allotted > 0 then ${NOW_MS} else recalled_at_ms end
      where id = ${where} returning id, allotted)
      select id, pg_notify('${RECALL_CHANNEL}', id)::text from asked where allotted > 0`,
    values: [id],
  };
}

/** The allotments that are left of an account. */
export function leftStatement(account: string): Statement {
  return {
    name: "allotments-left",
    text: "select id from allotments where account_id = $1",
    values: [account],
  };
}
