import type { Selectable } from "kysely";
import type { Clock } from "../../core/time/clock.ts";
import { creditsNumber, MAX_CREDITS, parseCredits } from "../../core/money/credits.ts";
import { GatewayError } from "../../core/errors.ts";
import { newId } from "../../core/ids.ts";
import type { Random } from "../../core/random.ts";
import type { AccountsTable, Database } from "../../db/schema.ts";
import type { Held } from "../../ledger/open-holds.ts";
import type { Writer } from "../../ledger/writer.ts";
import type { StoreReader } from "../store-read.ts";
import type { EntriesRequest } from "./entries.ts";
import { type Page, type PageRequest, toPage } from "./page.ts";
import { closedAccount, notFound } from "./views.ts";

/** Whether an account can be used. A closed one is never opened again. */
export const ACCOUNT_STATUSES = ["active", "closed"] as const;
export type AccountStatus = (typeof ACCOUNT_STATUSES)[number];

/** An account as the admin interface shows it; money in credits. */
export interface AccountView {
  readonly id: string;
  readonly name: string;
  readonly status: AccountStatus;
  readonly balance: number;
  readonly held: number;
  readonly created_at: number;
}

/** The operator's use cases for accounts and their credit. */
export interface AccountAdmin {
  createAccount(name: string): Promise<AccountView>;
  /** All of them, oldest first, as JSON of a page. */
  accounts(page: PageRequest): Promise<Uint8Array>;
  /** The id of the one that was there first. */
  oldestAccount(): Promise<string | undefined>;
  account(id: string): Promise<AccountView>;
  renameAccount(id: string, name: string): Promise<AccountView>;
  /** Gives or takes credit; the same idempotency key does it once. */
  grant(grant: {
    readonly accountId: string;
    readonly amount: number;
    readonly reason: string;
    readonly idempotencyKey?: string;
    readonly requestId: string;
  }): Promise<{ readonly balance: number }>;
  /** Movements of an account's credit, or those alone that one of its keys made; as JSON of a page. */
  ledger(request: EntriesRequest): Promise<Uint8Array>;
}

/** What these use cases are made of. */
export interface AccountParts {
  readonly database: Database;
  /** Lists, as JSON of a page. */
  readonly lists: {
    accounts(asked: { readonly page: PageRequest; readonly held: Held }): Promise<Uint8Array>;
    entries(asked: EntriesRequest): Promise<Uint8Array>;
  };
  readonly writer: Writer;
  readonly read: StoreReader;
  /** What is held beyond what the tables say. */
  held(): Promise<Held>;
  readonly clock: Clock;
  readonly random: Random;
}

/** Accounts, oldest first. */
export async function listAccounts(
  database: Database,
  { after, limit }: PageRequest,
  held: Held,
): Promise<Page<AccountView>> {
  const rows = await database
    .selectFrom("accounts")
    .select(["seq", ...COLUMNS])
    .where("seq", ">", after ?? 0n)
    .orderBy("seq")
    .limit(limit + 1)
    .execute();
  return toPage(rows, limit, (row) => accountView(row, held));
}

/** Use cases for accounts, over the store and the one writer. */
export function createAccountAdmin({
  database,
  lists,
  read,
  writer,
  held,
  clock,
  random,
}: AccountParts): AccountAdmin {
  const account = async (id: string): Promise<AccountView> => {
    const row = await read(() =>
      database.selectFrom("accounts").select(COLUMNS).where("id", "=", id).executeTakeFirst(),
    );
    if (row === undefined) throw notFound("account", id);
    return accountView(row, await held());
  };

  return {
    account,

    async createAccount(name) {
      const id = newId("acct", random);
      await writer.submit({ kind: "create_account", account: id, name, nowMs: clock.nowMs() });
      return account(id);
    },

    async renameAccount(id, name) {
      await writer.submit({ kind: "rename_account", account: id, name });
      return account(id);
    },

    accounts: (page) => read(async () => lists.accounts({ page, held: await held() })),

    async oldestAccount() {
      const row = await read(() =>
        database.selectFrom("accounts").select("id").orderBy("seq").limit(1).executeTakeFirst(),
      );
      return row?.id;
    },

    async grant({ accountId, amount, reason, idempotencyKey, requestId }) {
      const micro = parseCredits(amount);
      if (micro === undefined || micro === 0n)
        throw new GatewayError(
          "invalid_request_error",
          `amount must be a number of credits other than 0, no finer than 0.000001 and no larger than ${MAX_CREDITS}.`,
          { param: "amount" },
        );
      const answer = await writer.submit({
        kind: "grant",
        // A grant's key belongs to its account: two accounts may use the same one.
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

    async ledger(request) {
      await account(request.account);
      return read(() => lists.entries(request));
    },
  };
}

const COLUMNS = ["id", "name", "status", "balance", "held", "created_at_ms"] as const;

function accountView(
  row: Pick<Selectable<AccountsTable>, (typeof COLUMNS)[number]>,
  { accounts }: Held,
): AccountView {
  const { id, name, status, balance, held } = row;
  return {
    id,
    name,
    status: status === "active" ? "active" : "closed",
    balance: creditsNumber(balance),
    held: creditsNumber(held + (accounts.get(id) ?? 0n)),
    created_at: Number(row.created_at_ms) / 1000,
  };
}

function grantRefusal(
  reason: "unknown_account" | "closed" | "below_held" | "too_large" | "other_grant",
  accountId: string,
): GatewayError {
  switch (reason) {
    case "unknown_account":
      return notFound("account", accountId);
    case "closed":
      return closedAccount();
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
