import { describe, expect, test } from "bun:test";
import { buildModel, createCatalog } from "../catalog/catalog.ts";
import { GatewayError } from "../core/errors.ts";
import type { Category } from "../core/model.ts";
import type { PageRequest } from "./model-page.ts";
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
  findPublicModel(catalog, caller, { name: id, category }, ORIGIN).model.category;

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

const list = (page: PageRequest, caller: typeof all | typeof one = all) =>
  listModels(catalog, caller, page, ORIGIN);

test("a key sees what it may use, and is told of the rest that it may not", () => {
  const ids = (caller: typeof all | typeof one): string[] =>
    list({}, caller).data.map((shown) => shown.unique_id);
  expect(ids(all)).toEqual(["image/a/both", "language/a/both", "image/a/b/edit"]);
  expect(ids(one)).toEqual(["image/a/b/edit"]);
  expect(find("a/b/edit", undefined, one)).toBe("image");
  expect(() => find("a/both", undefined, one)).toThrow(
    "This API key may not use the model a/both. It may use a/b/edit.",
  );
  expect(() => find("a/bot", undefined, one)).toThrow('There is no model "a/bot". GET');
  expect(() => find("a/bot")).toThrow('There is no model "a/bot". Did you mean a/both? GET');
});

test("a model of any name is told of with its id, and with a warning where another one stands in", () => {
  const one = model("a/one", "language");
  const named = createCatalog([one], {
    known: [one, model("a/away", "language")],
    aliases: new Map([["fast", "a/one"]]),
  });
  const found = (name: string) => findPublicModel(named, all, { name, category: undefined }, ORIGIN);
  expect(found("models/one")).toMatchObject({ model: { id: "a/one", name: "models/a/one" }, warnings: [] });
  expect(found("fast").warnings).toEqual(["model: the name is an alias, and a/one serves."]);
  const error = (name: string): unknown => {
    try {
      return found(name);
    } catch (thrown) {
      return thrown;
    }
  };
  expect(error("a/away")).toMatchObject({ status: 404, code: "no_live_provider" });
  expect(error("a/two")).toMatchObject({ status: 404, code: "model_not_found" });
});

describe("a page of the list", () => {
  const ids = (page: PageRequest) => {
    const { data, models, has_more, first_id, last_id, nextPageToken } = list(page);
    expect(models.map(({ name }) => name)).toEqual(data.map(({ id }) => `models/${id}`));
    return { rows: data.map((row) => row.unique_id), has_more, first_id, last_id, nextPageToken };
  };
  const after = (row: string) => ({ cursor: { row, side: "after", param: "after_id" } }) as const;
  const before = (row: string) => ({ cursor: { row, side: "before", param: "before_id" } }) as const;

  test("is all of it where nothing is said, or where there is room", () => {
    const whole = {
      rows: ["image/a/both", "language/a/both", "image/a/b/edit"],
      has_more: false,
      first_id: "a/both",
      last_id: "a/b/edit",
      nextPageToken: undefined,
    };
    for (const page of [{}, { limit: 3 }, { limit: 1_000 }]) expect(ids(page)).toEqual(whole);
  });

  test("goes on behind the row before it, each row once, an id that stands twice too", () => {
    expect(ids({ limit: 1 })).toEqual({
      rows: ["image/a/both"],
      has_more: true,
      first_id: "a/both",
      last_id: "a/both",
      nextPageToken: "a/both",
    });
    expect(ids({ limit: 1, ...after("a/both") })).toEqual({
      rows: ["language/a/both"],
      has_more: true,
      first_id: "language/a/both",
      last_id: "language/a/both",
      nextPageToken: "language/a/both",
    });
    expect(ids({ limit: 1, ...after("language/a/both") })).toMatchObject({
      rows: ["image/a/b/edit"],
      has_more: false,
      nextPageToken: undefined,
    });
    expect(ids(after("a/b/edit"))).toMatchObject({
      rows: [],
      has_more: false,
      first_id: null,
      last_id: null,
    });
  });

  test("or back before it", () => {
    expect(ids({ limit: 1, ...before("a/b/edit") })).toMatchObject({
      rows: ["language/a/both"],
      has_more: true,
      nextPageToken: undefined,
    });
    expect(ids({ limit: 2, ...before("a/b/edit") })).toMatchObject({
      rows: ["image/a/both", "language/a/both"],
      has_more: false,
    });
    expect(ids(before("a/both"))).toMatchObject({ rows: [], has_more: false });
  });

  test("next to a row that is not there, or not for this key, is a 400 that names the field", () => {
    expect(() => list(after("a/none"))).toThrow("after_id is no row of this list.");
    expect(() => list(before("a/both"), one)).toThrow("before_id is no row of this list.");
  });
});
