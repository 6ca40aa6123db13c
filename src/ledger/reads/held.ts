import type { MicroCredits } from "../../core/money/credits.ts";
import type { Database } from "../../db/schema.ts";
import type { Held } from "../open-holds.ts";

/**
 * What is held beyond what the tables say is held. `own` is this process's part. Other processes that hold from memory
 * each wrote theirs with their last settlement.
 */
export async function readHeld(database: Database, bootId: string, own: Held): Promise<Held> {
  const rows = await database
    .selectFrom("allotments")
    .select(["account_id", "key_id", "held"])
    .where("boot_id", "<>", bootId)
    .where("held", ">", 0n)
    .execute();
  const accounts = new Map(own.accounts);
  const keys = new Map(own.keys);
  for (const { account_id, key_id, held } of rows) {
    add(accounts, account_id, held);
    add(keys, key_id, held);
  }
  return { accounts, keys };
}

function add(sums: Map<string, MicroCredits>, id: string, amount: MicroCredits): void {
  sums.set(id, (sums.get(id) ?? 0n) + amount);
}
