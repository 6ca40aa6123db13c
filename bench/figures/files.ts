import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

/** A file of the source, by its path from the root of the checkout. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
  readonly isTest: boolean;
}

const ROOT = join(import.meta.dir, "../..");

/** Every TypeScript file of a folder of the checkout, in the order of their paths. */
export function sourceFiles(folder: string): SourceFile[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(ts|mjs)$/.test(name))
    .sort()
    .map((name) => {
      const path = `${folder}/${name}`;
      return { path, text: readFileSync(join(ROOT, path), "utf8"), isTest: name.endsWith(".test.ts") };
    });
}

/** The syntax tree of a file. */
export function syntaxOf({ path, text }: SourceFile): ts.SourceFile {
  return ts.createSourceFile(path, text, ts.ScriptTarget.ESNext, true);
}
