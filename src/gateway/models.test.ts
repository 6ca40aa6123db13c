import { describe, expect, test } from "bun:test";
import { buildModel, createCatalog } from "../catalog/catalog.ts";
import { GatewayError } from "../core/errors.ts";
import type { Category } from "../core/model.ts";
import { findModelPage, findPublicModel, listModels } from "./models.ts";

const ORIGIN = "https://gateway.example";
const PRICES = { language: { input: 1, output: 1 }, image: { image: 1 }, video: { second: 1 } } as const;

const model = (id: string, category: keyof typeof PRICES) =>
  buildModel(id, category, { prices: PRICES[category] }, { supportedProtocols: [], routes: [] });

// Not in the order of the categories, so that the order of the answer is the gateway's.
const catalog = createCatalog([
  model("a/both", "image"),
  model("a/both", "language"),
  model("a/b/edit", "image"),
]);
const all = { keyId: "key_1", accountId: "acct_1", models: null };
const one = { ...all, models: new Set(["a/b/edit"]) };

const find = (id: string, category?: string, caller: typeof all | typeof one = all): Category =>
  findPublicModel(catalog, caller, { id, category }, ORIGIN).category;

describe("an id that stands in two categories", () => {
  test("is the language one when nothing is said", () => expect(find("a/both")).toBe("language"));
  test("is the one that is asked for", () => {
    expect(find("a/both", "image")).toBe("image");
    expect(find("a/both", "language")).toBe("language");
  });
  test("is none in a category that it is not in, or that does not exist", () => {
    for (const category of ["video", "audio", "embedding", "song", "__proto__", ""])
      expect(() => find("a/both", category)).toThrow(GatewayError);
  });
  test("has a page in each", () => {
    expect(findModelPage(catalog, "a/both", "image", ORIGIN)).toContain("`a/both`");
    expect(findModelPage(catalog, "a/both", "language", ORIGIN)).toContain("| Input | always |");
    expect(() => findModelPage(catalog, "a/both", "video", ORIGIN)).toThrow(`${ORIGIN}/llms.txt`);
  });
});

test("an id of three segments is found in the only category that it is in", () => {
  expect(find("a/b/edit")).toBe("image");
  expect(findModelPage(catalog, "a/b/edit", "image", ORIGIN)).toContain(
    "| Image | always | 1 | 10,000 | each |",
  );
});

test("a key sees what it may use, and is told of the rest what it is told of nothing", () => {
  const ids = (caller: typeof all | typeof one): string[] =>
    listModels(catalog, caller, ORIGIN).data.map((shown) => shown.unique_id);
  expect(ids(all)).toEqual(["image/a/both", "language/a/both", "image/a/b/edit"]);
  expect(ids(one)).toEqual(["image/a/b/edit"]);
  expect(find("a/b/edit", undefined, one)).toBe("image");
  expect(() => find("a/both", undefined, one)).toThrow('There is no model "a/both".');
});
