import type { MicroCredits } from "../../core/money/credits.ts";
import type { Database } from "../../db/schema.ts";
import type { Held } from "../open-holds.ts";

/** What a key may still spend: the free credit of its account, and the rest of its budget, where it has one. */
export interface Spendable {
  readonly free: MicroCredits;
  readonly budget: MicroCredits | null;
}

/** Reads what a key may spend now, where memory holds `held` beside the tables; `undefined` for an unknown key. */
export async function readSpendable(
  database: Database,
  keyId: string,
  { accounts, keys }: Held,
): Promise<Spendable | undefined> {
  const row = await database
    .selectFrom("keys")
    .innerJoin("accounts", "accounts.id", "keys.account_id")
    .select([
      "accounts.id",
      "accounts.balance",
      "accounts.held",
      "keys.budget",
      "keys.spent",
      "keys.held as key_held",
    ])
    .where("keys.id", "=", keyId)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const held = row.held + (accounts.get(row.id) ?? 0n);
  const heldOfKey = row.key_held + (keys.get(keyId) ?? 0n);
  return {
    free: row.balance - held,
    budget: row.budget === null ? null : row.budget - row.spent - heldOfKey,
  };
}
