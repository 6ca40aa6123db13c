import type { LedgerModel } from "./ledger-model.ts";
import type { ModelTask } from "./task-model.ts";

/** Asks the store; integers may come as numbers, as `bigint` or as text. */
export type Ask = (
  sql: string,
) => readonly Readonly<Record<string, unknown>>[] | Promise<readonly Readonly<Record<string, unknown>>[]>;

/**
 * What has to be true of the books after every transaction, each as a query for the rows that break it. The SQL is
 * read by both engines and asks the rows themselves, never a sum that the ledger keeps.
 */
const RULES: Readonly<Record<string, string>> = {
  "I1 balance is the sum of the entries": `select id from accounts where balance <>
    (select coalesce(sum(amount), 0) from ledger where ledger.account_id = accounts.id)`,
  "I1 each entry continues the balance": `select cause as id from
    (select cause, account_id, balance_after, sum(amount) over (partition by account_id order by seq) as total
      from ledger) entries
    where account_id <> 'operator' and balance_after <> total`,
  "I1 an entry belongs to an account": `select cause as id from ledger
    where account_id <> 'operator' and account_id not in (select id from accounts)`,
  "I2 held is the sum of the open holds": `select id from accounts where held <>
    (select coalesce(sum(amount), 0) from holds where holds.account_id = accounts.id and state = 'held')`,
  "I2 0 <= held <= balance": `select id from accounts where held < 0 or balance < held`,
  "I2 a key's held is the sum of its open holds": `select id from keys where held <>
    (select coalesce(sum(amount), 0) from holds where holds.key_id = keys.id and state = 'held')`,
  "I2 a key's spent is the sum of its charges": `select id from keys where spent <>
    (select -coalesce(sum(amount), 0) from ledger where ledger.key_id = keys.id and kind = 'settle')`,
  "I3 a settled hold has its one charge, another has none": `select id from holds where
    (select count(*) from ledger where kind = 'settle' and cause = holds.id || ':settle' and amount = -holds.settled
      and ledger.account_id = holds.account_id and ledger.key_id = holds.key_id)
    <> case when state = 'settled' then 1 else 0 end`,
  "I3 every charge is of a settled hold": `select cause as id from ledger where kind = 'settle' and not exists
    (select 1 from holds where state = 'settled' and holds.id || ':settle' = ledger.cause)`,
  "I3 settled above the hold only when flagged": `select h.id from holds h join requests r on r.hold_id = h.id
    where h.settled > h.amount and coalesce(r.flags, '') not like '%"above_hold"%'`,
  "I4 a request is charged once": `select request_id as id from ledger where kind = 'settle'
    group by request_id having count(*) > 1`,
  "I4 an ended hold has one request, an open one has none": `select id from holds where
    (select count(*) from requests where hold_id = holds.id) <> case when state = 'held' then 0 else 1 end`,
  "I4 a request's charge is its hold's": `select r.id from requests r join holds h on h.id = r.hold_id
    where r.charge <> coalesce(h.settled, 0) or r.id <> h.request_id or r.account_id <> h.account_id`,
  "I12 a request has the prices of its hold, or those of another model that served": `select r.id from requests r
    join holds h on h.id = r.hold_id where (r.model = h.model) <> (r.price_version = h.price_version)
      or not exists (select 1 from price_versions where version = r.price_version)`,
  "I4 a task completed exactly if its hold was charged, and has no other": `select id from tasks where not exists
    (select 1 from holds where holds.id = hold_id and task_id = tasks.id and holds.account_id = tasks.account_id
      and holds.key_id = tasks.key_id and holds.request_id = tasks.request_id
      and coalesce(settled, -1) = coalesce(charge, -1)
      and holds.state = case when tasks.ended_at_ms is null then 'held' when charge is null then 'voided'
        else 'settled' end)
    or (state = 'completed') <> (charge is not null)`,
  "I4 one hold for a task": `select task_id as id from holds where task_id is not null group by task_id having count(*) > 1`,
  "I4 an open hold of a task has its task": `select id from holds where state = 'held' and task_id is not null
    and not exists (select 1 from tasks where tasks.id = task_id and ended_at_ms is null)`,
  "I6 who claimed a task stands there from its first claim on": `select id from tasks
    where (epoch > 0) <> (started_at_ms is not null) or (epoch > 0) <> (provider is not null)
      or (state in ('pending', 'cancelled') and epoch > 0) or (state in ('running', 'completed') and epoch = 0)`,
  "I6 what a task was asked is kept until its end": `select id from tasks
    where (ended_at_ms is null) <> exists (select 1 from task_payloads where task_id = tasks.id)`,
  "I8 both sides of every entry are known": `select cause as id from ledger where not (
    kind = 'grant' and counter = 'funding' and cause like '%:grant' or
    kind = 'settle' and counter = 'revenue' and amount <= 0 or
    kind = 'loss' and counter = 'operator_loss' and account_id = 'operator')`,
  "I8 all sides come to nothing": `select 'all' as id where
    (select coalesce(sum(balance), 0) from accounts)
    - (select coalesce(sum(amount), 0) from ledger where counter = 'funding')
    - (select coalesce(sum(amount), 0) from ledger where counter = 'revenue') <> 0`,
  "I8 a loss belongs to an ended hold": `select cause as id from ledger where kind = 'loss' and not exists
    (select 1 from holds where state <> 'held'
      and (holds.id || ':loss' = ledger.cause or (state = 'voided' and holds.id || ':late' = ledger.cause)))`,
};

const ALL_RULES = Object.entries(RULES)
  .map(
    ([rule, sql]) => `select '${rule.replaceAll("'", "''")}' as rule, broken.id as what from (${sql}) broken`,
  )
  .join("\nunion all\n");

/** Throws when the books break a rule; names the rule and the first rows. */
export async function assertBooks(ask: Ask): Promise<void> {
  const broken = await ask(ALL_RULES);
  if (broken.length === 0) return;
  const lines = broken.slice(0, 5).map(({ rule, what }) => `${String(rule)}: ${String(what)}`);
  throw new Error(`The books break ${broken.length} rules:\n${lines.join("\n")}`);
}

/** Accounts, keys, holds and grants as text lines in the order of their ids, so that two books can be compared. */
export type BooksText = readonly string[];

/** What stands in the store. */
export async function readBooks(ask: Ask): Promise<BooksText> {
  const rows = await ask(`
    select 'account ' || id || ' ' || balance || ' held ' || held as line from accounts
    union all
    select 'key ' || id || ' of ' || account_id || ' spent ' || spent || ' held ' || held || ' of '
      || coalesce(cast(budget as text), 'any') || case when revoked_at_ms is null then '' else ' revoked' end from keys
    union all
    select 'hold ' || id || ' ' || amount || ' ' || state || ' ' || coalesce(settled, 0) || ' lost ' ||
      (select -coalesce(sum(amount), 0) from ledger
        where kind = 'loss' and cause in (holds.id || ':loss', holds.id || ':late'))
      from holds
    union all
    select 'task ' || id || ' ' || state || ' ' || epoch || ' of ' || coalesce(owner, 'nobody') || ' at '
      || coalesce(provider, 'none') || ' job ' || coalesce(job, 'none') || ' attempts ' || attempts
      || ' refusals ' || refusals
      || case lease_until_ms when 0 then ' given up' else '' end || ' charged ' || coalesce(charge, 0)
      || case when files_until_ms is null then '' else ' with files' end from tasks
    union all
    select 'grant ' || cause || ' ' || account_id || ' ' || amount || ' = ' || balance_after from ledger
      where kind = 'grant'`);
  return rows.map(({ line }) => String(line)).toSorted();
}

/** A task as its line in the text of the books. */
export function taskLine(task: TaskLine): string {
  const isGivenUp = task.state === "running" && task.leaseUntilMs === 0;
  return (
    `task ${task.id} ${task.state} ${task.epoch} of ${task.owner ?? "nobody"} at ${task.provider ?? "none"}` +
    ` job ${task.job ?? "none"} attempts ${task.attempts} refusals ${task.refusals}${isGivenUp ? " given up" : ""}` +
    ` charged ${task.charge ?? 0n}${task.hasFiles ? " with files" : ""}`
  );
}

type TaskLine = Pick<
  ModelTask,
  "id" | "state" | "epoch" | "owner" | "provider" | "job" | "attempts" | "refusals" | "charge" | "hasFiles"
> & { readonly leaseUntilMs: number | null };

/** The same of the model. */
export function modelBooks(model: LedgerModel): BooksText {
  const lines: string[] = [];
  for (const [id, account] of model.accounts)
    lines.push(`account ${id} ${account.balance} held ${account.held}`);
  for (const [id, key] of model.keys)
    lines.push(
      `key ${id} of ${key.account} spent ${key.spent} held ${key.held} of ${key.budget ?? "any"}` +
        (key.revoked ? " revoked" : ""),
    );
  for (const [id, hold] of model.holds)
    lines.push(`hold ${id} ${hold.amount} ${hold.state} ${hold.charged} lost ${hold.lost}`);
  for (const task of model.tasks.values()) lines.push(taskLine(task));
  for (const [cause, grant] of model.grants)
    lines.push(`grant ${cause}:grant ${grant.account} ${grant.amount} = ${grant.balanceAfter}`);
  return lines.toSorted();
}
