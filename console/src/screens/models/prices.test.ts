import { expect, test } from "bun:test";
import { type Block, sectionsOf } from "./page-text.ts";
import { chargeOf, conditionsOf, holdsAt, leadingPrice, pricesOf } from "./prices.ts";

const PAGE = `# A model

> \`a/b\`: a summary

## Where

- \`POST http://x/api/v1/chat\`
  - inside

## Prices

| What | When | USD | Credits | For |
|---|---|---|---|---|
| Input | more than 200,000 input tokens, cached ones included | 4 | 40,000 | 1M tokens |
| Input | otherwise | 2 | 20,000 | 1M tokens |
| Input read from the provider's cache | always | 0.5 | 5,000 | 1M tokens |
| Output | 01:00–04:00 and 22:00–23:00 UTC, with a video in the input | 1,200 | 12,000,000 | 1M tokens |
| Output | otherwise | 6 | 60,000 | 1M tokens |
| Web search | always | 0.01 | 100 | each |

- A note with \`a\\|b\`.

## Examples

Each runs as it stands.

### One, by curl

\`\`\`sh
# no heading
curl x
\`\`\`
`;

const rows = pricesOf(PAGE);

test("a page is read by its headings, and code has none", () => {
  const [where, , examples] = sectionsOf(PAGE);
  expect(where?.blocks).toEqual([{ kind: "list", items: ["`POST http://x/api/v1/chat`", "inside"] }]);
  const code: Block = { kind: "code", language: "sh", text: "# no heading\ncurl x" };
  expect(examples?.parts).toEqual([{ title: "One, by curl", blocks: [code] }]);
});

test("a price list is read with its digits and units", () => {
  expect(rows.map(({ usd, per }) => [usd, per])).toEqual([
    [4, 1_000_000],
    [2, 1_000_000],
    [0.5, 1_000_000],
    [1_200, 1_000_000],
    [6, 1_000_000],
    [0.01, 1],
  ]);
  expect(leadingPrice(rows)?.usd).toBe(2);
});

test("the first rule that holds counts, and cached input counts as input", () => {
  const credits = (input: number, cached: number): number[] =>
    chargeOf(
      rows,
      new Map([
        ["Input", input],
        ["Input read from the provider's cache", cached],
        ["Web search", 2],
      ]),
      () => false,
    ).map((line) => line.credits);
  expect(credits(1_000, 199_000)).toEqual([20, 995, 200]);
  expect(credits(1_001, 199_000)).toEqual([40.04, 995, 200]);
});

test("of a rule with several conditions each has to hold", () => {
  const conditions = conditionsOf(rows);
  expect(conditions).toEqual(["01:00–04:00 and 22:00–23:00 UTC", "with a video in the input"]);
  const output = new Map([["Output", 1_000_000]]);
  expect(chargeOf(rows, output, (part) => part === conditions[0])[0]?.row.usd).toBe(6);
  expect(chargeOf(rows, output, () => true)[0]?.row.usd).toBe(1_200);
});

test("conditions about the time are answered by the clock", () => {
  const at = (text: string): number => Date.parse(text);
  const hours = "01:00–04:00 and 22:00–23:00 UTC";
  expect(holdsAt(hours, at("2027-01-01T03:59:59Z"))).toBe(true);
  expect(holdsAt(hours, at("2027-01-01T04:00:00Z"))).toBe(false);
  expect(holdsAt("from 2027-01-01 00:00 UTC on", at("2027-01-01T00:00:00Z"))).toBe(true);
  expect(holdsAt("from 2027-01-01 00:00 UTC on", at("2026-12-31T23:59:59Z"))).toBe(false);
  expect(holdsAt("with a video in the input", at("2027-01-01T00:00:00Z"))).toBe(false);
});
