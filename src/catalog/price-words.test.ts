import { describe, expect, test } from "bun:test";
import type { Prices } from "../core/money/price.ts";
import { conditionWords, priceNotes, priceTable } from "./price-words.ts";

describe("a condition is told in words", () => {
  const cases = [
    { when: {}, words: "" },
    { when: { fromMs: Date.UTC(2027, 0, 1) }, words: "from 2027-01-01 00:00 UTC on" },
    {
      when: {
        utcHours: [
          [1, 4],
          [6, 10],
        ],
      },
      words: "01:00–04:00 and 06:00–10:00 UTC",
    },
    { when: { utcHours: [[22, 24]] }, words: "22:00–24:00 UTC" },
    { when: { inputOver: 272_000 }, words: "more than 272,000 input tokens, cached ones included" },
    { when: { resolution: ["1080p", "720p"] }, words: "resolution 1080p or 720p" },
    { when: { size: ["1k"], quality: ["low"] }, words: "size 1k, quality low" },
    { when: { hasVideo: true }, words: "with a video in the input" },
    { when: { hasVideo: false }, words: "without a video in the input" },
    {
      when: { fromMs: Date.UTC(2027, 0, 1, 8, 30), inputOver: 999 },
      words: "from 2027-01-01 08:30 UTC on, more than 999 input tokens, cached ones included",
    },
  ] as const;
  for (const { when, words } of cases)
    test(words || "always", () => expect(conditionWords(when)).toBe(words));
});

const always = (price: bigint) => [{ when: {}, price }];

test("each rule is a row, in USD and in credits, exactly; the last of several is for the rest", () => {
  const prices: Prices = {
    input: [
      { when: { inputOver: 200_000 }, price: 40_000n },
      { when: {}, price: 20_000n },
    ],
    cache_read: always(220n),
    output: always(1n),
    web_search: always(100_000_000n),
    image: always(1n),
  };
  expect(priceTable(prices).split("\n").slice(2)).toEqual([
    "| Input | more than 200,000 input tokens, cached ones included | 4 | 40,000 | 1M tokens |",
    "| Input | otherwise | 2 | 20,000 | 1M tokens |",
    "| Input read from the provider's cache | always | 0.022 | 220 | 1M tokens |",
    "| Output | always | 0.0001 | 1 | 1M tokens |",
    "| Image | always | 0.0000000001 | 0.000001 | each |",
    "| Web search | always | 0.01 | 100 | each |",
  ]);
});

describe("what a table of prices does not show is said", () => {
  const plain: Prices = { input: always(1n), output: always(2n) };
  const clock = [{ when: { utcHours: [[1, 4] as const] }, price: 2n }, ...always(1n)];
  const cases: readonly {
    readonly name: string;
    readonly prices: Prices;
    readonly says: readonly string[];
  }[] = [
    {
      name: "nothing but input and output",
      prices: plain,
      says: ["cache costs as", "Reasoning", "Images count", "web search"],
    },
    {
      name: "rules by the clock",
      prices: { ...plain, input: clock },
      says: ["first that holds", "moment the request arrives"],
    },
    {
      name: "rules by length",
      prices: { ...plain, output: [{ when: { inputOver: 5 }, price: 3n }, ...always(2n)] },
      says: ["first that holds", "input that is compared"],
    },
  ];
  for (const { name, prices, says } of cases) {
    test(name, () => {
      const notes = priceNotes(prices, ["text", "image"]).join("\n");
      for (const words of says) expect(notes).toContain(words);
    });
  }

  test("what has a price of its own is not said to have none", () => {
    const all: Prices = {
      ...plain,
      cache_read: always(1n),
      reasoning: always(1n),
      image_input: always(1n),
      audio_input: always(1n),
      web_search: always(1n),
    };
    expect(priceNotes(all, ["text", "image"])).toEqual([]);
  });
});
