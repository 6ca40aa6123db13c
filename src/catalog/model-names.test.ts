import { describe, expect, spyOn, test } from "bun:test";
import { join } from "node:path";
import type { Model } from "../core/model.ts";
import { buildModel, loadModelFiles } from "./catalog.ts";
import { createModelNames, type NameParts } from "./model-names.ts";
import { loadNameRules, nameRules } from "./name-rules.ts";

const MODELS = join(import.meta.dir, "../../models");
const catalogue = loadModelFiles(MODELS);
const rules = loadNameRules(join(MODELS, "names.yaml"));

/** A language model that its providers call so. */
function model(id: string, ...upstreamIds: readonly string[]): Model {
  const routes = upstreamIds.map((upstreamId, i) => ({ provider: `p${i}`, upstreamId }));
  const prices = { input: 1, output: 1 };
  return buildModel(id, "language", { prices }, { supportedProtocols: ["compat_chat_completions"], routes });
}

type Options = Partial<Omit<NameParts, "aliases">> & { readonly aliases?: Readonly<Record<string, string>> };

function namesOf(models: readonly Model[], { aliases = {}, ...more }: Options = {}) {
  const aliasMap = new Map(Object.entries(aliases));
  return createModelNames({ enabled: models, known: models, ...more, aliases: aliasMap });
}

/** What a name leads to: its ids, and whether they are of the same model. */
function found(models: readonly Model[], name: string, options?: Options): readonly string[] | undefined {
  const named = namesOf(models, options).find(name);
  return named && [named.isAlias ? "alias" : "same", ...named.ids];
}

const dated = { rules: nameRules(["latest", "YYYYMMDD"], []) };

describe("a name of the catalogue's models", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["claude-haiku-4-5", "anthropic/claude-haiku-4.5"],
    ["claude-haiku-4-5-20251001", "anthropic/claude-haiku-4.5"],
    ["claude-haiku-4-5-latest", "anthropic/claude-haiku-4.5"],
    ["claude-haiku-4.5", "anthropic/claude-haiku-4.5"],
    ["claude-haiku-4.5-20251001", "anthropic/claude-haiku-4.5"],
    ["anthropic/claude-haiku-4-5", "anthropic/claude-haiku-4.5"],
    ["anthropic/claude-haiku-4-5-20251001", "anthropic/claude-haiku-4.5"],
    ["anthropic/claude-haiku-4.5-latest", "anthropic/claude-haiku-4.5"],
    ["claude-opus-5-5", "anthropic/claude-opus-5.5"],
    ["claude-sonnet-5-5-20260901", "anthropic/claude-sonnet-5.5"],
    ["gpt-5.6-luna", "openai/gpt-5.6-luna"],
    ["gpt-5.6-luna-2026-07-09", "openai/gpt-5.6-luna"],
    ["gpt-6-astra-latest", "openai/gpt-6-astra"],
    ["gemini-3.8-flash", "google/gemini-3.8-flash"],
    ["gemini-3.8-flash-preview", "google/gemini-3.8-flash"],
    ["gemini-3.8-flash-preview-09-2026", "google/gemini-3.8-flash"],
    ["gemini-3.8-flash-preview-09-21", "google/gemini-3.8-flash"],
    ["gemini-3.8-flash-001", "google/gemini-3.8-flash"],
    ["gemini-3-pro-image-preview", "google/gemini-3-pro-image"],
    ["models/gemini-3.8-flash", "google/gemini-3.8-flash"],
    ["models/google/gemini-3.8-flash", "google/gemini-3.8-flash"],
    ["models/gemini-3.8-flash-latest", "google/gemini-3.8-flash"],
    ["x-ai/grok-4.7", "xai/grok-4.7"],
    ["z-ai/glm-5.2", "zhipu/glm-5.2"],
    ["qwen3.7-max-2026-05-20", "alibaba/qwen3.7-max"],
    ["kimi-k3-0905", "moonshotai/kimi-k3"],
    ["deepseek-v4-pro-2509", "deepseek/deepseek-v4-pro"],
    ["wan2.6-i2v", "alibaba/wan-2.6"],
    ["wan-2.6", "alibaba/wan-2.6"],
    ["dreamina-seedance-2-0-260128", "bytedance/seedance-2.0"],
    ["dreamina-seedance-2-0", "bytedance/seedance-2.0"],
    ["dreamina-seedance-2-0-fast-251111", "bytedance/seedance-2.0-fast"],
    ["fal-ai/nano-banana-pro/edit", "google/gemini-3-pro-image"],
    ["gpt-image-2/edit", "openai/gpt-image-2/edit"],
    // The provider has one name for both; the model that is called so itself is meant.
    ["gpt-image-2", "openai/gpt-image-2"],
  ];
  test.each(cases)("%s is %s", (name, id) => expect(found(catalogue, name, { rules })).toEqual(["same", id]));

  test("is the same whether anybody serves the model or not", () => {
    for (const [name, id] of cases)
      expect(found([], name, { known: catalogue, rules })).toEqual(["same", id]);
  });

  test("leads back to each of them: by its id, by the part behind the vendor, by what providers call it", () => {
    const names = namesOf(catalogue, { rules });
    for (const { id, routes } of catalogue) {
      expect(names.find(id)).toMatchObject({ ids: [id], isAlias: false });
      expect(names.find(id.slice(id.indexOf("/") + 1))?.ids).toEqual([id]);
      for (const { upstreamId } of routes) {
        if (upstreamId === "gpt-image-2" || upstreamId.includes("{")) continue;
        expect([upstreamId, names.find(upstreamId)?.ids]).toEqual([upstreamId, [id]]);
      }
    }
  });

  const NOBODYS = [
    "",
    "-latest",
    "latest",
    "models/",
    "__proto__",
    "constructor",
    "claude-haiku-4-5-20251301",
    "claude-haiku-4-5-2025100",
    "claude-haiku-4-5-v1",
    "claude-haiku-4-5 ",
    "Claude-Haiku-4-5",
    "openai/claude-haiku-4-5",
    "xai/x-ai/grok-4.7",
    "gpt-5.6-luna-mini",
    "gemini-3.8",
    `models/${"models/".repeat(40)}gpt-5.6-luna`,
    `gpt-5.6-luna${"-latest".repeat(100_000)}`,
  ];
  test.each(NOBODYS)("%.40s is nobody's", (name) =>
    expect(found(catalogue, name, { rules })).toBeUndefined(),
  );
});

test("the look-up of an id is one, whatever there is beside", () => {
  const names = namesOf(catalogue, { rules, aliases: { "gpt-*": "xai/grok-4.7", "*": "xai/grok-4.7" } });
  const lookUps = spyOn(Map.prototype, "get");
  const searches = spyOn(RegExp.prototype, "exec");
  try {
    names.find("openai/gpt-5.6-luna");
    expect([lookUps.mock.calls.length, searches.mock.calls.length]).toEqual([1, 0]);
  } finally {
    lookUps.mockRestore();
    searches.mockRestore();
  }
});

describe("an alias of the operator", () => {
  const models = [model("a/one", "uno-20260101"), model("b/two", "due")];

  test("comes before a vendor's own id and a name alone, and after an id", () => {
    const options = { ...dated, aliases: { uno: "b/two", two: "a/one", "a/*": "b/two" } };
    expect(found(models, "uno", options)).toEqual(["alias", "b/two"]);
    expect(found(models, "uno-20260101", options)).toEqual(["same", "a/one"]);
    expect(found(models, "two", options)).toEqual(["alias", "a/one"]);
    expect(found(models, "a/one", options)).toEqual(["same", "a/one"]);
    expect(found(models, "a/three", options)).toEqual(["alias", "b/two"]);
  });

  test("is meant to the letter, or by its beginning where it ends in a star; exact wins, then the longest", () => {
    const options: Options = {
      ...dated,
      aliases: { "gpt-*": "a/one", "gpt-4o*": "b/two", "gpt-4o-mini": "a/one", fast: "b/two" },
    };
    expect(found(models, "gpt-5", options)).toEqual(["alias", "a/one"]);
    expect(found(models, "gpt-", options)).toEqual(["alias", "a/one"]);
    expect(found(models, "gpt-4o", options)).toEqual(["alias", "b/two"]);
    expect(found(models, "gpt-4o-2024-08-06", options)).toEqual(["alias", "b/two"]);
    expect(found(models, "gpt-4o-mini", options)).toEqual(["alias", "a/one"]);
    expect(found(models, "gpt", options)).toBeUndefined();
    expect(found(models, "fast", options)).toEqual(["alias", "b/two"]);
    expect(found(models, "fast-latest", options)).toBeUndefined();
    expect(found(models, "gpt-4o*", options)).toEqual(["alias", "b/two"]);
  });

  test("of one star is for every name that is no id", () => {
    const options = { ...dated, aliases: { "*": "b/two" } };
    expect(found(models, "whatever", options)).toEqual(["alias", "b/two"]);
    expect(found(models, "uno", options)).toEqual(["alias", "b/two"]);
    expect(found(models, "a/one", options)).toEqual(["same", "a/one"]);
  });

  test("of a star hides no id, and no exact alias, that stands behind models/", () => {
    const options = { ...dated, aliases: { "*": "b/two", fast: "a/one", "models/x*": "a/one" } };
    expect(found(models, "models/a/one", options)).toEqual(["same", "a/one"]);
    expect(found(models, "models/fast", options)).toEqual(["alias", "a/one"]);
    expect(found(models, "models/uno", options)).toEqual(["alias", "b/two"]);
    expect(found(models, "models/xyz", options)).toEqual(["alias", "a/one"]);
  });

  test("comes before the aliases of the catalogue, as a pattern too", () => {
    const options = { rules: nameRules(["latest"], [["old", "a/one"]]) };
    expect(found(models, "old", options)).toEqual(["alias", "a/one"]);
    expect(found(models, "old", { ...options, aliases: { old: "b/two" } })).toEqual(["alias", "b/two"]);
    expect(found(models, "old-latest", { ...options, aliases: { "o*": "b/two" } })).toEqual([
      "alias",
      "b/two",
    ]);
  });

  test("may hide no id, served or not, and must lead to one: a sentence that names it", () => {
    expect(() => namesOf(models, { aliases: { "b/two": "a/one" } })).toThrow(
      'The alias "b/two" is the id of a model, which an alias may not hide.',
    );
    expect(() => namesOf([], { known: models, aliases: { "b/two": "a/one" } })).toThrow('The alias "b/two"');
    expect(() => namesOf(models, { aliases: { "models/b/two": "a/one" } })).toThrow(
      'The alias "models/b/two" is the id of a model, which an alias may not hide.',
    );
    expect(() => namesOf(models, { aliases: { fast: "a/three" } })).toThrow(
      'The alias "fast" leads to "a/three", which is the id of no model.',
    );
    expect(() => namesOf(models, { aliases: { "f*": "uno" } })).toThrow('The alias "f*" leads to "uno"');
    expect(() => namesOf([], { known: models, aliases: { fast: "a/one" } })).not.toThrow();
  });
});

describe("of names that several models could have", () => {
  test("all are said", () => {
    const models = [model("a/m", "x"), model("b/m", "y"), model("c/n", "z")];
    expect(found(models, "m")).toEqual(["same", "a/m", "b/m"]);
    expect(found([model("a/m", "x"), model("b/n", "x")], "x")).toEqual(["same", "a/m", "b/n"]);
  });

  test("those are meant that are called so themselves", () => {
    const models = [model("a/x", "x"), model("b/n", "x")];
    expect(found(models, "x")).toEqual(["same", "a/x"]);
    expect(found([...models, model("c/x", "x")], "x")).toEqual(["same", "a/x", "c/x"]);
  });

  test("a vendor's own id comes before a name alone, and a whole one before one without its date", () => {
    expect(found([model("a/m", "x"), model("b/x", "y")], "x")).toEqual(["same", "a/m"]);
    const models = [model("a/m", "x-20260101"), model("b/n", "x")];
    expect(found(models, "x", dated)).toEqual(["same", "b/n"]);
    expect(found(models, "x-20260101", dated)).toEqual(["same", "a/m"]);
    expect(found(models, "x-20260202", dated)).toEqual(["same", "b/n"]);
  });

  test("two dates of one name are both meant by the name, and by another date", () => {
    const models = [model("a/m", "x-20260101"), model("b/n", "x-20260202")];
    for (const name of ["x", "x-latest", "x-20260303"])
      expect(found(models, name, dated)).toEqual(["same", "a/m", "b/n"]);
    expect(found(models, "x-20260202", dated)).toEqual(["same", "b/n"]);
  });

  test("those that are served come before those that are not", () => {
    const served = model("b/m", "y");
    const known = [model("a/m", "m"), served];
    expect(found([served], "m", { known })).toEqual(["same", "b/m"]);
    expect(found([], "m", { known })).toEqual(["same", "a/m"]);
    expect(found(known, "m", { known })).toEqual(["same", "a/m"]);
  });

  test("an id that stands in two categories is one", () =>
    expect(found(catalogue, "gemini-3-pro-image", { rules })).toEqual(["same", "google/gemini-3-pro-image"]));
});

describe("an alias of the catalogue", () => {
  const models = [model("a/one", "uno")];
  const options = { rules: nameRules(["latest", "YYYYMMDD"], [["old", "a/one"]]) };

  test("may have a date", () => {
    for (const name of ["old", "old-20250101", "old-latest", "models/old"])
      expect(found(models, name, options)).toEqual(["alias", "a/one"]);
  });

  test("gives way to a model that has the name", () => {
    expect(found([...models, model("b/old", "x")], "old", options)).toEqual(["same", "b/old"]);
    expect(
      found(models, "v/old", {
        rules: nameRules(["latest"], [["v/old", "a/one"]]),
        known: [...models, model("v/old")],
      }),
    ).toEqual(["same", "v/old"]);
  });

  test("leads to a model of the catalogue, and is the name of none", () => {
    const names = namesOf(catalogue, { rules });
    const plain = namesOf(catalogue, { rules: { ...rules, aliases: new Map() } });
    expect(rules.aliases.size).toBeGreaterThan(20);
    for (const [name, id] of rules.aliases) {
      expect([name, names.find(name)]).toMatchObject([name, { ids: [id], isAlias: true }]);
      expect([name, plain.find(name)]).toEqual([name, undefined]);
    }
  });
});
