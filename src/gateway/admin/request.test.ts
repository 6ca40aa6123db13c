import { join } from "node:path";
import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { loadModelFiles } from "../../catalog/catalog.ts";
import { parseCredits } from "../../core/money/credits.ts";
import { costOf, foldUnpriced, type PriceFacts, USAGE_FIELDS, WORD_FACTS } from "../../core/money/price.ts";
import { pricePlan } from "../../core/money/price-plan.ts";
import { NO_USAGE, outputTokens, type Usage } from "../../core/money/usage.ts";
import type { Model } from "../../core/model.ts";
import { createRulesText, usageText } from "../../ledger/written-text.ts";
import { runsOf } from "../../../test/runs.ts";
import { type LineView, linesOf } from "./request.ts";

const RUNS = runsOf(40, 2_000);
const MODELS = loadModelFiles(join(import.meta.dirname, "../../../models"));
/** Around midnight and noon in UTC, where prices change by the clock. */
const moments = fc
  .tuple(fc.nat(3), fc.integer({ min: -2, max: 2 }))
  .map(([quarter, ms]) => Date.UTC(2026, 10, 21, quarter * 6) + ms);
const counts = fc.oneof(fc.constant(0), fc.nat(50), fc.nat(400_000));
const usages = fc
  .record(Object.fromEntries(Object.keys(NO_USAGE).map((field) => [field, counts])))
  .map((tokens) => tokens as unknown as Usage);

/** What a request of the model may have asked for, by the words of its prices. */
function factsOf({ prices }: Model): fc.Arbitrary<PriceFacts> {
  const conditions = Object.values(prices).flatMap((rules) => rules.map(({ when }) => when));
  const words = WORD_FACTS.map((fact) => {
    const known = [...new Set(conditions.flatMap((when) => when[fact] ?? []))];
    return [fact, fc.constantFrom(...(known.length === 0 ? ["none"] : known))] as const;
  });
  return fc.record({ ...Object.fromEntries(words), hasVideo: fc.boolean() });
}

/** A settled request of the model, as the store has it. */
function settled(model: Model, given: Usage, pricedAtMs: number, facts: PriceFacts) {
  const { prices, priceVersion: version } = model;
  const snapshot = { version, prices, pricedAtMs, facts };
  const usage = foldUnpriced(given, prices);
  const isOfMedia = model.category === "image" || model.category === "video";
  const charge = isOfMedia ? costOf(usage, snapshot) : pricePlan(model, pricedAtMs).charge(given).cost;
  return {
    usage: usageText(isOfMedia ? usage : pricePlan(model, pricedAtMs).charge(given).usage),
    charge,
    price_version: version,
    admitted_at_ms: BigInt(pricedAtMs),
    rules: createRulesText()(snapshot),
    task_id: isOfMedia ? "t" : null,
    terms: isOfMedia ? JSON.stringify({ pricedAtMs, facts }) : null,
  };
}

/**
 * The delivered pieces of a model's category beside its tokens. No delivery is without output: where a provider tells
 * none, it is estimated.
 */
function withPieces(model: Model, tokens: Usage, pieces: number): Usage {
  if (model.category !== "image" && model.category !== "video") return tokens;
  const usage = outputTokens(tokens) === 0 ? { ...tokens, imageOutput: 1 } : tokens;
  return model.category === "image" ? { ...usage, images: pieces } : { ...usage, seconds: pieces };
}

/** The sum in micro-credits of the numbers that the interface shows. */
const sumOf = (lines: readonly LineView[]): bigint =>
  lines.reduce((sum, { credit }) => sum + (parseCredits(credit) as bigint), 0n);

const MICRO_PER_UNIT = { million_tokens: 1e4, second: 1e10, image: 1e10, web_search: 1e10 };

describe("the lines of a charge", () => {
  const samples = (model: Model) => fc.tuple(usages, fc.nat(20), moments, factsOf(model));

  for (const model of MODELS)
    test(`of ${model.category} ${model.id} are its usage by the prices of then, and come to the charge`, () => {
      fc.assert(
        fc.property(samples(model), ([tokens, pieces, atMs, facts]) => {
          const row = settled(model, withPieces(model, tokens, pieces + 1), atMs, facts);
          const lines = linesOf(row);
          expect(sumOf(lines)).toBe(row.charge);
          const usage = JSON.parse(row.usage) as Record<string, number>;
          expect(
            Object.fromEntries(
              lines.map((line) => [USAGE_FIELDS[line.bucket as keyof typeof USAGE_FIELDS], line.quantity]),
            ),
          ).toEqual(usage);
          for (const { quantity, price, unit, credit } of lines) {
            if (price === null || unit === null) throw new Error("A line has no price.");
            const each = BigInt(Math.round(price * MICRO_PER_UNIT[unit]));
            expect(BigInt(quantity) * each).toBe(parseCredits(credit) as bigint);
          }
        }),
        RUNS,
      );
    });

  test("have the price that was paid, though what was asked for is forgotten with its task", () => {
    for (const model of MODELS.filter(({ category }) => category === "image" || category === "video"))
      fc.assert(
        fc.property(fc.nat(20), moments, factsOf(model), (pieces, atMs, facts) => {
          const row = settled(
            model,
            withPieces(model, { ...NO_USAGE, imageOutput: 1 }, pieces + 1),
            atMs,
            facts,
          );
          const forgotten = linesOf({ ...row, terms: null });
          expect(forgotten).toEqual(linesOf(row) as LineView[]);
        }),
        RUNS,
      );
  });

  test("say how much less was charged than the usage costs", () => {
    const model = MODELS.find(({ category }) => category === "language") as Model;
    const row = settled(model, { ...NO_USAGE, input: 1_000, output: 10 }, Date.UTC(2026, 0, 1), {});
    const lines = linesOf({ ...row, charge: row.charge - 7n });
    expect(lines.at(-1)).toEqual({
      bucket: "adjustment",
      quantity: 1,
      price: null,
      unit: null,
      credit: -0.000007,
    });
    expect(sumOf(lines)).toBe(row.charge - 7n);
  });

  test("invent no price where none gives the charge any more", () => {
    const model = MODELS.find(({ prices }) => new Set(prices.second?.map(({ price }) => price)).size > 1);
    if (model === undefined) throw new Error("No model has several prices of a second.");
    const row = settled(model, { ...NO_USAGE, seconds: 5 }, Date.UTC(2026, 0, 1), {
      resolution: model.prices.second?.find(({ when }) => when.resolution)?.when.resolution?.[0] ?? "720p",
    });
    const lines = linesOf({ ...row, charge: 1n, terms: null });
    expect(lines).toEqual([
      { bucket: "second", quantity: 5, price: null, unit: "second", credit: 0 },
      { bucket: "adjustment", quantity: 1, price: null, unit: null, credit: 0.000001 },
    ]);
  });

  test("are none where nothing was used", () => {
    const [model] = MODELS as [Model];
    const row = { ...settled(model, NO_USAGE, 0, {}), usage: null, charge: 0n, task_id: null, terms: null };
    expect(linesOf(row)).toEqual([]);
  });
});
