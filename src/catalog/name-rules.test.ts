import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadNameRules } from "./name-rules.ts";

const rules = loadNameRules(join(import.meta.dir, "../../models/names.yaml"));

describe("the ending of a name", () => {
  const ENDINGS = [
    "latest",
    "preview",
    "20251001",
    "2025-08-07",
    "250528",
    "2506",
    "0905",
    "05-06",
    "09-2025",
    "001",
  ];
  test.each(ENDINGS)("-%s is left out", (ending) => expect(rules.withoutEnding(`x-y-${ending}`)).toBe("x-y"));

  test("is the longest that there is, and one at a time", () => {
    expect(rules.withoutEnding("x-2025-10-01")).toBe("x");
    expect(rules.withoutEnding("x-preview-05-06")).toBe("x-preview");
  });

  const NONE = ["x", "x-", "latest", "-latest", "x-late", "x-latest-", "x-20251301", "x-20250132", "x-8192"];
  test.each([...NONE, "x-32k", "x-4-5", "x-19990101", "x-002", "xlatest", "x-preview-tts"])(
    "%s has none",
    (name) => expect(rules.withoutEnding(name)).toBeUndefined(),
  );
});

/** What `use` comes to with a file of names with this text in it. */
function withFile<T>(yaml: string, use: (file: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-names-"));
  const file = join(folder, "names.yaml");
  try {
    writeFileSync(file, yaml);
    return use(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("an operator can empty the list of aliases, by its braces or by deleting all below it", () => {
  for (const aliases of ["aliases: {}", "aliases:", "aliases: # none\n"]) {
    const read = withFile(`endings: [latest]\n${aliases}`, loadNameRules);
    expect([read.aliases.size, read.withoutEnding("x-latest")]).toEqual([0, "x"]);
  }
});

describe("a file of names that cannot be used is refused by its name", () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ["with an unknown key", "endings: [latest]\naliases: {}\nothers: 1", "others"],
    ["without endings", "aliases: {}", "endings"],
    ["with an ending that is no text of a name", 'endings: ["(.*)+"]\naliases: {}', "endings[0]"],
    ["with an alias to nothing", "endings: [latest]\naliases: { a: }", "aliases.a"],
  ];
  test.each(cases)("%s", (_, yaml, says) =>
    withFile(yaml, (file) => {
      expect(() => loadNameRules(file)).toThrow(`The file of names ${file} cannot be used: `);
      expect(() => loadNameRules(file)).toThrow(says);
    }),
  );
});
