import type { Entry } from "../../api/client.ts";
import { CREDITS_PER_USD } from "../../format/money.ts";

type PriceList = Entry<"/admin/v1/prices">["prices"];

/** A condition of a rule. */
export type Condition = PriceList[number]["conditions"][number];

/** A rule of a price list. */
export interface PriceRow {
  readonly what: string;
  /** All have to hold. */
  readonly conditions: readonly Condition[];
  readonly usd: number;
  /** How many of `what` the price is for. */
  readonly per: number;
  /** Whether it is of the request's input. */
  readonly isInput: boolean;
}

const MILLION = 1_000_000;
/** What counts as input where the amount of it decides. */
const INPUT = /input|cache/;

/** The rules of a price list. */
export function rowsOf(prices: PriceList): readonly PriceRow[] {
  return prices.map(({ bucket, what, conditions, price, unit }) => ({
    what,
    conditions,
    usd: price,
    per: unit === "million_tokens" ? MILLION : 1,
    isInput: INPUT.test(bucket),
  }));
}

/** When a rule counts, in words. */
export function whenOf(rows: readonly PriceRow[], { what, conditions }: PriceRow): string {
  if (conditions.length > 0) return conditions.map(({ words }) => words).join(", ");
  return rows.filter((row) => row.what === what).length > 1 ? "otherwise" : "always";
}

/** What is charged for, in the order of the list. */
export function chargedFor(rows: readonly PriceRow[]): readonly PriceRow[] {
  return rows.filter(({ what }, at) => rows.findIndex((row) => row.what === what) === at);
}

/** The price that counts where no condition holds. */
export function plainPrice(rows: readonly PriceRow[], what: string): PriceRow | undefined {
  return rows.findLast((row) => row.what === what);
}

/** Whether what is charged depends on the request or on when it comes. */
export function isConditional(rows: readonly PriceRow[]): boolean {
  return rows.some(({ conditions }) => conditions.length > 0);
}

/** By what a model is ranked by price: its input, or else the first thing that it is charged for. */
export function leadingPrice(rows: readonly PriceRow[]): PriceRow | undefined {
  return plainPrice(rows, "Input") ?? (rows[0] && plainPrice(rows, rows[0].what));
}

/** The conditions of a list that the reader decides, each once: all but those that the amount of input decides. */
export function conditionsOf(rows: readonly PriceRow[]): readonly Condition[] {
  const all = rows.flatMap(({ conditions }) => conditions).filter((one) => one.input_over === undefined);
  return all.filter(({ words }, at) => all.findIndex((other) => other.words === words) === at);
}

/** Whether a condition about the time holds at `nowMs`; no other one does. */
export function holdsAt({ from, utc_hours: hours }: Condition, nowMs: number): boolean {
  if (from !== undefined) return nowMs >= from * 1_000;
  const hour = new Date(nowMs).getUTCHours();
  return (hours ?? []).some(([first = 0, end = 0]) =>
    first <= end ? hour >= first && hour < end : hour >= first || hour < end,
  );
}

/** A part of a charge. */
export interface ChargeLine {
  readonly row: PriceRow;
  readonly quantity: number;
  readonly credits: number;
}

/** What `quantities` come to: for each thing by the first rule whose conditions all hold. */
export function chargeOf(
  rows: readonly PriceRow[],
  quantities: ReadonlyMap<string, number>,
  holds: (condition: Condition) => boolean,
): readonly ChargeLine[] {
  const inputs = new Set(rows.filter(({ isInput }) => isInput).map(({ what }) => what));
  const input = [...quantities]
    .filter(([what]) => inputs.has(what))
    .reduce((sum, [, quantity]) => sum + quantity, 0);
  const isMet = (condition: Condition): boolean =>
    condition.input_over === undefined ? holds(condition) : input > condition.input_over;
  return [...quantities].flatMap(([what, quantity]) => {
    const row = rows.find((rule) => rule.what === what && rule.conditions.every(isMet));
    if (row === undefined) return [];
    return [{ row, quantity, credits: (quantity * row.usd * CREDITS_PER_USD) / row.per }];
  });
}
