import { describe, expect, test } from "bun:test";
import { compileSchema } from "../core/schema.ts";
import { ModelFactsSchema } from "./schema.ts";

// Bounds of what is said of a model in a file of the catalogue or in the settings.

const facts = compileSchema(ModelFactsSchema);
const accepts = (said: object): boolean => facts.accepts({ prices: { input: 1 }, ...said });

/** Each member by its least value that is good, and one below it. */
const LEAST: readonly (readonly [path: string, good: number, bad: number])[] = [
  ["total_context", 1, 0],
  ["max_output", 1, 0],
  ["media_token_ceiling.image", 1, 0],
  ["media_token_ceiling.pdf", 1, 0],
  ["image_tokens.patch", 1, 0],
  ["image_tokens.per_patch", 0.01, 0],
  ["image_tokens.base", 0, -1],
  ["image_tokens.low", 1, 0],
  ["image_tokens.high", 1, 0],
  ["sampling.max_temperature", 0, -0.1],
  ["prices.input", 0, -1],
];

/** The facts with a value at a path; a formula of images always has its patch. */
function at(path: string, value: unknown): object {
  const [outer = "", inner] = path.split(".");
  if (inner === undefined) return { [outer]: value };
  return { [outer]: { ...(outer === "image_tokens" ? { patch: 28 } : {}), [inner]: value } };
}

describe("a fact of a model has a least value:", () => {
  for (const [path, good, bad] of LEAST)
    test(path, () => expect([accepts(at(path, good)), accepts(at(path, bad))]).toEqual([true, false]));
});

test("a temperature goes up to two, and counts are whole", () => {
  expect([accepts(at("sampling.max_temperature", 2)), accepts(at("sampling.max_temperature", 2.1))]).toEqual([
    true,
    false,
  ]);
  for (const path of ["total_context", "max_output", "image_tokens.low", "image_tokens.base"])
    expect([path, accepts(at(path, 1.5))]).toEqual([path, false]);
});

test("kinds and words are known ones, each once, and at least one where a list is given", () => {
  for (const [path, good, bads] of [
    ["input_modalities", ["text", "image"], [[], ["smell"], ["text", "text"]]],
    ["output_modalities", ["text"], [[], ["text", "text"]]],
    ["ignored_parameters", [], [["a", "a"]]],
    ["thinking.style", "budget", ["sometimes"]],
    ["thinking.style", "adaptive", [""]],
    ["thinking.efforts", ["low", "high"], [["low", "low"], ["extreme?"]]],
    ["max_tokens_field", "max_tokens", ["tokens"]],
    ["max_tokens_field", "max_completion_tokens", [""]],
    ["display_name", "M", [""]],
    ["summary", "S", [""]],
    ["notes", ["N"], [[""]]],
  ] as const) {
    expect([path, accepts(at(path, good))]).toEqual([path, true]);
    for (const bad of bads) expect([path, bad, accepts(at(path, bad))]).toEqual([path, bad, false]);
  }
});

test("a member that nobody knows is refused, wherever it stands", () => {
  for (const path of ["oddity", "image_tokens.oddity", "thinking.oddity", "sampling.oddity", "prices.oddity"])
    expect([path, accepts(at(path, 1))]).toEqual([path, false]);
});
