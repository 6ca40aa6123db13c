import { type RawBuilder, sql } from "kysely";
import type { Engine } from "../../db/engine.ts";
import type { Database } from "../../db/schema.ts";
import type { AuditRequest } from "./request.ts";
import { taskFaults } from "./tasks.ts";
import { ABANDONED } from "../commands.ts";
import type { AuditMark } from "../rows.ts";

/** An invariant of the books, and whether it holds. */
export interface Check {
  /** The name of the invariant: I1, I2, … */
  readonly id: string;
  readonly ok: boolean;
  /** What was checked, or what is wrong. */
  readonly detail: string;
}

/** The findings of an audit, and marks of how far everything was right. */
export interface Findings {
  readonly checks: readonly Check[];
  /** Marks by account: an account's and those of its keys belong together. Empty when anything is wrong. */
  readonly marks: readonly (readonly AuditMark[])[];
}

/** An open hold is released soon after its time; one that is still open after this long was forgotten. */
const OVERDUE_MS = 10 * 60_000;

/**
 * Checks the invariants of the books over one snapshot of the store, which `tx` must be. It goes on from where the last
 * audit stopped, or from the beginning when `full`. Each entry is written under its account's lock. So an account's
 * entries become visible in the order of their numbers, and its mark never skips one.
 */
export async function checkBooks(tx: Database, engine: Engine, request: AuditRequest): Promise<Findings> {
  const { full, nowMs } = request;
  const marks = full ? sql`(select * from audit_marks where 1 = 0)` : sql`audit_marks`;
  const accounts = await accountsOf(tx, marks);
  const keys = await keysOf(tx, marks);
  const entries = await entryFaults(tx, marks);
  const overdue = await overdueHolds(tx, nowMs);
  const strays = full ? await strayRows(tx) : [];
  const misallotted = await allotmentFaults(tx);
  const tasks = await taskFaults(tx, { requests: newRequests(marks), engine, request });
  const checks = [
    check(
      "I1",
      accounts
        .filter((row) => row.balance !== row.marked + row.moved || row.breaks > 0n)
        .map((row) => row.id),
      `every balance is the sum of its ledger entries; ${sum(accounts, (row) => row.entries)} entries looked at`,
      "the balance is not the sum of the ledger, or an entry's balance_after does not follow",
    ),
    check(
      "I2",
      [
        ...accounts.filter((row) => row.held !== row.open || row.held < 0n || row.held > row.balance),
        ...keys.filter((row) => row.held !== row.open),
      ].map((row) => row.id),
      "what is held is the sum of the open holds, of every account and every key, and never above the balance",
      "what is held is not the sum of the open holds",
    ),
    check(
      "allotted",
      misallotted,
      "what is allotted of every account and key is the sum of what processes have, and free beside what is held",
      "what is allotted is not the sum of the allotments, or there is not so much beside what is held",
    ),
    check(
      "I3",
      [...entries.unmatched, ...overdue, ...strays],
      "every charge belongs to a settled hold of the same amount, above the hold only where that is flagged",
      "the charge does not fit its hold, the hold was never ended, or a row stands without those that explain it",
    ),
    check(
      "I4",
      [...entries.repeated, ...tasks.charges],
      "no request and no task was charged twice, and a task only when it completed",
      "the request has more than one charge, or another hold's; or the task and its hold have not ended alike",
    ),
    check(
      "I5",
      tasks.left,
      "every task whose time was over has ended, and every one that runs is somebody's",
      "the task should have ended, or its owner is dead and nobody took it",
    ),
    check(
      "I6",
      tasks.strays,
      "every task has come the ways that tasks go",
      "the task's state is not one that it could have come to",
    ),
    check(
      "I8",
      await totalFault(tx, marks, accounts),
      "the balances together are what came in less what was charged",
      "the balances together are not what the entries come to",
    ),
    ...(await requestChecks(tx, marks)),
    check(
      "spent",
      keys.filter((row) => row.spent !== row.marked + row.charged).map((row) => row.id),
      "what every key has spent is the sum of its charges",
      "what the key has spent is not the sum of its charges",
    ),
  ];
  const isRight = checks.every(({ ok }) => ok);
  return {
    // What is missing altogether says nothing against the rows that are there.
    checks: [...checks, await gapsCheck(tx)],
    marks: isRight ? marksOf(accounts, keys, nowMs) : [],
  };
}

/** Whether requests have what their holds and the ledger say. */
async function requestChecks(tx: Database, marks: Marks): Promise<readonly Check[]> {
  return [
    check(
      "I12",
      await requestFaults(tx, marks),
      "what each request was told that it costs is its charge in the ledger, and what was given up is booked as lost",
      "the request's charge or its loss is not the ledger's",
    ),
    check(
      "prices",
      await priceFaults(tx, marks),
      "every request has the prices of its hold, or those of another model that served, and their rules are stored",
      "the request's prices are not its hold's, or their rules are not stored, or its cost is below nothing",
    ),
  ];
}

/** Whether the tables have all that a journal had. A gap fails every audit until an operator has deleted its row. */
async function gapsCheck(tx: Database): Promise<Check> {
  const gaps = await tx
    .selectFrom("journal_gaps")
    .select(["seq", "reason"])
    .orderBy("seq")
    .limit(1000)
    .execute();
  return check(
    "gaps",
    gaps.map(({ seq, reason }) => `${reason} (row ${seq} of journal_gaps)`),
    "nothing is known to be missing from the tables",
    "the tables lack what clients were told of",
  );
}

/** The check of an invariant that `wrong` rows break. */
export function check(id: string, wrong: readonly string[], right: string, fault: string): Check {
  if (wrong.length === 0) return { id, ok: true, detail: right };
  const named = wrong.slice(0, 5).join(", ");
  return {
    id,
    ok: false,
    detail: `${fault}: ${named}${wrong.length > 5 ? ` and ${wrong.length - 5} more` : ""}`,
  };
}

function sum<Row>(rows: readonly Row[], of: (row: Row) => bigint): bigint {
  return rows.reduce((total, row) => total + of(row), 0n);
}

type Marks = RawBuilder<unknown>;

/**
 * The entries after each account's mark. A cross join keeps SQLite to this order: account by account, through the index
 * of its statement.
 */
const newEntries = (marks: Marks): RawBuilder<unknown> => sql`
  (select l.*, coalesce(m.amount, 0) as marked
   from accounts a left join ${marks} m on m.subject_id = a.id
   cross join ledger l where l.account_id = a.id and l.seq > coalesce(m.ledger_seq, 0))`;

/** The requests after each account's mark. */
const newRequests = (marks: Marks): RawBuilder<unknown> => sql`
  (select r.id, r.seq, r.account_id, r.hold_id, r.charge, r.outcome, r.model, r.price_version, r.cost
   from accounts a left join ${marks} m on m.subject_id = a.id
   cross join requests r where r.account_id = a.id and r.seq > coalesce(m.request_seq, 0))`;

interface AccountRow {
  readonly id: string;
  readonly balance: bigint;
  readonly held: bigint;
  readonly marked: bigint;
  readonly moved: bigint;
  readonly entries: bigint;
  readonly breaks: bigint;
  readonly open: bigint;
  readonly last_seq: bigint | null;
  readonly last_request: bigint | null;
  readonly marked_seq: bigint;
  readonly marked_request: bigint;
}

/** Accounts with anything new, and accounts that are wrong without anything new. */
async function accountsOf(tx: Database, marks: Marks): Promise<readonly AccountRow[]> {
  const { rows } = await sql<AccountRow>`
    select a.id, a.balance, a.held, coalesce(m.amount, 0) as marked, coalesce(n.moved, 0) as moved,
      coalesce(n.entries, 0) as entries, coalesce(n.breaks, 0) as breaks, coalesce(h.open, 0) as open, n.last_seq,
      q.last_request, coalesce(m.ledger_seq, 0) as marked_seq, coalesce(m.request_seq, 0) as marked_request
    from accounts a
    left join ${marks} m on m.subject_id = a.id
    left join (
      select account_id, cast(sum(amount) as bigint) as moved, count(*) as entries, max(seq) as last_seq,
        cast(sum(case when balance_after <> before + amount then 1 else 0 end) as bigint) as breaks
      from (select account_id, seq, amount, balance_after,
          coalesce(lag(balance_after) over (partition by account_id order by seq), marked) as before
        from ${newEntries(marks)} e) chained
      group by account_id) n on n.account_id = a.id
    left join (select account_id, cast(sum(amount) as bigint) as open from holds where state = 'held'
      group by account_id) h on h.account_id = a.id
    left join (select account_id, max(seq) as last_request from ${newRequests(marks)} r group by account_id) q on q.account_id = a.id
    where n.last_seq is not null or q.last_request is not null or a.balance <> coalesce(m.amount, 0) or a.held <> coalesce(h.open, 0)`.execute(
    tx,
  );
  return rows;
}

interface KeyRow {
  readonly id: string;
  readonly account_id: string;
  readonly spent: bigint;
  readonly held: bigint;
  readonly marked: bigint;
  readonly charged: bigint;
  readonly open: bigint;
}

async function keysOf(tx: Database, marks: Marks): Promise<readonly KeyRow[]> {
  const { rows } = await sql<KeyRow>`
    select k.id, k.account_id, k.spent, k.held, coalesce(m.amount, 0) as marked, coalesce(n.charged, 0) as charged,
      coalesce(h.open, 0) as open
    from keys k
    left join ${marks} m on m.subject_id = k.id
    left join (select key_id, cast(-sum(amount) as bigint) as charged from ${newEntries(marks)} e
      where key_id is not null group by key_id) n on n.key_id = k.id
    left join (select key_id, cast(sum(amount) as bigint) as open from holds where state = 'held'
      group by key_id) h on h.key_id = k.id
    where n.charged is not null or k.spent <> coalesce(m.amount, 0) or k.held <> coalesce(h.open, 0)`.execute(
    tx,
  );
  return rows;
}

/** New charges that contradict their hold or their request. */
async function entryFaults(
  tx: Database,
  marks: Marks,
): Promise<{ readonly unmatched: readonly string[]; readonly repeated: readonly string[] }> {
  const { rows } = await sql<{ cause: string; repeated: bigint | number | boolean }>`
    select e.cause, case when r.hold_id is null or r.hold_id <> h.id then 1 else 0 end as repeated
    from ${newEntries(marks)} e
    left join holds h on h.id = substr(e.cause, 1, length(e.cause) - 7)
    left join requests r on r.id = e.request_id
    where e.kind = 'settle' and (h.id is null or h.state <> 'settled' or h.settled <> -e.amount
      or h.account_id <> e.account_id or r.hold_id is null or r.hold_id <> h.id
      or (h.settled > h.amount and coalesce(r.flags, '') not like '%above_hold%'))
    limit 1000`.execute(tx);
  return {
    unmatched: rows.filter((row) => Number(row.repeated) === 0).map((row) => row.cause),
    repeated: rows.filter((row) => Number(row.repeated) === 1).map((row) => row.cause),
  };
}

/** New requests that contradict their hold, or whose charge or loss is not the ledger's. */
async function requestFaults(tx: Database, marks: Marks): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string }>`
    select r.id
    from ${newRequests(marks)} r
    left join holds h on h.id = r.hold_id
    left join ledger l on l.cause = r.hold_id || ':settle'
    left join ledger loss on loss.cause = r.hold_id || ':loss'
    where h.id is null or h.state = 'held' or r.id <> h.request_id or r.outcome <> h.end_reason
      or (h.state = 'voided' and coalesce(-loss.amount, 0) <> case when h.end_reason in (${sql.join([...ABANDONED])})
        then h.expected_cost else 0 end)
      or (h.state = 'voided' and (r.charge <> 0 or l.cause is not null))
      or (h.state = 'settled' and (l.cause is null or r.charge <> h.settled or r.charge <> -l.amount))
    limit 1000`.execute(tx);
  return rows.map((row) => row.id);
}

/** New requests whose prices are not those that they were charged by. Models with equal prices share a version. */
async function priceFaults(tx: Database, marks: Marks): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string }>`
    select r.id
    from ${newRequests(marks)} r
    join holds h on h.id = r.hold_id
    left join price_versions p on p.version = r.price_version
    where p.version is null or (r.model = h.model and r.price_version <> h.price_version) or r.cost < 0
    limit 1000`.execute(tx);
  return rows.map((row) => row.id);
}

/** Faults that only a full scan finds: ended holds without their request, entries of accounts that are not there. */
async function strayRows(tx: Database): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string }>`
    select h.id from holds h left join requests r on r.id = h.request_id
    where h.state <> 'held' and (r.hold_id is null or r.hold_id <> h.id)
    union all
    select l.cause from ledger l left join accounts a on a.id = l.account_id
    where a.id is null and l.account_id <> 'operator'
    limit 1000`.execute(tx);
  return rows.map((row) => row.id);
}

/** Accounts and keys of which not so much is allotted as processes have. */
async function allotmentFaults(tx: Database): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string }>`
    select a.id from accounts a left join
      (select account_id, cast(sum(amount) as bigint) as amount from allotments group by account_id) t on t.account_id = a.id
    where a.allotted <> coalesce(t.amount, 0) or a.held + a.allotted > a.balance
    union all
    select k.id from keys k left join
      (select key_id, cast(sum(amount) as bigint) as amount from allotments group by key_id) t on t.key_id = k.id
    where k.allotted <> coalesce(t.amount, 0)
    limit 1000`.execute(tx);
  return rows.map((row) => row.id);
}

async function overdueHolds(tx: Database, nowMs: number): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from holds where state = 'held' and task_id is null and expires_at_ms < ${BigInt(nowMs - OVERDUE_MS)}
    limit 1000`.execute(tx);
  return rows.map((row) => row.id);
}

/** Whether the sum of all balances is the sum of all movements; it reads only accounts with something new. */
async function totalFault(
  tx: Database,
  marks: Marks,
  accounts: readonly AccountRow[],
): Promise<readonly string[]> {
  const { rows } = await sql<{ balance: bigint; marked: bigint }>`
    select cast(coalesce(sum(a.balance), 0) as bigint) as balance, cast(coalesce(sum(m.amount), 0) as bigint) as marked
    from accounts a left join ${marks} m on m.subject_id = a.id`.execute(tx);
  const { balance, marked } = rows[0] as (typeof rows)[number];
  const moved = marked + sum(accounts, (row) => row.moved);
  return balance === moved ? [] : [`${balance} micro-credits of balances, ${moved} of entries`];
}

/** The new marks of each account with something new, and of its keys. */
function marksOf(
  accounts: readonly AccountRow[],
  keys: readonly KeyRow[],
  nowMs: number,
): readonly (readonly AuditMark[])[] {
  const keysOfAccount = Map.groupBy(keys, (key) => key.account_id);
  return accounts.map((account) => {
    const at = {
      ledgerSeq: account.last_seq ?? account.marked_seq,
      requestSeq: account.last_request ?? account.marked_request,
      checkedAtMs: nowMs,
    };
    const ofKeys = keysOfAccount.get(account.id) ?? [];
    return [
      { subject: account.id, amount: account.balance, ...at },
      ...ofKeys.map(({ id, spent }) => Object.assign({ subject: id, amount: spent }, at)),
    ];
  });
}
