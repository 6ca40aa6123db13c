import { expect, test } from "bun:test";
import { PRICE_BUCKETS, TOKEN_BUCKETS, USAGE_FIELDS } from "../../../../src/core/money/price.ts";
import { inputTokens, NO_USAGE, outputTokens } from "../../../../src/core/money/usage.ts";
import { pieces, tokenBuckets, tokensIn, tokensOut, USAGE_BUCKETS } from "./usage.ts";

const ALL = Object.fromEntries(
  Object.keys(NO_USAGE).map((field, i) => [field, 2 ** i]),
) as typeof NO_USAGE & {
  [field: string]: number;
};

test("each bucket of the gateway is known by its name in rows and in lines", () => {
  const known = new Set(Object.entries(USAGE_BUCKETS).map(([field, bucket]) => `${field} ${bucket}`));
  expect(known).toEqual(new Set(PRICE_BUCKETS.map((bucket) => `${USAGE_FIELDS[bucket]} ${bucket}`)));
});

test("tokens are summed as the gateway sums them", () => {
  expect([tokensIn(ALL), tokensOut(ALL)]).toEqual([inputTokens(ALL), outputTokens(ALL)]);
  expect(tokenBuckets(ALL).map(({ bucket }) => bucket)).toEqual([...TOKEN_BUCKETS]);
  expect(tokenBuckets({ input: 0, output: 3, images: 2 })).toEqual([{ bucket: "output", tokens: 3 }]);
});

test("pieces are read out", () => {
  expect(pieces({ images: 1, seconds: 5, webSearches: 2 })).toEqual([
    "1 image",
    "5 s of video",
    "2 searches",
  ]);
  expect(pieces({ input: 3 })).toEqual([]);
});
