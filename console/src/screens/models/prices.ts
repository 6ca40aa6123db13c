import { CREDITS_PER_USD } from "../../format/money.ts";
import { sectionsOf } from "./page-text.ts";

/** A rule of a price list. */
export interface PriceRow {
  readonly what: string;
  /** When it counts, in words. */
  readonly when: string;
  readonly usd: number;
  /** How many of `what` the price is for. */
  readonly per: number;
}

const MILLION = 1_000_000;
const INPUT = /input/i;

/** The price list of a model's `llms.txt`. */
export function pricesOf(markdown: string): readonly PriceRow[] {
  const blocks = sectionsOf(markdown).find(({ title }) => title === "Prices")?.blocks ?? [];
  const table = blocks.find((block) => block.kind === "table");
  return (table?.rows ?? []).map(([what = "", when = "", usd = "", , unit = ""]) => ({
    what,
    when,
    usd: Number(usd.replaceAll(",", "")),
    per: unit === "each" ? 1 : MILLION,
  }));
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
  return rows.some(({ when }) => when !== "always");
}

/** By what a model is ranked by price: its input, or else the first thing that it is charged for. */
export function leadingPrice(rows: readonly PriceRow[]): PriceRow | undefined {
  return plainPrice(rows, "Input") ?? (rows[0] && plainPrice(rows, rows[0].what));
}

/** The conditions of a list that the reader decides, each once: all but those that the amount of input decides. */
export function conditionsOf(rows: readonly PriceRow[]): readonly string[] {
  return [...new Set(rows.flatMap(({ when }) => partsOf(when)))].filter(
    (part) => inputOver(part) === undefined,
  );
}

/** Whether a condition about the time holds at `nowMs`; no other one does. */
export function holdsAt(condition: string, nowMs: number): boolean {
  const from = /^from (\S+) (\S+) UTC on$/.exec(condition);
  if (from !== null) return nowMs >= Date.parse(`${from[1]}T${from[2]}:00Z`);
  const hour = new Date(nowMs).getUTCHours();
  return [...condition.matchAll(/(\d\d):00–(\d\d):00/g)].some(([, first, end]) =>
    Number(first) <= Number(end)
      ? hour >= Number(first) && hour < Number(end)
      : hour >= Number(first) || hour < Number(end),
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
  holds: (condition: string) => boolean,
): readonly ChargeLine[] {
  const input = [...quantities]
    .filter(([what]) => INPUT.test(what))
    .reduce((sum, [, quantity]) => sum + quantity, 0);
  const isMet = (part: string): boolean => {
    const over = inputOver(part);
    return over === undefined ? holds(part) : input > over;
  };
  return [...quantities].flatMap(([what, quantity]) => {
    const row = rows.find((rule) => rule.what === what && partsOf(rule.when).every(isMet));
    if (row === undefined) return [];
    return [{ row, quantity, credits: (quantity * row.usd * CREDITS_PER_USD) / row.per }];
  });
}

function partsOf(when: string): readonly string[] {
  if (when === "always" || when === "otherwise") return [];
  return when.replace(", cached ones included", "").split(", ");
}

function inputOver(part: string): number | undefined {
  const most = /^more than ([\d,]+) input tokens$/.exec(part)?.[1];
  return most === undefined ? undefined : Number(most.replaceAll(",", ""));
}
