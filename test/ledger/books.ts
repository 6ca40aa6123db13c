import { afterAll, beforeAll, beforeEach, expect } from "bun:test";
import { sql } from "kysely";
import { noFailpoint } from "../../src/core/failpoint.ts";
import { openUnhurried } from "../../src/db/postgres.ts";
import type { Database, Tables } from "../../src/db/schema.ts";
import { kyselyOver } from "../../src/db/sqlite.ts";
import { openForWriting } from "../../src/db/sqlite-file.ts";
import type {
  AnswerTo,
  CloseAccount,
  Command,
  Grant,
  HoldCredit,
  IssueKey,
  RevokeKeys,
  Settle,
  Void,
} from "../../src/ledger/commands.ts";
import type { Outcome } from "../../src/ledger/commands.ts";
import { type Held, NOTHING_HELD } from "../../src/ledger/open-holds.ts";
import { openStore, type Store } from "../../src/ledger/store.ts";
import type { TestEngine, TestPlace } from "../gateway/engines.ts";
import { type TaskCommands, taskCommandsFor } from "./task-commands.ts";
import { runsOf } from "../runs.ts";

/** How a property test runs: the seed is printed by fast-check when it fails. */
export const RUNS = runsOf(20, 300);

/** Books on one engine; each test has names of its own in them. */
export interface TestBooks extends Commands, TaskCommands {
  readonly store: Store;
  readonly place: TestPlace["place"];
  /** `name` as it stands in the store, apart from that of other tests. */
  id(name: string): string;
  /** Runs the commands as one batch. */
  apply(...commands: readonly Command[]): Promise<readonly Outcome[]>;
  /** Runs one command alone and gives its answer; throws when it failed. */
  run<C extends Command>(command: C): Promise<AnswerTo<C>>;
  /** What the account has. */
  account(name?: string): Promise<{ readonly balance: bigint; readonly held: bigint }>;
  /** What is held beyond what the tables say. */
  held(): Held;
  /** What the key has spent and holds. */
  key(name?: string): Promise<{ readonly spent: bigint; readonly held: bigint }>;
  /** The one row of `table` that has `id` in `column`. */
  row<Name extends keyof Tables>(table: Name, column: string, id: string): Promise<Record<string, unknown>>;
  /** Ledger entries of this test whose cause begins with `name`, oldest first. */
  entries(name: string): Promise<readonly Record<string, unknown>[]>;
  /** Runs a statement past the writer, as one may who has the store's password. */
  execute(statement: string): Promise<void>;
  /** Fails unless every sum of the store is right. */
  audit(): Promise<void>;
}

/** Commands on the test's own account `a` and key `k`. */
export interface Commands {
  createAccount(name: string): Command;
  issueKey(name: string, more?: Partial<IssueKey>): IssueKey;
  /** Closes an account, `a` unless told otherwise. */
  close(name?: string): CloseAccount;
  /** Revokes the keys of the account `a`. */
  revokeKeys(nowMs: number): RevokeKeys;
  grant(cause: string, amount: bigint, more?: Partial<Grant>): Grant;
  hold(name: string, amount: bigint, more?: Partial<HoldCredit>): HoldCredit;
  settle(name: string, used: bigint, more?: Partial<Settle>): Settle;
  voided(name: string, more?: Partial<Void>): Void;
}

/** Books for all tests of a `describe`; each begins with an account `a` without credit and its key `k`. */
export function useBooks(engine: TestEngine): TestBooks {
  let opened: OpenedBooks | undefined;
  beforeAll(async () => {
    opened = await openBooks(engine);
  });
  beforeEach(async () => opened?.begin());
  afterAll(async () => opened?.close());
  // The tests are described before the store is open: what they ask for is looked up when they run.
  return new Proxy({} as TestBooks, { get: (_, name) => opened?.books[name as keyof TestBooks] });
}

/** Books that a test opens by itself. */
export interface OpenedBooks {
  readonly books: TestBooks;
  /** Names of their own for what comes, and the account and key that tests begin with. */
  begin(): Promise<void>;
  close(): Promise<void>;
}

/** Opens books in a new place. */
export async function openBooks(
  engine: TestEngine,
  options: { readonly writerFailpoint?: string } = {},
): Promise<OpenedBooks> {
  const place = await engine.newPlace();
  const store = await openStore({
    place: place.place,
    failpoint: noFailpoint,
    writerFailpoint: options.writerFailpoint,
    kill: () => {
      throw new Error("This test kills nothing.");
    },
    onLost: (reason) => {
      throw new Error(`The disk of this test failed: ${reason}`);
    },
  });
  let test = 0;
  const id = (name: string): string => `t${test}-${name}`;
  const commands = commandsFor(id);
  const held = (): Held => store.openHolds?.held() ?? NOTHING_HELD;
  const apply = async (...batch: readonly Command[]): Promise<readonly Outcome[]> => {
    const outcomes = await store.executor.execute(batch);
    // Statements past the writer, and an auditor that is asked itself, find everything in the tables.
    await store.current();
    return outcomes;
  };
  const run = async (command: Command): Promise<AnswerTo<Command>> => {
    const [outcome] = await apply(command);
    if (outcome === undefined || !("answer" in outcome)) throw new Error(outcome?.failure);
    return outcome.answer;
  };
  const books: TestBooks = {
    ...commands,
    ...taskCommandsFor(id),
    ...onceCurrent(store, readsOf(store.database, held, id)),
    held,
    store,
    place: place.place,
    id,
    apply,
    run: run as TestBooks["run"],
    execute: (statement) => executeAt(place.place, statement),
  };
  return {
    books,
    async begin() {
      test += 1;
      await apply(commands.createAccount("a"), commands.issueKey("k"));
    },
    async close() {
      await store.executor.close();
      await store.database.destroy();
      await place.remove();
    },
  };
}

/** Commands whose ids are made by `id`. */
export function commandsFor(id: (name: string) => string): Commands {
  const end = (name: string) =>
    ({ hold: id(name), account: id("a"), key: id("k"), outcome: "completed", nowMs: 2 }) as const;
  return {
    createAccount: (name) => ({ kind: "create_account", account: id(name), name: "n", nowMs: 1 }),
    issueKey: (name, more = {}) => ({
      kind: "issue_key",
      key: id(name),
      account: id("a"),
      name: "n",
      hash: id(`hash-${name}`),
      hint: "sk-…",
      models: null,
      budget: null,
      expiresAtMs: null,
      nowMs: 1,
      ...more,
    }),
    close: (name = "a") => ({ kind: "close_account", account: id(name) }),
    revokeKeys: (nowMs) => ({ kind: "revoke_keys", account: id("a"), nowMs }),
    grant: (cause, amount, more = {}) => ({
      kind: "grant",
      cause: id(cause),
      account: id("a"),
      amount,
      reason: "r",
      requestId: "req",
      nowMs: 1,
      ...more,
    }),
    hold: (name, amount, more = {}) => ({
      kind: "hold",
      hold: id(name),
      account: id("a"),
      key: id("k"),
      requestId: id(`req-${name}`),
      boot: "b1",
      amount,
      expectedCost: amount,
      priceVersion: "v",
      model: "m",
      priceRules: "{}",
      nowMs: 1,
      expiresAtMs: 2,
      ...more,
    }),
    settle: (name, used, more = {}) => ({
      kind: "settle",
      ...end(name),
      used,
      usage: "{}",
      flags: [],
      ...more,
    }),
    voided: (name, more = {}) => ({ kind: "void", ...end(name), outcome: "refused", ...more }),
  };
}

/** Runs a statement in `place` over a connection of its own. */
export async function executeAt(place: TestPlace["place"], statement: string): Promise<void> {
  const database = openAt(place);
  try {
    await sql.raw(statement).execute(database);
  } finally {
    await database.destroy();
  }
}

/** A connection of its own to `place`, which may write. */
export function openAt(place: TestPlace["place"]): Database {
  return "file" in place ? kyselyOver(openForWriting(place.file)) : openUnhurried(place.url);
}

type Reads = Pick<TestBooks, "account" | "key" | "row" | "entries" | "audit">;

/** Reads that see everything that was answered before. */
function onceCurrent(store: Store, reads: Reads): Reads {
  const waiting = Object.entries(reads).map(([name, read]) => [
    name,
    async (...given: readonly unknown[]) => {
      await store.current();
      return (read as (...given: readonly unknown[]) => unknown)(...given);
    },
  ]);
  return Object.fromEntries(waiting) as Reads;
}

function readsOf(database: Database, held: () => Held, id: (name: string) => string): Reads {
  return {
    async account(name = "a") {
      const row = await database
        .selectFrom("accounts")
        .select(["balance", "held"])
        .where("id", "=", id(name))
        .executeTakeFirstOrThrow();
      return { ...row, held: row.held + (held().accounts.get(id(name)) ?? 0n) };
    },
    async key(name = "k") {
      const row = await database
        .selectFrom("keys")
        .select(["spent", "held"])
        .where("id", "=", id(name))
        .executeTakeFirstOrThrow();
      return { ...row, held: row.held + (held().keys.get(id(name)) ?? 0n) };
    },
    async row(table, column, value) {
      const { rows } = await sql<
        Record<string, unknown>
      >`select * from ${sql.table(table)} where ${sql.ref(column)} = ${value}`.execute(database);
      expect(rows).toHaveLength(1);
      return rows[0] as Record<string, unknown>;
    },
    entries: (name) =>
      database
        .selectFrom("ledger")
        .select(["cause", "account_id", "key_id", "counter", "amount", "balance_after", "kind"])
        .where("cause", "like", `${id(name)}%`)
        .orderBy("seq")
        .execute(),
    audit: () => auditBooks(database),
  };
}

/** Fails with the names of what is wrong unless every sum of the books is right. */
export async function auditBooks(database: Database): Promise<void> {
  const { rows } = await sql<{ rule: string; id: string }>`${sql.raw(AUDIT)}`.execute(database);
  expect(rows).toEqual([]);
}

/** Rows that break an invariant (I1 to I6 of balances, holds, keys, requests and tasks), with the name of what they break. */
const AUDIT = `
  select 'balance is the sum of entries' as rule, id from accounts
    where balance <> (select coalesce(sum(amount), 0) from ledger where account_id = accounts.id)
  union all
  select 'held is the sum of open holds', id from accounts
    where held <> (select coalesce(sum(amount), 0) from holds where account_id = accounts.id and state = 'held')
  union all
  select 'no more is held than there is', id from accounts where held < 0 or held > balance
  union all
  select 'balance_after is the running sum', cause from
    (select cause, balance_after, sum(amount) over (partition by account_id order by seq) as running
      from ledger where account_id <> 'operator') as entries where balance_after <> running
  union all
  select 'a settled hold has one charge of its amount', h.id
    from holds h left join ledger l on l.cause = h.id || ':settle'
    where (h.state = 'settled') <> (l.cause is not null)
      or h.settled <> -l.amount or l.account_id <> h.account_id or l.key_id <> h.key_id
  union all
  select 'a charge has its hold', cause from ledger
    where kind = 'settle' and not exists (select 1 from holds where holds.id || ':settle' = ledger.cause)
  union all
  select 'spent is the sum of charges', id from keys
    where spent <> (select coalesce(-sum(amount), 0) from ledger where key_id = keys.id)
  union all
  select 'a key holds the sum of its open holds', id from keys
    where held <> (select coalesce(sum(amount), 0) from holds where key_id = keys.id and state = 'held')
  union all
  select 'an ended hold has one request', h.id from holds h left join requests r on r.hold_id = h.id
    where (h.state = 'held') = (r.id is not null)
      or r.charge <> coalesce(h.settled, 0) or r.id <> h.request_id or r.outcome <> h.end_reason
      or r.account_id <> h.account_id or r.key_id <> h.key_id
  union all
  select 'a request has the prices of its hold, or of another model that served', r.id
    from requests r join holds h on h.id = r.hold_id left join price_versions p on p.version = r.price_version
    where p.version is null or (r.model = h.model and r.price_version <> h.price_version)
  union all
  select 'a task and its hold end together', t.id from tasks t left join holds h on h.id = t.hold_id
    where h.id is null or h.task_id <> t.id or h.task_id is null
      or h.account_id <> t.account_id or h.key_id <> t.key_id or h.request_id <> t.request_id or h.model <> t.model
      or h.state <> case t.state when 'completed' then 'settled' when 'failed' then 'voided'
        when 'cancelled' then 'voided' else 'held' end
      or h.ended_at_ms <> t.ended_at_ms or coalesce(t.charge, -1) <> coalesce(h.settled, -1)
  union all
  select 'an open hold has its task', h.id from holds h left join tasks t on t.id = h.task_id and t.hold_id = h.id
    where h.task_id is not null and h.state = 'held' and t.id is null
  union all
  select 'what was asked is kept until the end', t.id from tasks t left join task_payloads p on p.task_id = t.id
    where (t.ended_at_ms is null) <> (p.task_id is not null)
  union all
  select 'a task has come its way', id from tasks
    where (epoch > 0) <> (started_at_ms is not null) or (epoch > 0) <> (provider is not null)
      or (epoch = 0 and (job is not null or attempts > 0)) or refusals not between 0 and attempts
      or (state in ('pending', 'cancelled') and epoch > 0)
      or (state in ('running', 'completed') and epoch = 0)`;
