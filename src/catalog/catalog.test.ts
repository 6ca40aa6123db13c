import { afterEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Category, Model } from "../core/model.ts";
import { dearestPrice, type PriceBucket, TOKEN_BUCKETS } from "../core/money/price.ts";
import { createCatalog, loadModelFiles, publicModel } from "./catalog.ts";
import { parameterSchema } from "./parameters.ts";
import { readPrices } from "./prices.ts";

const MODELS = join(import.meta.dir, "../../models");
const GOOD = {
  display_name: "M",
  supported_protocols: ["compat_chat_completions"],
  prices: { input: 1, output: 2 },
  routes: [{ provider: "openai", upstream_id: "m" }],
};

/** What must have a price of its own or its parent's, by category. */
const BUCKETS: Readonly<Partial<Record<Category, (model: Model) => readonly PriceBucket[]>>> = {
  embedding: () => ["input"],
  language: ({ inputModalities, outputModalities }) => [
    "input",
    "cache_read",
    "cache_write_1h",
    "output",
    "reasoning",
    ...(inputModalities.includes("audio") ? (["audio_input"] as const) : []),
    ...(outputModalities.includes("audio") ? (["audio_output"] as const) : []),
    ...(outputModalities.includes("image") ? (["image_output"] as const) : []),
  ],
  image: ({ prices }) =>
    prices.image !== undefined ? ["image"] : ["input", "image_input", "image_output", "cache_read"],
  video: ({ prices }) => (prices.second !== undefined ? ["second"] : ["output"]),
};

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function load(files: Readonly<Record<string, unknown>>) {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-models-"));
  folders.push(folder);
  for (const [name, data] of Object.entries(files)) {
    const file = join(folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof data === "string" ? data : JSON.stringify(data));
  }
  return loadModelFiles(folder);
}

describe("every model file of the house", () => {
  const models = loadModelFiles(MODELS);
  for (const model of models) {
    test(`${model.uniqueId} has prices for all it can take and give, and is shown whole`, () => {
      const snapshot = { version: model.priceVersion, prices: model.prices, pricedAtMs: 0 };
      for (const bucket of BUCKETS[model.category]?.(model) ?? [])
        expect(dearestPrice(snapshot, bucket, model.totalContext ?? 1_000_000)).toBeGreaterThan(0n);
      expect(model.media !== undefined).toBe(["image", "video"].includes(model.category));
      expect(model.embedding !== undefined).toBe(model.category === "embedding");
      expect(model.id).toMatch(/^[a-z0-9-]+\/[a-z0-9.-]+(\/edit)?$/);
      const shown = publicModel(model, "http://x");
      expect(shown.unique_id).toBe(`${model.category}/${model.id}`);
      expect(JSON.stringify(shown)).not.toContain("upstream");
    });
  }

  test("stands once in the catalogue", () => {
    const catalog = createCatalog(models);
    for (const model of models)
      expect(catalog.byId(model.id).filter((m) => m.category === model.category)).toEqual([model]);
    expect(catalog.byId("no/such")).toEqual([]);
    expect(catalog.byId("__proto__")).toEqual([]);
  });
});

test("a file's path is its model's id, deeper paths too", () => {
  const [model] = load({ "language/a/b/c.json": GOOD });
  expect([model?.id, model?.uniqueId, model?.vendor]).toEqual(["a/b/c", "language/a/b/c", "a"]);
});

describe("a file that cannot be used is refused by name, with the reason", () => {
  const cases = [
    { name: "no JSON", data: "{", says: "" },
    { name: "an unknown key", data: { ...GOOD, colour: "red" }, says: "colour" },
    { name: "no prices", data: { ...GOOD, prices: undefined }, says: "prices is required" },
    { name: "no input price", data: { ...GOOD, prices: { output: 1 } }, says: "prices.input is missing" },
    {
      name: "a price that is too fine",
      data: { ...GOOD, prices: { input: 0.00001, output: 1 } },
      says: "prices.input[0] is finer",
    },
    { name: "a negative price", data: { ...GOOD, prices: { input: -1, output: 1 } }, says: "prices.input" },
    { name: "no route", data: { ...GOOD, routes: [] }, says: "routes must not be empty" },
    {
      name: "a formula for images without the most of one",
      data: { ...GOOD, image_tokens: { patch: 32 } },
      says: "image_tokens needs media_token_ceiling.image",
    },
    {
      name: "a detail above the most of an image",
      data: { ...GOOD, media_token_ceiling: { image: 9 }, image_tokens: { patch: 32, high: 10 } },
      says: "more for low or high detail than media_token_ceiling.image",
    },
    {
      name: "a formula with squares of no size",
      data: { ...GOOD, media_token_ceiling: { image: 9 }, image_tokens: { patch: 0 } },
      says: "image_tokens.patch",
    },
    {
      name: "a formula with an unknown key",
      data: { ...GOOD, media_token_ceiling: { image: 9 }, image_tokens: { patch: 9, tile: 5 } },
      says: "tile",
    },
    {
      name: "an unknown protocol",
      data: { ...GOOD, supported_protocols: ["x"] },
      says: "supported_protocols[0]",
    },
    { name: "a category that is none", path: "song/a/b.json", data: GOOD, says: '"song" is no category' },
  ];
  for (const { name, path = "language/a/b.json", data, says } of cases) {
    test(name, () => {
      expect(() => load({ [path]: data })).toThrow(path);
      expect(() => load({ [path]: data })).toThrow(says);
    });
  }
});

describe("rules", () => {
  const read = (input: unknown) => readPrices({ input, output: 1 } as never, "language");
  const bad = [
    {
      name: "without a last rule for everything",
      input: [{ when: { input_over: 5 }, price: 1 }],
      says: "the last rule of prices.input has a condition",
    },
    {
      name: "with a range that ends before it begins",
      input: [{ when: { utc_hours: [[22, 6]] }, price: 1 }, { price: 2 }],
      says: "utc_hours",
    },
    {
      name: "with a range of no hours",
      input: [{ when: { utc_hours: [[6, 6]] }, price: 1 }, { price: 2 }],
      says: "utc_hours",
    },
    {
      name: "with a date that is none",
      input: [{ when: { from: "soon" }, price: 1 }, { price: 2 }],
      says: "from is no date",
    },
  ];
  for (const { name, input, says } of bad) test(name, () => expect(() => read(input)).toThrow(says));

  test("keep their order, and a version names their content", () => {
    const tiered = [{ when: { input_over: 5 }, price: 2 }, { price: 1 }];
    expect(read(tiered).prices.input).toEqual([
      { when: { inputOver: 5 }, price: 20_000n },
      { when: {}, price: 10_000n },
    ]);
    expect(read(tiered).version).toBe(read(structuredClone(tiered)).version);
    expect(read(1).version).not.toBe(read(2).version);
    expect(read(1).version).toMatch(/^[0-9a-f]{16}$/);
    expect(read(1).version).toBe(read([{ price: 1 }]).version);
  });

  test("can be given for every bucket", () => {
    const all = Object.fromEntries(TOKEN_BUCKETS.map((bucket, i) => [bucket, i + 1]));
    expect(Object.keys(readPrices(all as never, "language").prices)).toEqual([...TOKEN_BUCKETS]);
  });
});

test("a formula for images counts a token for a square and none beside, unless it says so", () => {
  const facts = { ...GOOD, media_token_ceiling: { image: 1_600 } };
  const [short, long] = load({
    "language/a/b.json": { ...facts, image_tokens: { patch: 28 } },
    "language/a/c.json": { ...facts, image_tokens: { patch: 9, per_patch: 1.5, base: 2, low: 3, high: 4 } },
  });
  expect(short?.imageTokens).toEqual({ patch: 28, perPatch: 1, base: 0 });
  expect(long?.imageTokens).toEqual({ patch: 9, perPatch: 1.5, base: 2, low: 3, high: 4 });
});

test("how a model thinks and samples is what its file says, and the interface's own where it says nothing", () => {
  const [plain, told, odd] = load({
    "language/a/b.json": GOOD,
    "language/a/c.json": {
      ...GOOD,
      thinking: { style: "adaptive", always: true },
      sampling: { max_temperature: 1, temperature_or_top_p: true, fixed_while_thinking: true },
    },
    "language/a/d.json": { ...GOOD, thinking: {}, sampling: {} },
  });
  expect([plain?.thinking, plain?.sampling]).toEqual([undefined, undefined]);
  const unsaid = { streamedOnly: false, reasoningBackAlways: false };
  expect(told?.thinking).toEqual({ ...unsaid, style: "adaptive", canBeOff: false });
  expect(told?.sampling).toEqual({
    maxTemperature: 1,
    eitherTemperatureOrTopP: true,
    fixedWhileThinking: true,
  });
  expect(odd?.thinking).toEqual({ ...unsaid, canBeOff: true });
  expect(odd?.sampling).toEqual({ eitherTemperatureOrTopP: false, fixedWhileThinking: false });
});

test("media come to the tokens that the file says, else to the most that is usual; system turns are as it says", () => {
  const [plain, told] = load({
    "language/a/b.json": GOOD,
    "language/a/c.json": { ...GOOD, media_token_ceiling: { audio: 7 }, system_turns: true },
  });
  const usual = { image: 3_000, audio: 20_000, video: 200_000, pdf: 200_000 };
  expect([plain?.mediaTokenCeiling, plain?.systemTurns]).toEqual([usual, undefined]);
  expect([told?.mediaTokenCeiling, told?.systemTurns]).toEqual([{ ...usual, audio: 7 }, true]);
});

test("the parameters of a model leave out what it ignores and bound its output", () => {
  const [model] = load({
    "language/a/b.json": { ...GOOD, ignored_parameters: ["temperature"], max_output: 9 },
  });
  const properties = (parameterSchema(model!) as { properties: Record<string, { maximum?: number }> })
    .properties;
  expect(properties.temperature).toBeUndefined();
  expect(properties.max_completion_tokens?.maximum).toBe(9);
});
