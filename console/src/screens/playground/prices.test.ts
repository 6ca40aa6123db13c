import { expect, test } from "bun:test";
import { pricesOf, usualPrice } from "./prices.ts";

const page = `# A model

| A | B | C | D | E |
|---|---|---|---|---|
| Not a price | always | 1 | 2 | 3 |

## Prices

| What | When | USD | Credits | For |
|---|---|---|---|---|
| Input | from 2027-01-01 00:00 UTC on | 1.5 | 15,000 | 1M tokens |
| Input | otherwise | 0.75 | 7,500 | 1M tokens |
| Output | always | 1,000 | 10,000,000 | 1M tokens |

## Parameters
`;

test("the table under Prices is read, and no other", () => {
  expect(pricesOf(page)).toEqual([
    { what: "Input", when: "from 2027-01-01 00:00 UTC on", usd: 1.5, per: "1M tokens" },
    { what: "Input", when: "otherwise", usd: 0.75, per: "1M tokens" },
    { what: "Output", when: "always", usd: 1_000, per: "1M tokens" },
  ]);
  expect(pricesOf("# No prices")).toEqual([]);
});

test("of several prices the one for what is left is the usual one", () => {
  expect(usualPrice(pricesOf(page), "Input")?.usd).toBe(0.75);
  expect(usualPrice(pricesOf(page), "Video")).toBeUndefined();
});
