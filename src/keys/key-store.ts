import type { KeyLimits } from "../core/rate-limits.ts";
import type { Database } from "../db/schema.ts";
import type { KeyName, StoredKey } from "./keys.ts";

/** The key of this name, as it is stored now. */
export async function findKey(database: Database, name: KeyName): Promise<StoredKey | undefined> {
  const [column, value] =
    "hash" in name ? (["keys.hash", name.hash] as const) : (["keys.id", name.id] as const);
  const row = await database
    .selectFrom("keys")
    .innerJoin("accounts", "accounts.id", "keys.account_id")
    .select([
      "keys.id",
      "keys.account_id",
      "keys.models",
      "keys.expires_at_ms",
      "keys.revoked_at_ms",
      "keys.requests_per_minute",
      "keys.tokens_per_minute",
      "keys.concurrency",
      "keys.routes",
      "accounts.status",
    ])
    .where(column, "=", value)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const limits = limitsOf(row);
  return {
    keyId: row.id,
    accountId: row.account_id,
    models: row.models === null ? null : (JSON.parse(row.models) as string[]),
    ...(limits === undefined ? {} : { limits }),
    ...(row.routes === 1n ? { routes: true } : {}),
    expiresAtMs: row.expires_at_ms === null ? null : Number(row.expires_at_ms),
    revoked: row.revoked_at_ms !== null,
    accountActive: row.status === "active",
  };
}

/** The limits of a key; `undefined` when it has none, so that nothing is counted for it. */
function limitsOf(row: {
  readonly requests_per_minute: bigint | null;
  readonly tokens_per_minute: bigint | null;
  readonly concurrency: bigint | null;
}): KeyLimits | undefined {
  const { requests_per_minute, tokens_per_minute, concurrency } = row;
  if (requests_per_minute === null && tokens_per_minute === null && concurrency === null) return undefined;
  const whole = (value: bigint | null): number | null => (value === null ? null : Number(value));
  return {
    requestsPerMinute: whole(requests_per_minute),
    tokensPerMinute: whole(tokens_per_minute),
    concurrency: whole(concurrency),
  };
}
