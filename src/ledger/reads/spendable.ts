import type { MicroCredits } from "../../core/money/credits.ts";
import type { Database } from "../../db/schema.ts";

/** What a key may still spend: the free credit of its account, and the rest of its budget, where it has one. */
export interface Spendable {
  readonly free: MicroCredits;
  readonly budget: MicroCredits | null;
}

/** Reads what a key may spend now; `undefined` for an unknown key. */
export async function readSpendable(database: Database, keyId: string): Promise<Spendable | undefined> {
  const row = await database
    .selectFrom("keys")
    .innerJoin("accounts", "accounts.id", "keys.account_id")
    .select(["accounts.balance", "accounts.held", "keys.budget", "keys.spent", "keys.held as key_held"])
    .where("keys.id", "=", keyId)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { balance, held, budget, spent, key_held: keyHeld } = row;
  return { free: balance - held, budget: budget === null ? null : budget - spent - keyHeld };
}
