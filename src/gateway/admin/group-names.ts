import type { Database } from "../../db/schema.ts";
import type { UsageGroup, UsageQuery } from "../../ledger/usage/read-usage.ts";
import type { GroupNames } from "./usage-text.ts";

/** Ids of one statement. */
const CHUNK = 1_000;

/** The names of the accounts or keys that usage is grouped by; `undefined` for every other grouping. */
export async function readGroupNames(
  database: Database,
  { groupBy }: Pick<UsageQuery, "groupBy">,
  groups: readonly Pick<UsageGroup, "group">[],
): Promise<GroupNames | undefined> {
  if (groupBy !== "account" && groupBy !== "key") return undefined;
  const table = groupBy === "account" ? "accounts" : "keys";
  const ids = [...new Set(groups.flatMap(({ group }) => group ?? []))];
  const names = new Map<string, string>();
  for (let at = 0; at < ids.length; at += CHUNK) {
    const rows = await database
      .selectFrom(table)
      .select(["id", "name"])
      .where("id", "in", ids.slice(at, at + CHUNK))
      .execute();
    for (const { id, name } of rows) names.set(id, name);
  }
  return names;
}
