import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { PROVIDERS } from "../../src/providers/registry.ts";
import { VENDORS } from "../upstream/media/doubles.ts";

// A provider is a folder and a line of the registry (beside the routes of its models, which are data). What would make
// a further one touch more than that fails here.

const ROOT = join(import.meta.dirname, "../..");
const REGISTRY = "src/providers/registry.ts";
const SOURCES = readdirSync(join(ROOT, "src"), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
  .map((entry) => posix.join(entry.parentPath.slice(ROOT.length + 1), entry.name))
  .map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));
const VENDOR_FOLDERS = readdirSync(join(ROOT, "src/providers"), { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== "sandbox")
  .map(({ name }) => name);

test("the folders are the providers", () =>
  expect(VENDOR_FOLDERS.sort()).toEqual(PROVIDERS.map(({ id }) => id).sort()));

describe("nothing but the registry's line knows the folder of", () => {
  for (const vendor of VENDOR_FOLDERS)
    test(vendor, () => {
      const folder = `src/providers/${vendor}/`;
      const importers = SOURCES.filter(({ path }) => !path.startsWith(folder))
        .filter(({ path, text }) =>
          [...text.matchAll(/from "(\.[^"]+)"/g)].some(([, target = ""]) =>
            posix.join(posix.dirname(path), target).startsWith(folder),
          ),
        )
        .map(({ path }) => path);
      expect(importers).toEqual([REGISTRY]);
      const lines = readFileSync(join(ROOT, REGISTRY), "utf8")
        .split("\n")
        .filter((line) => new RegExp(`\\b${vendor}\\b`).test(line));
      expect(lines).toEqual([`import { ${vendor} } from "./${vendor}/index.ts";`, `  ${vendor},`]);
    });
});

test("whoever makes images or videos has a double, and a page that names the command that tries it", () => {
  const makers = PROVIDERS.filter(({ media }) => media !== undefined).map(({ id }) => id);
  const doubled: readonly string[] = VENDORS;
  expect(doubled).toEqual(makers);
  const pages = makers.map((id) => join(ROOT, `docs/providers/${id}.md`));
  expect(pages.filter((page) => !existsSync(page))).toEqual([]);
  for (const [i, page] of pages.entries())
    expect(readFileSync(page, "utf8")).toContain(`npm run smoke -- ${makers[i]}\``);
});
