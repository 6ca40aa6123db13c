import { ERRORS, GatewayError, quoted } from "../../core/errors.ts";
import { TASK_ERRORS } from "../../core/task.ts";
import type { Database } from "../../db/schema.ts";
import { wasProvider } from "../../ledger/usage/find-requests.ts";
import { ABANDONED } from "../../ledger/commands.ts";

/** How a paid request can have ended: well, left, abandoned, or by an error of a type. */
export const OUTCOMES: readonly string[] = [
  ...new Set(["completed", "cancelled", "client_gone", ...ABANDONED, ...Object.keys(ERRORS), ...TASK_ERRORS]),
];

/** Values of filters that name something; an absent one is not asked. */
export interface Named {
  readonly account_id?: string;
  readonly key_id?: string;
  readonly model?: string;
  readonly provider?: string;
  readonly outcome?: string;
}

/** What filters are checked against. */
export interface FilterParts {
  readonly database: Database;
  /** Whether there is a model of that id, served now or not. */
  isModel(id: string): boolean;
  /** The providers that there can be. */
  providers(): readonly string[];
}

/**
 * Throws a 400 that names the filter where nothing has the value: a mistyped one must not look like an empty list. What
 * only old rows have is known as well.
 */
export async function checkFilters(parts: FilterParts, filter: Named): Promise<void> {
  const { account_id, key_id, model, provider, outcome } = filter;
  const { database } = parts;
  if (outcome !== undefined && !OUTCOMES.includes(outcome)) throw unknown("outcome", outcome, OUTCOMES);
  if (account_id !== undefined && !(await isIn(database, "accounts", account_id)))
    throw unknown("account_id", account_id, "account");
  if (key_id !== undefined && !(await isIn(database, "keys", key_id))) throw unknown("key_id", key_id, "key");
  if (model !== undefined && !parts.isModel(model) && !(await wasModel(database, model)))
    throw unknown("model", model, "model");
  if (provider === undefined) return;
  const known = parts.providers();
  if (!known.includes(provider) && !(await wasProvider(database, provider)))
    throw unknown("provider", provider, [...known, "those of earlier requests"]);
}

/** The 400 for a value that nothing has: what there is, or what there is none of. */
export function unknown(name: string, value: string, among: readonly string[] | string): GatewayError {
  const why =
    typeof among === "string"
      ? `there is no ${among} of that id.`
      : `there is none of that name. There are ${among.slice(0, -1).join(", ")} and ${among.at(-1)}.`;
  return new GatewayError("invalid_request_error", `${name} is ${quoted(value)}, and ${why}`, {
    param: name,
  });
}

async function isIn(database: Database, table: "accounts" | "keys", id: string): Promise<boolean> {
  return (
    (await database.selectFrom(table).select("id").where("id", "=", id).executeTakeFirst()) !== undefined
  );
}

/** Every model that a hold was ever made for has prices. */
async function wasModel(database: Database, model: string): Promise<boolean> {
  const found = await database
    .selectFrom("price_versions")
    .select("model")
    .where("model", "=", model)
    .limit(1)
    .executeTakeFirst();
  return found !== undefined;
}
