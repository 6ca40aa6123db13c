import type { SqliteDatabase, SqliteStatement } from "../runtime/sqlite.ts";
import { noFailpoint, type Failpoint } from "../core/failpoint.ts";
import type {
  AnswerTo,
  ChangeKey,
  Command,
  CreateAccount,
  Grant,
  HoldCredit,
  IssueKey,
  Outcome,
  RevokeKey,
  Settle,
  Void,
  VoidOrphans,
} from "./commands.ts";
import { MAX_MICRO_CREDITS } from "../core/credits.ts";

/** Applies commands to a SQLite database. */
export interface SqliteBooks {
  /**
   * Runs the commands in order as one transaction and answers each. When one of them fails in a way that nobody
   * expected, all are run again one by one, so that it alone is answered with a failure.
   */
  apply(commands: readonly Command[]): Outcome[];
}

/** Books over `database`, which must have the current schema. */
export function openSqliteBooks(database: SqliteDatabase, failpoint: Failpoint = noFailpoint): SqliteBooks {
  const apply = createApply(prepareStatements(database));
  const transaction = (commands: readonly Command[]): Outcome[] => {
    database.execute("begin immediate");
    try {
      const outcomes = commands.map((command): Outcome => ({ answer: apply(command) }));
      failpoint("writer.before_commit");
      database.execute("commit");
      return outcomes;
    } catch (error) {
      rollback(database);
      throw error;
    }
  };
  const alone = (command: Command): Outcome => {
    try {
      return transaction([command])[0] as Outcome;
    } catch (error) {
      return { failure: error instanceof Error ? error.message : String(error) };
    }
  };
  return {
    apply(commands) {
      const [first] = commands;
      if (commands.length === 1 && first !== undefined) return [alone(first)];
      try {
        return transaction(commands);
      } catch (error) {
        // A store that takes nothing takes nothing one by one either: every command hears it at once.
        if (isStoreFault(error)) return commands.map(() => ({ failure: (error as Error).message }));
        return commands.map(alone);
      }
    },
  };
}

/** Faults of the file and not of a command: locked, full, unreadable, read-only. */
function isStoreFault(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return /^SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CORRUPT|CANTOPEN|NOTADB)/.test(code);
}

/** A failed commit may have ended the transaction already. */
function rollback(database: SqliteDatabase): void {
  try {
    database.execute("rollback");
  } catch {
    // Nothing was open: the engine had rolled back by itself.
  }
}

type Statements = ReturnType<typeof prepareStatements>;

function prepareStatements(database: SqliteDatabase) {
  const prepare = (sql: string): SqliteStatement => database.prepare(sql);
  return {
    createAccount: prepare(
      "insert into accounts (id, name, created_at_ms) values (?, ?, ?) on conflict (id) do nothing",
    ),
    readAccount: prepare("select balance, held from accounts where id = ?"),
    adjustAccount: prepare(
      `update accounts set balance = balance + ?2
       where id = ?1 and balance + ?2 >= held and balance + ?2 <= ${MAX_MICRO_CREDITS} returning balance`,
    ),
    holdAccount: prepare(
      "update accounts set held = held + ?2 where id = ?1 and status = 'active' and balance - held >= ?2 returning id",
    ),
    releaseAccount: prepare(
      "update accounts set held = held - ?2, balance = balance - ?3 where id = ?1 returning balance",
    ),
    insertLedger: prepare(
      `insert into ledger (cause, account_id, counter, amount, balance_after, kind, request_id, reason, created_at_ms)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    readLedger: prepare("select account_id, amount, balance_after from ledger where cause = ?"),
    insertKey: prepare(
      `insert into keys (id, account_id, name, hash, hint, models, expires_at_ms, created_at_ms)
       values (?, ?, ?, ?, ?, ?, ?, ?) on conflict (id) do nothing`,
    ),
    changeKey: prepare(
      `update keys set name = coalesce(?2, name),
         models = case when ?3 then ?4 else models end,
         expires_at_ms = case when ?5 then ?6 else expires_at_ms end
       where id = ?1 and revoked_at_ms is null returning id`,
    ),
    revokeKey: prepare(
      "update keys set revoked_at_ms = coalesce(revoked_at_ms, ?2) where id = ?1 returning id",
    ),
    insertPrices: prepare(
      "insert into price_versions (version, model, rules, created_at_ms) values (?, ?, ?, ?) on conflict do nothing",
    ),
    insertHold: prepare(
      `insert into holds
         (id, account_id, key_id, request_id, boot_id, amount, state, price_version, created_at_ms, expires_at_ms)
       values (?, ?, ?, ?, ?, ?, 'held', ?, ?, ?) on conflict (id) do nothing`,
    ),
    deleteHold: prepare("delete from holds where id = ? and state = 'held'"),
    readHold: prepare("select account_id, amount, state, settled, request_id from holds where id = ?"),
    settleHold: prepare(
      `update holds set state = 'settled', settled = ?2, usage = ?3, flags = ?4, end_reason = ?5, ended_at_ms = ?6
       where id = ?1 and state = 'held' returning account_id, amount, request_id`,
    ),
    flagHold: prepare("update holds set flags = ?2, settled = ?3 where id = ?1"),
    voidHold: prepare(
      `update holds set state = 'voided', end_reason = ?2, ended_at_ms = ?3
       where id = ?1 and state = 'held' returning account_id, amount`,
    ),
    touch: prepare("update store_health set pings = pings + 1"),
    orphans: prepare("select id from holds where state = 'held' and boot_id <> ?"),
  };
}

function createApply(sql: Statements): (command: Command) => AnswerTo<Command> {
  return (command) => {
    switch (command.kind) {
      case "create_account":
        return createAccount(sql, command);
      case "grant":
        return grant(sql, command);
      case "issue_key":
        return issueKey(sql, command);
      case "change_key":
        return changeKey(sql, command);
      case "revoke_key":
        return revokeKey(sql, command);
      case "hold":
        return hold(sql, command);
      case "settle":
        return settle(sql, command);
      case "void":
        return voidHold(sql, command);
      case "void_orphans":
        return voidOrphans(sql, command);
      case "ping":
        sql.touch.run();
        return { ok: true };
    }
  };
}

function createAccount(sql: Statements, command: CreateAccount): AnswerTo<CreateAccount> {
  sql.createAccount.run(command.account, command.name, command.nowMs);
  return { ok: true };
}

function grant(sql: Statements, command: Grant): AnswerTo<Grant> {
  const cause = `${command.cause}:grant`;
  const before = sql.readLedger.get(cause);
  if (before !== undefined) {
    const same = before.account_id === command.account && before.amount === command.amount;
    return same
      ? { ok: true, balance: before.balance_after as bigint }
      : { ok: false, reason: "other_grant" };
  }
  const account = sql.readAccount.get(command.account);
  if (account === undefined) return { ok: false, reason: "unknown_account" };
  const row = sql.adjustAccount.get(command.account, command.amount);
  if (row === undefined) return { ok: false, reason: command.amount < 0n ? "below_held" : "too_large" };
  const balance = row.balance as bigint;
  sql.insertLedger.run(
    cause,
    command.account,
    "funding",
    command.amount,
    balance,
    "grant",
    command.requestId,
    command.reason,
    command.nowMs,
  );
  return { ok: true, balance };
}

function issueKey(sql: Statements, command: IssueKey): AnswerTo<IssueKey> {
  if (sql.readAccount.get(command.account) === undefined) return { ok: false, reason: "unknown_account" };
  sql.insertKey.run(
    command.key,
    command.account,
    command.name,
    command.hash,
    command.hint,
    command.models === null ? null : JSON.stringify(command.models),
    command.expiresAtMs,
    command.nowMs,
  );
  return { ok: true };
}

function changeKey(sql: Statements, command: ChangeKey): AnswerTo<ChangeKey> {
  const models = command.models;
  const row = sql.changeKey.get(
    command.key,
    command.name ?? null,
    models === undefined ? 0 : 1,
    models === undefined || models === null ? null : JSON.stringify(models),
    command.expiresAtMs === undefined ? 0 : 1,
    command.expiresAtMs ?? null,
  );
  return row === undefined ? { ok: false, reason: "unknown_key" } : { ok: true };
}

function revokeKey(sql: Statements, command: RevokeKey): AnswerTo<RevokeKey> {
  const row = sql.revokeKey.get(command.key, command.nowMs);
  return row === undefined ? { ok: false, reason: "unknown_key" } : { ok: true };
}

function hold(sql: Statements, command: HoldCredit): AnswerTo<HoldCredit> {
  const { amount, outputTokens } =
    command.elastic === undefined ? { amount: command.amount } : stretch(sql, command);
  sql.insertPrices.run(command.priceVersion, command.model, command.priceRules, command.nowMs);
  const inserted = sql.insertHold.run(
    command.hold,
    command.account,
    command.key,
    command.requestId,
    command.boot,
    amount,
    command.priceVersion,
    command.nowMs,
    command.expiresAtMs,
  );
  if (inserted === 0) return repeatedHold(sql, command);
  if (sql.holdAccount.get(command.account, amount) === undefined) {
    sql.deleteHold.run(command.hold);
    const free = freeCredit(sql, command.account);
    return { ok: false, reason: "insufficient_credits", free };
  }
  return outputTokens === undefined ? { ok: true, amount } : { ok: true, amount, outputTokens };
}

/** The hold was made when the command came the first time; its room for output follows from its amount. */
function repeatedHold(sql: Statements, command: HoldCredit): AnswerTo<HoldCredit> {
  const amount = sql.readHold.get(command.hold)?.amount as bigint;
  if (command.elastic === undefined || command.elastic.tokenPrice === 0n) {
    return command.elastic === undefined
      ? { ok: true, amount }
      : { ok: true, amount, outputTokens: command.elastic.maxTokens };
  }
  return { ok: true, amount, outputTokens: Number((amount - command.amount) / command.elastic.tokenPrice) };
}

function freeCredit(sql: Statements, account: string): bigint {
  const row = sql.readAccount.get(account);
  return row === undefined ? 0n : (row.balance as bigint) - (row.held as bigint);
}

function stretch(sql: Statements, command: HoldCredit): { amount: bigint; outputTokens: number } {
  const { tokenPrice, maxTokens, floorTokens } = command.elastic as NonNullable<HoldCredit["elastic"]>;
  if (tokenPrice === 0n) return { amount: command.amount, outputTokens: maxTokens };
  const room = freeCredit(sql, command.account) / 2n - command.amount;
  const affordable = room <= 0n ? 0n : room / tokenPrice;
  const wanted = affordable < BigInt(floorTokens) ? BigInt(floorTokens) : affordable;
  const tokens = wanted > BigInt(maxTokens) ? BigInt(maxTokens) : wanted;
  return { amount: command.amount + tokens * tokenPrice, outputTokens: Number(tokens) };
}

function settle(sql: Statements, command: Settle): AnswerTo<Settle> {
  const flags = command.flags.length === 0 ? null : JSON.stringify(command.flags);
  const row = sql.settleHold.get(
    command.hold,
    command.used,
    command.usage,
    flags,
    command.reason,
    command.nowMs,
  );
  if (row === undefined) return endedSettle(sql, command);
  const account = row.account_id as string;
  const amount = row.amount as bigint;
  const charged = command.used <= amount ? command.used : chargeable(sql, account, amount, command.used);
  const balance = sql.releaseAccount.get(account, amount, charged)?.balance as bigint;
  const requestId = row.request_id as string;
  sql.insertLedger.run(
    `${command.hold}:settle`,
    account,
    "revenue",
    -charged,
    balance,
    "settle",
    requestId,
    command.reason,
    command.nowMs,
  );
  const lost = command.used - charged;
  if (command.used > amount) {
    sql.flagHold.run(command.hold, JSON.stringify([...command.flags, "above_hold"]), charged);
    if (lost > 0n) bookLoss(sql, command, requestId, lost);
  }
  return { ok: true, charged, lost };
}

/** More than was held: the hold, and what the free balance still covers. */
function chargeable(sql: Statements, account: string, amount: bigint, used: bigint): bigint {
  const most = amount + freeCredit(sql, account);
  return used < most ? used : most;
}

function bookLoss(sql: Statements, command: Settle, requestId: string, lost: bigint): void {
  sql.insertLedger.run(
    `${command.hold}:loss`,
    "operator",
    "operator_loss",
    -lost,
    0n,
    "loss",
    requestId,
    command.reason,
    command.nowMs,
  );
}

function endedSettle(sql: Statements, command: Settle): AnswerTo<Settle> {
  const row = sql.readHold.get(command.hold);
  if (row === undefined) return { ok: false, reason: "unknown_hold" };
  if (row.state === "voided") return { ok: false, reason: "voided" };
  const loss = sql.readLedger.get(`${command.hold}:loss`);
  return {
    ok: true,
    charged: row.settled as bigint,
    lost: loss === undefined ? 0n : -(loss.amount as bigint),
  };
}

function voidHold(sql: Statements, command: Void): AnswerTo<Void> {
  const row = sql.voidHold.get(command.hold, command.reason, command.nowMs);
  if (row !== undefined) {
    sql.releaseAccount.get(row.account_id as string, row.amount as bigint, 0n);
    return { ok: true };
  }
  const ended = sql.readHold.get(command.hold);
  if (ended === undefined) return { ok: false, reason: "unknown_hold" };
  return ended.state === "voided" ? { ok: true } : { ok: false, reason: "settled" };
}

function voidOrphans(sql: Statements, command: VoidOrphans): AnswerTo<VoidOrphans> {
  const orphans = sql.orphans.all(command.boot);
  for (const orphan of orphans) {
    voidHold(sql, { kind: "void", hold: orphan.id as string, reason: "process_died", nowMs: command.nowMs });
  }
  return { ok: true, voided: orphans.length };
}
