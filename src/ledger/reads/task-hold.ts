import type { RouteOrder } from "../../core/model.ts";
import type { Hold } from "../../core/money/hold.ts";
import {
  PRICE_BUCKETS,
  type PriceBucket,
  type PriceCondition,
  type PriceRule,
  type Prices,
  type PriceSnapshot,
} from "../../core/money/price.ts";
import type { Database } from "../../db/schema.ts";

/**
 * The open hold of a task as it was made, with the prices of that time. It is what a run of the task may spend, in any
 * process. `undefined` where the task has ended or never was.
 */
export async function readTaskHold(database: Database, taskId: string): Promise<Hold | undefined> {
  const row = await database
    .selectFrom("tasks")
    .innerJoin("holds", "holds.id", "tasks.hold_id")
    .innerJoin("price_versions", "price_versions.version", "holds.price_version")
    .select([
      "holds.id",
      "holds.account_id",
      "holds.key_id",
      "holds.amount",
      "holds.price_version",
      "price_versions.rules",
      "tasks.terms",
    ])
    .where("tasks.id", "=", taskId)
    .where("holds.state", "=", "held")
    .whereRef("holds.task_id", "=", "tasks.id")
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { pricedAtMs, facts } = readTaskTerms(row.terms);
  return {
    id: row.id,
    accountId: row.account_id,
    keyId: row.key_id,
    amount: row.amount,
    snapshot: {
      version: row.price_version,
      prices: readRules(row.rules),
      pricedAtMs,
      ...(facts === undefined ? {} : { facts }),
    },
  } as Hold;
}

/** The content of `tasks.terms`: what a task is priced by beside the version of its prices, and how it is routed. */
export interface TaskTerms extends Pick<PriceSnapshot, "pricedAtMs" | "facts"> {
  /** The order of routes that the client asked for, in place of the model's own. */
  readonly by?: RouteOrder | undefined;
}

/** Reads the column. */
export function readTaskTerms(text: string): TaskTerms {
  return JSON.parse(text) as TaskTerms;
}

/** Rules as they are written: prices are decimal text, since a JSON number has too few digits for them. */
type WrittenRules = Partial<
  Record<PriceBucket, readonly { readonly when: PriceCondition; readonly price: string }[]>
>;

/** The rules of a version of prices, as the store has them. */
export function readRules(text: string): Prices {
  const written = JSON.parse(text) as WrittenRules;
  const prices: Partial<Record<PriceBucket, readonly PriceRule[]>> = {};
  for (const bucket of PRICE_BUCKETS) {
    const rules = written[bucket];
    if (rules !== undefined)
      prices[bucket] = rules.map(({ when, price }) => ({ when, price: BigInt(price) }));
  }
  return prices;
}
