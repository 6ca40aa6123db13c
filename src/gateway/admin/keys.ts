import type { Clock } from "../../core/time/clock.ts";
import { creditsNumber, MAX_CREDITS, type MicroCredits, parseCredits } from "../../core/money/credits.ts";
import { GatewayError, quoted } from "../../core/errors.ts";
import type { KeyLimits } from "../../core/rate-limits.ts";
import type { Database } from "../../db/schema.ts";
import type { Keys } from "../../keys/keys.ts";
import { roomIn } from "../../ledger/decide/holds.ts";
import type { Held } from "../../ledger/open-holds.ts";
import type { Writer } from "../../ledger/writer.ts";
import type { StoreReader } from "../store-read.ts";
import type { Named } from "./filters.ts";
import { type Page, type PageRequest, toPage } from "./page.ts";
import { closedAccount, notFound, toSeconds } from "./views.ts";

/** A key as the admin interface shows it: never the key itself. */
export interface KeyView {
  readonly id: string;
  readonly account_id: string;
  readonly name: string;
  readonly hint: string;
  readonly models: readonly string[] | null;
  /** The most that the key may ever spend; null for no budget. */
  readonly budget: number | null;
  /** Its limits per minute and at once; null for none. */
  readonly limits: {
    readonly requests_per_minute: number | null;
    readonly tokens_per_minute: number | null;
    readonly concurrency: number | null;
  };
  /** Whether its requests may ask for a route. */
  readonly routes: boolean;
  /** Its charges so far, and what is held for its requests under way. */
  readonly spent: number;
  readonly held: number;
  readonly expires_at: number | null;
  readonly revoked_at: number | null;
  readonly created_at: number;
}

/** The credit that a live key's next request may hold, and what bounds it: the account's balance or the key's budget. */
export interface AvailableCredit {
  readonly amount: number;
  readonly bound: "balance" | "budget";
}

/** A key with its credit, both of one moment. */
export interface KeyWithCredit extends KeyView {
  readonly available: AvailableCredit;
}

/** The members of a new key. */
export interface KeyRequest {
  readonly accountId: string;
  readonly name: string;
  readonly models: readonly string[] | null;
  readonly budget: number | null;
  readonly limits: KeyLimits;
  readonly routes: boolean;
  readonly expiresAtSec: number | null;
}

/** The operator's use cases for keys. */
export interface KeyAdmin {
  issueKey(request: KeyRequest): Promise<KeyView & { readonly key: string }>;
  /** Keys, oldest first: all of them, or those of one account; as JSON of a page. */
  keys(filter: Pick<Named, "account_id">, page: PageRequest): Promise<Uint8Array>;
  /** A key, and the credit that its next request may hold now. */
  key(id: string): Promise<KeyWithCredit>;
  changeKey(
    id: string,
    change: {
      readonly name?: string;
      readonly models?: readonly string[] | null;
      readonly budget?: number | null;
      /** Each limit by itself: an absent one stays. */
      readonly limits?: Partial<KeyLimits>;
      readonly routes?: boolean;
      readonly expiresAtSec?: number | null;
    },
  ): Promise<KeyView>;
  revokeKey(id: string): Promise<void>;
}

/** What these use cases are made of. */
export interface KeyAdminParts {
  readonly database: Database;
  /** Keys, as JSON of a page. */
  readonly lists: {
    keys(asked: {
      readonly account?: string;
      readonly page: PageRequest;
      readonly held: Held;
    }): Promise<Uint8Array>;
  };
  readonly writer: Writer;
  readonly read: StoreReader;
  /** What is held beyond what the tables say. */
  held(): Promise<Held>;
  readonly keys: Keys;
  /** Whether there is a model of that id, served now or not. */
  isModel(id: string): boolean;
  readonly clock: Clock;
}

/** Keys, oldest first: all of them, or those of one account. */
export async function listKeys(
  database: Database,
  account: string | undefined,
  { after, limit }: PageRequest,
  held: Held,
): Promise<Page<KeyView>> {
  const all = database
    .selectFrom("keys")
    .selectAll()
    .where("seq", ">", after ?? 0n)
    .orderBy("seq")
    .limit(limit + 1);
  const rows = await (account === undefined ? all : all.where("account_id", "=", account)).execute();
  return toPage(rows, limit, (row) => keyView(row, held));
}

/** Use cases for keys, over the store and the one writer. */
export function createKeyAdmin({
  database,
  lists,
  read,
  writer,
  held,
  keys,
  isModel,
  clock,
}: KeyAdminParts): KeyAdmin {
  const find = async (
    id: string,
  ): Promise<{ readonly view: KeyView; readonly available: AvailableCredit }> => {
    const query = database
      .selectFrom("keys")
      .innerJoin("accounts", "accounts.id", "keys.account_id")
      .selectAll("keys")
      .select(["accounts.balance", "accounts.held as account_held"])
      .where("keys.id", "=", id);
    const row = await read(() => query.executeTakeFirst());
    if (row === undefined) throw notFound("key", id);
    const beyond = await held();
    return { view: keyView(row, beyond), available: creditOf(row, beyond) };
  };

  const isAccount = async (id: string): Promise<boolean> => {
    const one = database.selectFrom("accounts").select("id").where("id", "=", id);
    return (await read(() => one.executeTakeFirst())) !== undefined;
  };

  return {
    async issueKey({ accountId, name, models, budget, limits, routes, expiresAtSec }) {
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
        routes,
        expiresAtMs: expiresAtSec === null ? null : expiresAtSec * 1000,
        nowMs: clock.nowMs(),
      });
      if (!answer.ok) throw (await isAccount(accountId)) ? closedAccount() : notFound("account", accountId);
      return { ...(await find(issued.keyId)).view, key: issued.text };
    },

    async key(id) {
      const { view, available } = await find(id);
      return { ...view, available };
    },

    keys: ({ account_id: account }, page) =>
      read(async () =>
        lists.keys({ page, held: await held(), ...(account === undefined ? {} : { account }) }),
      ),

    async changeKey(id, { name, models, budget, limits, routes, expiresAtSec }) {
      checkModels(models ?? [], isModel);
      const changed = writer.submit({
        kind: "change_key",
        key: id,
        ...(name === undefined ? {} : { name }),
        ...(models === undefined ? {} : { models }),
        ...(budget === undefined ? {} : { budget: readBudget(budget) }),
        ...(limits === undefined ? {} : { limits }),
        ...(routes === undefined ? {} : { routes }),
        ...(expiresAtSec === undefined
          ? {}
          : { expiresAtMs: expiresAtSec === null ? null : expiresAtSec * 1000 }),
      });
      // It may be changed although another process did not answer.
      const answer = await changed.finally(() => keys.forget());
      if (!answer.ok) throw notFound("key", id);
      return (await find(id)).view;
    },

    async revokeKey(id) {
      const revoked = writer.submit({ kind: "revoke_key", key: id, nowMs: clock.nowMs() });
      const answer = await revoked.finally(() => keys.forget());
      if (!answer.ok) throw notFound("key", id);
    },
  };
}

/** The credit that the next request of a key may hold, with what is held beyond the tables. */
function creditOf(
  row: KeyRow & { readonly balance: MicroCredits; readonly account_held: MicroCredits },
  beyond: Held,
): AvailableCredit {
  const { free, room } = roomIn(
    { balance: row.balance, held: row.account_held + (beyond.accounts.get(row.account_id) ?? 0n) },
    { budget: row.budget, spent: row.spent, held: row.held + (beyond.keys.get(row.id) ?? 0n) },
  );
  const least = room < free ? room : free;
  // A budget may be set below what is spent already.
  return { amount: creditsNumber(least < 0n ? 0n : least), bound: room < free ? "budget" : "balance" };
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
  readonly routes: bigint;
  readonly expires_at_ms: bigint | null;
  readonly revoked_at_ms: bigint | null;
  readonly created_at_ms: bigint;
}

function keyView(row: KeyRow, { keys }: Held): KeyView {
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
    routes: row.routes === 1n,
    spent: creditsNumber(row.spent),
    held: creditsNumber(row.held + (keys.get(row.id) ?? 0n)),
    expires_at: row.expires_at_ms === null ? null : toSeconds(row.expires_at_ms),
    revoked_at: row.revoked_at_ms === null ? null : toSeconds(row.revoked_at_ms),
    created_at: toSeconds(row.created_at_ms),
  };
}

function wholeOrNull(value: bigint | null): number | null {
  return value === null ? null : Number(value);
}

/** A key for a model that does not exist would work for nothing, and only its user would find out. */
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
    `budget must be a number of credits from 0 to ${MAX_CREDITS}, no finer than 0.000001, or null for no bound.`,
    { param: "budget" },
  );
}
