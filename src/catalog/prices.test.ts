import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { Static } from "typebox";
import { runsOf } from "../../test/runs.ts";
import type { Category } from "../core/model.ts";
import { costOf, type PriceFacts } from "../core/money/price.ts";
import { compileSchema } from "../core/schema.ts";
import { NO_USAGE, type Usage } from "../core/money/usage.ts";
import { readPrices } from "./prices.ts";
import { PricesSchema } from "./schema.ts";

type Data = Static<typeof PricesSchema>;

const RUNS = runsOf(1_000, 20_000);
const schema = compileSchema(PricesSchema);

/** Price lists as vendors publish them, and what a request then costs in USD × 10^10. */
const LISTS: readonly {
  readonly model: string;
  readonly category: Category;
  readonly prices: Data;
  readonly costs: readonly {
    readonly at?: string;
    readonly facts?: PriceFacts;
    readonly usage: Partial<Usage>;
    readonly cost: bigint;
  }[];
}[] = [
  {
    model: "by the token, by resolution and whether a video goes in",
    category: "video",
    prices: {
      output: [
        { when: { resolution: "1080p", has_video: true }, price: 4.7 },
        { when: { resolution: "1080p" }, price: 7.7 },
        { when: { resolution: "4k", has_video: true }, price: 2.4 },
        { when: { resolution: "4k" }, price: 4 },
        { when: { has_video: true }, price: 4.3 },
        { price: 7 },
      ],
    },
    costs: [
      { facts: { resolution: "720p" }, usage: { output: 100_000 }, cost: 7_000_000_000n },
      { facts: { resolution: "720p", hasVideo: true }, usage: { output: 100_000 }, cost: 4_300_000_000n },
      { facts: { resolution: "1080p" }, usage: { output: 100_000 }, cost: 7_700_000_000n },
      { facts: { resolution: "1080p", hasVideo: true }, usage: { output: 100_000 }, cost: 4_700_000_000n },
      { facts: { resolution: "4K", hasVideo: true }, usage: { output: 100_000 }, cost: 2_400_000_000n },
    ],
  },
  {
    model: "by the second, by resolution",
    category: "video",
    prices: { second: [{ when: { resolution: "720P" }, price: 0.1 }, { price: 0.15 }] },
    costs: [
      { facts: { resolution: "720p" }, usage: { seconds: 5 }, cost: 5_000_000_000n },
      { facts: { resolution: "720P" }, usage: { seconds: 1 }, cost: 1_000_000_000n },
      { facts: { resolution: "1080P" }, usage: { seconds: 5 }, cost: 7_500_000_000n },
    ],
  },
  {
    model: "by the image, by size, the image that goes in by the token",
    category: "image",
    prices: {
      input: 2,
      output: 12,
      image: [
        { when: { size: ["1K", "2K"] }, price: 0.134 },
        { when: { size: "4K" }, price: 0.24 },
        { price: 0.24 },
      ],
    },
    costs: [
      { facts: { size: "1K" }, usage: { images: 1 }, cost: 1_340_000_000n },
      { facts: { size: "2K" }, usage: { images: 2 }, cost: 2_680_000_000n },
      { facts: { size: "4K" }, usage: { images: 1, imageInput: 560 }, cost: 2_411_200_000n },
    ],
  },
  {
    model: "by the image, by size and quality",
    category: "image",
    prices: {
      image: [
        { when: { size: "1024x1024", quality: "low" }, price: 0.006 },
        { when: { size: "1024x1024", quality: "medium" }, price: 0.053 },
        { when: { size: "1024x1024", quality: ["high", "auto"] }, price: 0.211 },
        { when: { size: "1536x1024", quality: "low" }, price: 0.005 },
        { when: { size: "1536x1024", quality: "medium" }, price: 0.041 },
        { when: { size: "1536x1024", quality: "high" }, price: 0.165 },
        { price: 0.211 },
      ],
    },
    costs: [
      { facts: { size: "1024x1024", quality: "low" }, usage: { images: 1 }, cost: 60_000_000n },
      { facts: { size: "1024x1024", quality: "auto" }, usage: { images: 1 }, cost: 2_110_000_000n },
      { facts: { size: "1536x1024", quality: "medium" }, usage: { images: 3 }, cost: 1_230_000_000n },
      { facts: { size: "1536x1024", quality: "high" }, usage: { images: 1 }, cost: 1_650_000_000n },
      { facts: {}, usage: { images: 1 }, cost: 2_110_000_000n },
    ],
  },
  {
    model: "images by the token",
    category: "image",
    prices: { input: 5, cache_read: 1.25, image_input: 8, image_output: 30 },
    costs: [{ usage: { input: 100, imageInput: 1_000, imageOutput: 1_000 }, cost: 385_000_000n }],
  },
  {
    model: "at an introductory price to the end of the year",
    category: "language",
    prices: {
      input: [{ when: { from: "2027-01-01" }, price: 1.5 }, { price: 0.75 }],
      output: [{ when: { from: "2027-01-01" }, price: 7.5 }, { price: 3.75 }],
    },
    costs: [
      { at: "2026-12-31T23:59:59.999Z", usage: { input: 1_000, output: 1_000 }, cost: 45_000_000n },
      { at: "2027-01-01T00:00:00.000Z", usage: { input: 1_000, output: 1_000 }, cost: 90_000_000n },
    ],
  },
];

describe("a vendor's price list can be written, and costs what the vendor says", () => {
  for (const { model, category, prices: data, costs } of LISTS) {
    test(model, () => {
      expect(schema.accepts(data)).toBe(true);
      const { prices, version } = readPrices(data, category);
      for (const { at = "2026-11-21T12:00:00Z", facts = {}, usage, cost } of costs) {
        const snapshot = { version, prices, pricedAtMs: Date.parse(at), facts };
        expect(costOf({ ...NO_USAGE, ...usage }, snapshot)).toBe(cost);
      }
    });
  }
});

describe("a model has prices for what it is sold by", () => {
  const cases: readonly { category: Category; prices: Data; says?: string }[] = [
    { category: "language", prices: { input: 1, output: 1 } },
    { category: "language", prices: { input: 1 }, says: "prices.output is missing: every language model" },
    { category: "language", prices: { input: 1, output: 1, image: 1 }, says: "prices.image is of no use" },
    {
      category: "language",
      prices: { input: 1, output: [{ when: { has_video: true }, price: 2 }, { price: 1 }] },
      says: "prices.output has a condition that is only of image and video models",
    },
    {
      category: "language",
      prices: { input: [{ when: { size: "1k" }, price: 2 }, { price: 1 }], output: 1 },
      says: "prices.input has a condition that is only of image and video models",
    },
    { category: "image", prices: { image: 1 } },
    { category: "image", prices: { image_output: 1 } },
    {
      category: "image",
      prices: { input: 1, second: 1 },
      says: "prices.image or prices.image_output or prices.output is missing: every image model",
    },
    { category: "video", prices: { second: 1 } },
    { category: "video", prices: { output: 1 } },
    { category: "video", prices: { image: 1 }, says: "prices.second or prices.output is missing" },
    { category: "audio", prices: { audio_output: 1 } },
    { category: "audio", prices: { image: 1 }, says: "every audio model has one" },
    { category: "embedding", prices: { input: 1 } },
    { category: "embedding", prices: { output: 1 }, says: "prices.input is missing: every embedding model" },
    {
      category: "image",
      prices: { image: 0.00000000001 },
      says: "prices.image[0] is finer than a micro-credit",
    },
    {
      category: "video",
      prices: { second: [{ when: { resolution: "4k" }, price: 1 }] },
      says: "the last rule of prices.second has a condition",
    },
  ];
  for (const { category, prices, says } of cases) {
    test(`${category} with ${JSON.stringify(prices)} is ${says === undefined ? "taken" : "refused"}`, () => {
      if (says === undefined) expect(() => readPrices(prices, category)).not.toThrow();
      else expect(() => readPrices(prices, category)).toThrow(says);
    });
  }
});

describe("a condition that is none is refused by the schema", () => {
  const bad = [{ resolution: "" }, { size: [] }, { quality: 1 }, { has_video: "yes" }, { hasVideo: true }];
  for (const when of bad) {
    test(JSON.stringify(when), () =>
      expect(schema.accepts({ image: [{ when, price: 1 }, { price: 2 }] })).toBe(false),
    );
  }
});

const words = fc.oneof(
  fc.constantFrom("a", "A", "b"),
  fc.uniqueArray(fc.constantFrom("a", "b", "B"), { minLength: 1 }),
);
const rules = fc.oneof(
  fc.constantFrom(1, 2),
  fc
    .tuple(
      fc.array(
        fc.record({
          when: fc.record(
            {
              from: fc.constantFrom("2027-01-01", "2027-01-01T00:00:00Z", "2027-01-02"),
              input_over: fc.constantFrom(1, 2),
              resolution: words,
              size: words,
              quality: words,
              has_video: fc.boolean(),
            },
            { requiredKeys: [] },
          ),
          price: fc.constantFrom(1, 2),
        }),
        { maxLength: 2 },
      ),
      fc.constantFrom(1, 2),
    )
    .map(([some, last]) => some.concat({ price: last } as (typeof some)[number])),
);
const lists = fc.record(
  { output: rules, second: rules, image: rules },
  { requiredKeys: ["output"] },
) as fc.Arbitrary<Data>;

test("two price lists have one version exactly when their rules are the same", () => {
  fc.assert(
    fc.property(lists, lists, (one, other) => {
      const [a, b] = [readPrices(one, "video"), readPrices(other, "video")];
      expect(a.version === b.version).toBe(Bun.deepEquals(a.prices, b.prices, true));
    }),
    RUNS,
  );
});

test("a version does not depend on how the same rules are written", () => {
  const versionOf = (second: unknown): string => readPrices({ second } as Data, "video").version;
  const list = (when: unknown) => [{ when, price: 1 }, { price: 2 }];
  const same = [
    list({ resolution: "720p", quality: ["a", "b"], has_video: true }),
    list({ has_video: true, quality: ["B", "A"], resolution: ["720P"] }),
    list({ quality: ["a", "A", "b"], has_video: true, resolution: ["720p"] }),
  ];
  expect(new Set(same.map(versionOf)).size).toBe(1);
  const different = [
    { resolution: "720p" },
    { size: "720p" },
    { quality: "720p" },
    { resolution: ["720p", "1080p"] },
    { has_video: true },
    { has_video: false },
  ].map(list);
  expect(new Set([...different, 1, 2].map(versionOf)).size).toBe(8);
});

describe("a price begins at one moment, wherever the gateway runs", () => {
  const from = (text: string) =>
    readPrices({ input: [{ when: { from: text }, price: 2 }, { price: 1 }], output: 1 }, "language");
  for (const { text, at } of [
    { text: "2027-01-01", at: Date.UTC(2027, 0, 1) },
    { text: "2027-01-01T08:00:00+08:00", at: Date.UTC(2027, 0, 1) },
    { text: "2028-02-29T12:30Z", at: Date.UTC(2028, 1, 29, 12, 30) },
  ]) {
    test(text, () => expect(from(text).prices.input?.[0]?.when.fromMs).toBe(at));
  }
  for (const text of ["2027-01-01T08:00:00", "2026-02-30", "March 7", "2027-13-01", "2027-01-01T25:00Z"]) {
    test(`${text} is none`, () =>
      expect(() => from(text)).toThrow("prices.input[0].when.from is no date or time"));
  }
});

test("a condition is a word or several, none of them empty or twice", () => {
  const accepts = (quality: unknown): boolean =>
    schema.accepts({ image: [{ when: { quality }, price: 1 }, { price: 2 }] });
  for (const good of ["h", ["h"], ["h", "high"]]) expect([good, accepts(good)]).toEqual([good, true]);
  for (const bad of ["", [], [""], ["h", "h"], 1]) expect([bad, accepts(bad)]).toEqual([bad, false]);
});
