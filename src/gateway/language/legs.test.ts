import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { runsOf } from "../../../test/runs.ts";
import type { Hold } from "../../core/money/hold.ts";
import { dearestQuote, type Leg, type Quote, roomIn } from "./legs.ts";

const legOf = (quote: Quote): Leg => ({
  ways: [],
  isFallback: false,
  warnings: [],
  admission: quote as Leg["admission"],
});
const holdOf = (amount: bigint): Hold => ({ amount }) as Hold;

const elastic = fc
  .record({
    tokenPrice: fc.bigInt({ min: 0n, max: 1_000n }),
    floorTokens: fc.nat(1_024),
    moreTokens: fc.nat(100_000),
  })
  .map(({ moreTokens, ...terms }) => ({ ...terms, maxTokens: terms.floorTokens + moreTokens }));
const quote: fc.Arbitrary<Quote> = fc.record({
  amount: fc.bigInt({ min: 0n, max: 1_000_000n }),
  elastic: fc.option(elastic, { nil: undefined }),
});
const quotes = fc.array(quote, { minLength: 2, maxLength: 5 });

const costOf = ({ amount, elastic }: Quote, tokens = 0): bigint =>
  amount + BigInt(tokens) * (elastic?.tokenPrice ?? 0n);
const mostOf = (all: readonly bigint[]): bigint => all.reduce((a, b) => (a > b ? a : b));

test("one model is held for as it asks", () => {
  const own: Quote = { amount: 5n, elastic: { tokenPrice: 2n, maxTokens: 9, floorTokens: 3 } };
  expect(dearestQuote([legOf(own)])).toEqual(own);
});

test("of several models the dearest is held and no more: each has room for its floor at the least, and at the most for all", () => {
  fc.assert(
    fc.property(quotes, (all) => {
      const asked = dearestQuote(all.map(legOf) as unknown as readonly [Leg, ...Leg[]]);
      const floors = all.map((each) => costOf(each, each.elastic?.floorTokens));
      const least = costOf(asked, asked.elastic?.floorTokens);
      expect(least).toBe(mostOf(floors));
      for (const each of all) expect(roomIn(holdOf(least), each)).toBeDefined();
      const most = costOf(asked, asked.elastic?.maxTokens);
      for (const each of all)
        expect(roomIn(holdOf(most), each)).toEqual({ outputTokens: each.elastic?.maxTokens });
      const wants = mostOf(all.map((each) => costOf(each, each.elastic?.maxTokens)));
      expect(most - wants).toBeLessThanOrEqual(asked.elastic?.tokenPrice ?? 0n);
    }),
    runsOf(500, 20_000),
  );
});
