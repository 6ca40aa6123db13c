import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadModelFiles } from "./catalog.ts";
import { modelPage } from "./llms-txt.ts";

// What pages say of where a model is, its limits and its parameters, word for word: programs are written by it. The files
// stand in test/golden/pages, by the models' names. With SWITCHYARD_TEST_UPDATE=1 this writes them anew: read the
// difference before it is committed.

const PAGES = join(import.meta.dir, "../../test/golden/pages");
const models = loadModelFiles(join(import.meta.dir, "../../models"));

describe("the sections of a page read as they are written down", () => {
  for (const file of readdirSync(PAGES))
    test(file, () => {
      const model = models.find(({ uniqueId }) => `${uniqueId.replaceAll("/", "-")}.md` === file)!;
      const sections = modelPage(model, "https://gateway.example")
        .split(/^(?=## )/m)
        .filter((section) => /^## (Where|Limits|Parameters|What to know)/.test(section));
      const text = `${sections.join("").trimEnd()}\n`;
      if (process.env["SWITCHYARD_TEST_UPDATE"] === "1") writeFileSync(join(PAGES, file), text);
      expect(text).toBe(readFileSync(join(PAGES, file), "utf8"));
    });
});
