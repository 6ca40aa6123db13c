import type { Database } from "../../db/schema.ts";
import { readStore } from "../store-read.ts";

/** Whose session it is. */
export interface SessionOwner {
  readonly account: { readonly id: string; readonly name: string };
  readonly key: { readonly id: string; readonly name: string; readonly hint: string };
}

/** Reads whose key it is; it exists. */
export async function readOwner(database: Database, keyId: string): Promise<SessionOwner> {
  const query = database
    .selectFrom("keys")
    .innerJoin("accounts", "accounts.id", "keys.account_id")
    .select(["keys.name", "keys.hint", "accounts.id as account_id", "accounts.name as account_name"])
    .where("keys.id", "=", keyId);
  const { name, hint, account_id, account_name } = await readStore(query.executeTakeFirstOrThrow());
  return { account: { id: account_id, name: account_name }, key: { id: keyId, name, hint } };
}
