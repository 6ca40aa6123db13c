/** A price of a model, as its page says it. */
export interface Price {
  readonly what: string;
  readonly when: string;
  readonly usd: number;
  readonly per: string;
}

/** A row of the table: what, when, USD, credits, for how much. */
const ROW = /^\| ([^|]+) \| ([^|]+) \| ([\d.,]+) \| [\d.,]+ \| ([^|]+) \|$/;

/** The prices in a model's `llms.txt`. */
export function pricesOf(page: string): readonly Price[] {
  const [, section = ""] = page.split("\n## Prices\n");
  const [table = ""] = section.split("\n## ");
  return table.split("\n").flatMap((line) => {
    const [, what = "", when = "", usd = "", per = ""] = ROW.exec(line) ?? [];
    return what === "" ? [] : { what, when, usd: Number(usd.replaceAll(",", "")), per };
  });
}

/** What holds of one name, where it holds always; else the last, which is the rest of the conditions. */
export function usualPrice(prices: readonly Price[], what: string): Price | undefined {
  return prices.findLast((price) => price.what === what);
}
