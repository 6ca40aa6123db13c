import { expect, test } from "bun:test";
import { type Block, sectionsOf } from "./page-text.ts";
import { chargeOf, conditionsOf, holdsAt, leadingPrice, rowsOf, whenOf } from "./prices.ts";

const PAGE = `# A model

> \`a/b\`: a summary

## Where

- \`POST http://x/api/v1/chat\`
  - inside

## Examples

Each runs as it stands.

### One, by curl

\`\`\`sh
# no heading
curl x
\`\`\`
`;

const OVER = { words: "more than 200,000 input tokens", input_over: 200_000 };
const HOURS = {
  words: "01:00–04:00 and 22:00–23:00 UTC",
  utc_hours: [
    [1, 4],
    [22, 23],
  ],
};
const VIDEO = { words: "with a video in the input" };
const rule = (
  bucket: "input" | "cache_read" | "output",
  what: string,
  price: number,
  ...conditions: object[]
) => ({
  bucket,
  what,
  conditions: conditions as { words: string }[],
  price,
  unit: "million_tokens" as const,
});
const rows = rowsOf([
  rule("input", "Input", 4, OVER),
  rule("input", "Input", 2),
  rule("cache_read", "Cached", 0.5),
  rule("output", "Output", 1_200, HOURS, VIDEO),
  rule("output", "Output", 6),
  { bucket: "web_search", what: "Web search", conditions: [], price: 0.01, unit: "web_search" },
]);

test("a page is read by its headings, and code has none", () => {
  const [where, examples] = sectionsOf(PAGE);
  expect(where?.blocks).toEqual([{ kind: "list", items: ["`POST http://x/api/v1/chat`", "inside"] }]);
  const code: Block = { kind: "code", language: "sh", text: "# no heading\ncurl x" };
  expect(examples?.parts).toEqual([{ title: "One, by curl", blocks: [code] }]);
});

test("a price list tells for how much a price is, and when it counts", () => {
  expect(rows.map(({ usd, per }) => [usd, per])).toEqual([
    [4, 1_000_000],
    [2, 1_000_000],
    [0.5, 1_000_000],
    [1_200, 1_000_000],
    [6, 1_000_000],
    [0.01, 1],
  ]);
  expect(rows.map((row) => whenOf(rows, row))).toEqual([
    "more than 200,000 input tokens",
    "otherwise",
    "always",
    "01:00–04:00 and 22:00–23:00 UTC, with a video in the input",
    "otherwise",
    "always",
  ]);
  expect(leadingPrice(rows)?.usd).toBe(2);
});

test("the first rule that holds counts, and cached input counts as input", () => {
  const credits = (input: number, cached: number): number[] =>
    chargeOf(
      rows,
      new Map([
        ["Input", input],
        ["Cached", cached],
        ["Web search", 2],
      ]),
      () => false,
    ).map((line) => line.credits);
  expect(credits(1_000, 199_000)).toEqual([20, 995, 200]);
  expect(credits(1_001, 199_000)).toEqual([40.04, 995, 200]);
});

test("of a rule with several conditions each has to hold", () => {
  const conditions = conditionsOf(rows);
  expect(conditions.map(({ words }) => words)).toEqual([HOURS.words, VIDEO.words]);
  const output = new Map([["Output", 1_000_000]]);
  expect(chargeOf(rows, output, ({ words }) => words === HOURS.words)[0]?.row.usd).toBe(6);
  expect(chargeOf(rows, output, () => true)[0]?.row.usd).toBe(1_200);
});

test("conditions about the time are answered by the clock", () => {
  const at = (text: string): number => Date.parse(text);
  const from = { words: "from then on", from: at("2027-01-01T00:00:00Z") / 1_000 };
  expect(holdsAt(HOURS, at("2027-01-01T03:59:59Z"))).toBe(true);
  expect(holdsAt(HOURS, at("2027-01-01T04:00:00Z"))).toBe(false);
  expect(holdsAt(from, at("2027-01-01T00:00:00Z"))).toBe(true);
  expect(holdsAt(from, at("2026-12-31T23:59:59Z"))).toBe(false);
  expect(holdsAt(VIDEO, at("2027-01-01T00:00:00Z"))).toBe(false);
});
