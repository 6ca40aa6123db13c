import { jsonOfAmounts } from "../core/json/json-value.ts";
import { type CompiledQuery, type RawBuilder, sql } from "kysely";
import type { KeyLimits } from "../core/rate-limits.ts";
import type { Engine } from "../db/engine.ts";
import type { Database } from "../db/schema.ts";
import {
  AUDIT_MARKS,
  columnList,
  ISSUED_KEYS,
  jsonList,
  type RowOf,
  type Rows,
  typedList,
  typeOf,
} from "./rows.ts";
import type {
  AnswerTo,
  ChangeKey,
  ForgetTasks,
  Heartbeat,
  IssueKey,
  MarkAudited,
  RecordCommand,
  SessionCommand,
} from "./commands.ts";

/** Makes the one statement of a record command, for the engine that `build` compiles for. */
export function recordStatement(build: Database, engine: Engine, command: RecordCommand): CompiledQuery {
  switch (command.kind) {
    case "create_account":
      return build
        .insertInto("accounts")
        .values({ id: command.account, name: command.name, created_at_ms: BigInt(command.nowMs) })
        .onConflict((conflict) => conflict.column("id").doNothing())
        .compile();
    case "rename_account":
      return build
        .updateTable("accounts")
        .set({ name: command.name })
        .where("id", "=", command.account)
        .returning("id")
        .compile();
    case "close_account":
      return build
        .updateTable("accounts")
        .set({ status: "disabled" })
        .where("id", "=", command.account)
        .returning("id")
        .compile();
    case "issue_key":
      return issueKey(build, command);
    case "change_key":
      return changeKey(build, command);
    case "revoke_key":
      return build
        .updateTable("keys")
        .set((key) => ({ revoked_at_ms: key.fn.coalesce("revoked_at_ms", key.val(BigInt(command.nowMs))) }))
        .where("id", "=", command.key)
        .returning("id")
        .compile();
    case "revoke_keys":
      return build
        .updateTable("keys")
        .set({ revoked_at_ms: BigInt(command.nowMs) })
        .where("account_id", "=", command.account)
        .where("revoked_at_ms", "is", null)
        .compile();
    case "remember":
      return build
        .insertInto("installation")
        .values({ name: command.name, value: command.value })
        .onConflict((conflict) =>
          conflict.column("name").doUpdateSet((row) => ({
            value: row
              .case()
              .when("installation.value", "=", command.instead ?? command.value)
              .then(row.ref("excluded.value"))
              .else(row.ref("installation.value"))
              .end(),
          })),
        )
        .returning("value")
        .compile();
    case "open_session":
    case "see_session":
    case "end_session":
    case "forget_sessions":
      return sessionStatement(build, command);
    case "heartbeat":
      return build
        .insertInto("processes")
        .values({ boot_id: command.boot, lease_until_ms: leaseEnd(engine, command), allots: 1n })
        .onConflict((conflict) =>
          conflict.column("boot_id").doUpdateSet({ lease_until_ms: leaseEnd(engine, command) }),
        )
        .compile();
    case "leave": {
      const left = build.deleteFrom("processes").where("boot_id", "=", command.boot);
      // A process that was found dead may have come back since, and its holds with it.
      return command.deadAtMs === undefined
        ? left.compile()
        : left.where("lease_until_ms", "<=", storeTime(engine, command.deadAtMs)).compile();
    }
    case "forget_tasks":
      return forgetTasks(engine, command).compile(build);
    case "mark_audited":
      return markAudited(engine, command).compile(build);
    case "ping":
      return build
        .updateTable("store_health")
        .set((row) => ({ pings: row("pings", "+", 1n) }))
        .compile();
  }
}

/** The answer to a record command whose statement returned `rows`. */
export function recordAnswer(
  command: RecordCommand,
  rows: readonly Readonly<Record<string, unknown>>[],
): AnswerTo<RecordCommand> {
  switch (command.kind) {
    case "rename_account":
    case "close_account":
      return rows.length === 0 ? { ok: false, reason: "unknown_account" } : { ok: true };
    case "issue_key":
      return rows.length === 0 ? { ok: false, reason: "unknown_account" } : { ok: true };
    case "change_key":
    case "revoke_key":
      return rows.length === 0 ? { ok: false, reason: "unknown_key" } : { ok: true };
    case "remember":
      return { ok: true, value: String(rows[0]?.value) };
    default:
      return { ok: true };
  }
}

/** The store's clock: its server's, or the steady one of this process where the store is embedded. */
export function storeTime(engine: Engine, steadyMs: number): RawBuilder<bigint> {
  return engine === "postgres"
    ? sql<bigint>`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`
    : sql<bigint>`${BigInt(steadyMs)}`;
}

function sessionStatement(build: Database, command: SessionCommand): CompiledQuery {
  switch (command.kind) {
    case "open_session": {
      const { session, opener, nowMs } = command;
      const at = BigInt(nowMs);
      return build
        .insertInto("sessions")
        .values({
          id: session,
          token_hash: "tokenHash" in opener ? opener.tokenHash : null,
          key_id: "keyId" in opener ? opener.keyId : null,
          created_at_ms: at,
          seen_at_ms: at,
        })
        .onConflict((conflict) => conflict.column("id").doNothing())
        .compile();
    }
    case "see_session": {
      const at = BigInt(command.nowMs);
      return build
        .updateTable("sessions")
        .set({ seen_at_ms: at })
        .where("id", "=", command.session)
        .where("seen_at_ms", "<", at)
        .compile();
    }
    case "end_session":
      return build.deleteFrom("sessions").where("id", "=", command.session).compile();
    case "forget_sessions":
      return build
        .deleteFrom("sessions")
        .where((row) =>
          row.or([
            row("created_at_ms", "<=", BigInt(command.openedByMs)),
            row("seen_at_ms", "<=", BigInt(command.usedByMs)),
            row("token_hash", "!=", command.tokenHash),
          ]),
        )
        .compile();
  }
}

function leaseEnd(engine: Engine, command: Heartbeat): RawBuilder<bigint> {
  return sql<bigint>`${storeTime(engine, command.steadyMs)} + ${sql.lit(command.leaseMs)}`;
}

/** A key that was issued before is returned as it is; one of an account that is unknown or closed gives no row. */
function issueKey(build: Database, command: IssueKey): CompiledQuery {
  const { key, account, name, hash, hint, models, budget, limits, routes, expiresAtMs, nowMs } = command;
  const row: RowOf<typeof ISSUED_KEYS> = {
    id: key,
    account,
    name,
    hash,
    hint,
    models: models === null ? null : JSON.stringify(models),
    budget,
    requestsPerMinute: limits?.requestsPerMinute ?? null,
    tokensPerMinute: limits?.tokensPerMinute ?? null,
    concurrency: limits?.concurrency ?? null,
    routes: Number(routes ?? false),
    expiresAtMs,
    createdAtMs: nowMs,
  };
  return sql`insert into keys (${sql.raw(columnList(ISSUED_KEYS))})
    select ${typedValues(ISSUED_KEYS, row)} from accounts
    where id = ${account} and (status = 'active' or exists (select 1 from keys where keys.id = ${key}))
    on conflict (id) do update set id = keys.id returning id`.compile(build);
}

/** The values of a row, each with its type: PostgreSQL would not know that of a null. */
function typedValues<Described extends Rows>(
  { columns }: Described,
  row: RowOf<Described>,
): RawBuilder<unknown> {
  const values = row as Readonly<Record<string, unknown>>;
  return sql.join(
    Object.entries(columns).map(
      ([member, column]) => sql`cast(${values[member]} as ${sql.raw(typeOf(column))})`,
    ),
  );
}

function changeKey(build: Database, command: ChangeKey): CompiledQuery {
  const { key, name, models, budget, limits = {}, routes, expiresAtMs } = command;
  return build
    .updateTable("keys")
    .set((row) => ({
      name: name ?? row.ref("name"),
      ...(models === undefined ? {} : { models: models === null ? null : JSON.stringify(models) }),
      ...(budget === undefined ? {} : { budget }),
      ...changedLimits(limits),
      ...(routes === undefined ? {} : { routes: routes ? 1n : 0n }),
      ...(expiresAtMs === undefined ? {} : { expires_at_ms: bigintOrNull(expiresAtMs) }),
    }))
    .where("id", "=", key)
    .where("revoked_at_ms", "is", null)
    .returning("id")
    .compile();
}

function changedLimits({ requestsPerMinute, tokensPerMinute, concurrency }: Partial<KeyLimits>) {
  return {
    ...(requestsPerMinute === undefined ? {} : { requests_per_minute: bigintOrNull(requestsPerMinute) }),
    ...(tokensPerMinute === undefined ? {} : { tokens_per_minute: bigintOrNull(tokensPerMinute) }),
    ...(concurrency === undefined ? {} : { concurrency: bigintOrNull(concurrency) }),
  };
}

/**
 * All marks as one value, since there may be more than a statement takes values. A mark moves forward only. Of two
 * audits at the same time the later to finish may have the earlier snapshot, which does not know the keys used since.
 */
function markAudited(engine: Engine, { marks }: MarkAudited): RawBuilder<unknown> {
  const rows = jsonOfAmounts(marks);
  const fromRows =
    engine === "postgres"
      ? sql`select * from json_to_recordset(${rows}::json) as t(${sql.raw(typedList(AUDIT_MARKS))}) order by subject`
      : sql`select ${sql.raw(jsonList(AUDIT_MARKS))} from json_each(${rows}) where true`;
  return sql`insert into audit_marks (${sql.raw(columnList(AUDIT_MARKS))}) ${fromRows}
    on conflict (subject_id) do update set ledger_seq = excluded.ledger_seq, amount = excluded.amount,
      request_seq = excluded.request_seq, checked_at_ms = excluded.checked_at_ms
    where excluded.ledger_seq >= audit_marks.ledger_seq and excluded.request_seq >= audit_marks.request_seq`;
}

/** Tasks of one command at most: other commands wait for it. */
const MAX_FORGOTTEN = 1_000;

/** The oldest first. A locked task is left for another time, so that the command waits for no lock. */
function forgetTasks(engine: Engine, { beforeMs }: ForgetTasks): RawBuilder<unknown> {
  const unlocked = engine === "postgres" ? sql`for update skip locked` : sql``;
  return sql`delete from tasks where seq in (select seq from tasks
    where ended_at_ms < ${BigInt(beforeMs)} and files_until_ms is null
    order by ended_at_ms limit ${sql.lit(MAX_FORGOTTEN)} ${unlocked})`;
}

function bigintOrNull(value: number | null): bigint | null {
  return value === null ? null : BigInt(value);
}
