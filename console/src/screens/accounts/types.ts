import { type Answer, change, type Entry } from "../../api/client.ts";

/** An account. */
export type Account = Entry<"/admin/v1/accounts"> & {
  readonly status: "active" | "closed";
  readonly created_at: number;
};

/** A key, without its text. */
export type Key = Entry<"/admin/v1/keys">;

/** A key as its page shows it, with what it uses of its limits. */
export type KeyDetail = Answer<"/admin/v1/keys/{id}">;

/** A movement of an account's credit. */
export type LedgerEntry = Entry<"/admin/v1/accounts/{id}/ledger">;

/** Closes an account for ever. */
export function closeAccount(id: string): Promise<Account> {
  return change("post", "/admin/v1/accounts/{id}/close" as never, { path: { id } });
}

/** Changes an account's name. */
export function renameAccount(id: string, name: string): Promise<Account> {
  return change("patch", "/admin/v1/accounts/{id}" as never, { path: { id }, body: { name } } as never);
}
