import { creditsNumber, type MicroCredits, parseCredits } from "../../core/credits.ts";
import type { Clock } from "../../core/clock.ts";
import { GatewayError, quoted } from "../../core/errors.ts";
import { newId } from "../../core/ids.ts";
import type { KeyLimits } from "../../core/rate-limits.ts";
import type { Random } from "../../core/random.ts";
import type { Database } from "../../db/schema.ts";
import type { Keys } from "../../keys/keys.ts";
import type { Audit, AuditReport } from "../../ledger/audit/audit.ts";
import type { Writer } from "../../ledger/writer.ts";
import { listRequests, type RequestFilter, type RequestView } from "./requests.ts";
import { listTasks, type TaskFilter, type TaskView } from "./tasks.ts";
import { type Page, type PageRequest, readCursor, toPage } from "./page.ts";
import { readStore } from "../store-read.ts";

/** An account as the admin interface shows it; money in credits. */
export interface AccountView {
  readonly id: string;
  readonly name: string;
  readonly balance: number;
  readonly held: number;
}

/** A key as it can be shown: never the key itself. */
export interface KeyView {
  readonly id: string;
  readonly account_id: string;
  readonly name: string;
  readonly hint: string;
  readonly models: readonly string[] | null;
  /** The most the key may ever spend; null for no bound. */
  readonly budget: number | null;
  /** What it may use in a minute and at once; null for no limit of its own. */
  readonly limits: {
    readonly requests_per_minute: number | null;
    readonly tokens_per_minute: number | null;
    readonly concurrency: number | null;
  };
  /** What it has been charged so far, and what is set aside for its requests under way. */
  readonly spent: number;
  readonly held: number;
  readonly expires_at: number | null;
  readonly revoked_at: number | null;
  readonly created_at: number;
}

/** A movement of credit. */
export interface EntryView {
  readonly id: string;
  readonly kind: string;
  readonly amount: number;
  readonly balance_after: number;
  readonly request_id: string | null;
  readonly reason: string | null;
  readonly created_at: number;
}

/** What is asked of a key. */
export interface KeyRequest {
  readonly accountId: string;
  readonly name: string;
  readonly models: readonly string[] | null;
  readonly budget: number | null;
  readonly limits: KeyLimits;
  readonly expiresAtSec: number | null;
}

/** The operator's use cases: accounts, credit, keys. */
export interface Admin {
  createAccount(name: string): Promise<AccountView>;
  accounts(page: PageRequest): Promise<Page<AccountView>>;
  account(id: string): Promise<AccountView>;
  /** Gives or takes credit; the same idempotency key does it once. */
  grant(grant: {
    readonly accountId: string;
    readonly amount: number;
    readonly reason: string;
    readonly idempotencyKey?: string;
    readonly requestId: string;
  }): Promise<{ readonly balance: number }>;
  ledger(accountId: string, page: PageRequest): Promise<Page<EntryView>>;
  issueKey(request: KeyRequest): Promise<KeyView & { readonly key: string }>;
  keys(page: PageRequest): Promise<Page<KeyView>>;
  changeKey(
    id: string,
    change: {
      readonly name?: string;
      readonly models?: readonly string[] | null;
      readonly budget?: number | null;
      /** Each by itself: one that is absent stays. */
      readonly limits?: Partial<KeyLimits>;
      readonly expiresAtSec?: number | null;
    },
  ): Promise<KeyView>;
  revokeKey(id: string): Promise<void>;
  /** Paid requests that have ended, the newest first. */
  requests(filter: RequestFilter, page: PageRequest): Promise<Page<RequestView>>;
  /** Tasks, the newest first. */
  tasks(filter: TaskFilter, page: PageRequest): Promise<Page<TaskView>>;
  /** Whether the books are right: what is new since the last audit, or everything when `full`. */
  audit(full: boolean): Promise<AuditReport>;
}

/** What the admin use cases are made of. */
export interface AdminParts {
  readonly database: Database;
  readonly writer: Writer;
  readonly keys: Keys;
  readonly audit: Audit;
  /** Whether there is a model of that id, served now or not. */
  isModel(id: string): boolean;
  readonly clock: Clock;
  readonly random: Random;
}

/** Admin use cases over the store and the one writer. */
export function createAdmin(parts: AdminParts): Admin {
  const { database, writer, keys, audit, isModel, clock, random } = parts;
  const account = async (id: string): Promise<AccountView> => {
    const row = await readStore(
      database
        .selectFrom("accounts")
        .select(["id", "name", "balance", "held"])
        .where("id", "=", id)
        .executeTakeFirst(),
    );
    if (row === undefined) throw notFound("account", id);
    return accountView(row);
  };
  const key = async (id: string): Promise<KeyView> => {
    const row = await readStore(
      database.selectFrom("keys").selectAll().where("id", "=", id).executeTakeFirst(),
    );
    if (row === undefined) throw notFound("key", id);
    return keyView(row);
  };

  return {
    account,
    audit: (full) => readStore(audit.run(full)),
    requests: (filter, page) => readStore(listRequests(database, filter, page)),
    tasks: (filter, page) => readStore(listTasks(database, filter, page)),

    async createAccount(name) {
      const id = newId("acct", random);
      await writer.submit({ kind: "create_account", account: id, name, nowMs: clock.nowMs() });
      return account(id);
    },

    async accounts({ after, limit }) {
      const rows = await readStore(
        database
          .selectFrom("accounts")
          .select(["seq", "id", "name", "balance", "held"])
          .where("seq", ">", readCursor(after) ?? 0n)
          .orderBy("seq")
          .limit(limit + 1)
          .execute(),
      );
      return toPage(rows, limit, accountView);
    },

    async grant({ accountId, amount, reason, idempotencyKey, requestId }) {
      const micro = parseCredits(amount);
      if (micro === undefined || micro === 0n) {
        throw new GatewayError(
          "invalid_request_error",
          "amount must be a number of credits other than 0, no finer than 0.000001.",
          {
            param: "amount",
          },
        );
      }
      const answer = await writer.submit({
        kind: "grant",
        // A caller's key is its account's own: two accounts may use the same one.
        cause: idempotencyKey === undefined ? newId("grant", random) : `grant:${accountId}:${idempotencyKey}`,
        account: accountId,
        amount: micro,
        reason,
        requestId,
        nowMs: clock.nowMs(),
      });
      if (answer.ok) return { balance: creditsNumber(answer.balance) };
      throw grantRefusal(answer.reason, accountId);
    },

    async ledger(accountId, { after, limit }) {
      await account(accountId);
      const rows = await readStore(
        database
          .selectFrom("ledger")
          .selectAll()
          .where("account_id", "=", accountId)
          .where("seq", ">", readCursor(after) ?? 0n)
          .orderBy("seq")
          .limit(limit + 1)
          .execute(),
      );
      return toPage(rows, limit, (row) => ({
        id: row.cause,
        kind: row.kind,
        amount: creditsNumber(row.amount),
        balance_after: creditsNumber(row.balance_after),
        request_id: row.request_id,
        reason: row.reason,
        created_at: toSeconds(row.created_at_ms),
      }));
    },

    async issueKey({ accountId, name, models, budget, limits, expiresAtSec }) {
      checkModels(models ?? [], isModel);
      const issued = keys.issue();
      const answer = await writer.submit({
        kind: "issue_key",
        key: issued.keyId,
        account: accountId,
        name,
        hash: issued.hash,
        hint: issued.hint,
        models,
        budget: readBudget(budget),
        limits,
        expiresAtMs: expiresAtSec === null ? null : expiresAtSec * 1000,
        nowMs: clock.nowMs(),
      });
      if (!answer.ok) throw notFound("account", accountId);
      return { ...(await key(issued.keyId)), key: issued.text };
    },

    async keys({ after, limit }) {
      const rows = await readStore(
        database
          .selectFrom("keys")
          .selectAll()
          .where("seq", ">", readCursor(after) ?? 0n)
          .orderBy("seq")
          .limit(limit + 1)
          .execute(),
      );
      return toPage(rows, limit, keyView);
    },

    async changeKey(id, { name, models, budget, limits, expiresAtSec }) {
      checkModels(models ?? [], isModel);
      const answer = await writer.submit({
        kind: "change_key",
        key: id,
        ...(name === undefined ? {} : { name }),
        ...(models === undefined ? {} : { models }),
        ...(budget === undefined ? {} : { budget: readBudget(budget) }),
        ...(limits === undefined ? {} : { limits }),
        ...(expiresAtSec === undefined
          ? {}
          : { expiresAtMs: expiresAtSec === null ? null : expiresAtSec * 1000 }),
      });
      if (!answer.ok) throw notFound("key", id);
      keys.forget();
      return key(id);
    },

    async revokeKey(id) {
      const answer = await writer.submit({ kind: "revoke_key", key: id, nowMs: clock.nowMs() });
      if (!answer.ok) throw notFound("key", id);
      keys.forget();
    },
  };
}

function accountView(row: {
  id: string;
  name: string;
  balance: MicroCredits;
  held: MicroCredits;
}): AccountView {
  return { id: row.id, name: row.name, balance: creditsNumber(row.balance), held: creditsNumber(row.held) };
}

interface KeyRow {
  readonly id: string;
  readonly account_id: string;
  readonly name: string;
  readonly hint: string;
  readonly models: string | null;
  readonly budget: MicroCredits | null;
  readonly spent: MicroCredits;
  readonly held: MicroCredits;
  readonly requests_per_minute: bigint | null;
  readonly tokens_per_minute: bigint | null;
  readonly concurrency: bigint | null;
  readonly expires_at_ms: bigint | null;
  readonly revoked_at_ms: bigint | null;
  readonly created_at_ms: bigint;
}

function keyView(row: KeyRow): KeyView {
  return {
    id: row.id,
    account_id: row.account_id,
    name: row.name,
    hint: row.hint,
    models: row.models === null ? null : (JSON.parse(row.models) as string[]),
    budget: row.budget === null ? null : creditsNumber(row.budget),
    limits: {
      requests_per_minute: wholeOrNull(row.requests_per_minute),
      tokens_per_minute: wholeOrNull(row.tokens_per_minute),
      concurrency: wholeOrNull(row.concurrency),
    },
    spent: creditsNumber(row.spent),
    held: creditsNumber(row.held),
    expires_at: row.expires_at_ms === null ? null : toSeconds(row.expires_at_ms),
    revoked_at: row.revoked_at_ms === null ? null : toSeconds(row.revoked_at_ms),
    created_at: toSeconds(row.created_at_ms),
  };
}

function wholeOrNull(value: bigint | null): number | null {
  return value === null ? null : Number(value);
}

/** A key for a model that nobody has would be one that works for nothing, and says so to nobody but its user. */
function checkModels(models: readonly string[], isModel: (id: string) => boolean): void {
  const at = models.findIndex((id) => !isModel(id));
  if (at === -1) return;
  const path = `models[${at}]`;
  const named = quoted(models[at] ?? "");
  throw new GatewayError("invalid_request_error", `${path} is ${named}, and there is no such model.`, {
    param: path,
  });
}

function readBudget(budget: number | null): MicroCredits | null {
  if (budget === null) return null;
  const micro = parseCredits(budget);
  if (micro !== undefined && micro >= 0n) return micro;
  throw new GatewayError(
    "invalid_request_error",
    "budget must be a number of credits from 0, no finer than 0.000001, or null for no bound.",
    { param: "budget" },
  );
}

function toSeconds(ms: bigint): number {
  return Math.floor(Number(ms) / 1000);
}

function notFound(what: string, id: string): GatewayError {
  return new GatewayError("not_found_error", `There is no ${what} ${quoted(id)}.`);
}

function grantRefusal(
  reason: "unknown_account" | "below_held" | "too_large" | "other_grant",
  accountId: string,
): GatewayError {
  switch (reason) {
    case "unknown_account":
      return notFound("account", accountId);
    case "below_held":
      return new GatewayError(
        "conflict_error",
        "That much cannot be taken back: it is spent, or held for requests under way.",
      );
    case "too_large":
      return new GatewayError("invalid_request_error", "The balance would become too large.", {
        param: "amount",
      });
    case "other_grant":
      return new GatewayError("invalid_request_error", "This idempotency_key was used for another grant.", {
        param: "idempotency_key",
      });
  }
}
