import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/**
 * The tests whose imports reach a file, those first that say most about it for the least time. Its own come first, then
 * those of its area before others, the nearest by imports first. Threads and processes that a file names by path count
 * as its imports.
 */
export class ReachingTests {
  readonly #cost: (path: string) => number;
  readonly #importers = new Map<string, string[]>();

  /**
   * @param root of the checkout
   * @param files all its source and test files, from the root
   * @param cost how long a test file takes, in any unit
   */
  constructor(root: string, files: readonly string[], cost: (path: string) => number) {
    this.#cost = cost;
    for (const file of files)
      for (const imported of importsOf(root, file)) {
        const importers = this.#importers.get(imported);
        if (importers === undefined) this.#importers.set(imported, [file]);
        else importers.push(file);
      }
  }

  /** Those of the quick suite. */
  quick(file: string): string[] {
    return this.#ranked(file).filter((path) => !path.endsWith(".full.test.ts"));
  }

  /** Those of the full suite that are of the file's area. */
  full(file: string): string[] {
    return this.#ranked(file).filter(
      (path) => /\.(?:full|engines)\.test\.ts$/.test(path) && areaOf(path) === areaOf(file),
    );
  }

  #ranked(file: string): string[] {
    const distances = this.#distances(file);
    const own = file.replace(/\.ts$/, "");
    const rank = (path: string): number => {
      if (path === `${own}.test.ts`) return 0;
      if (path.startsWith(`${own}-`) || path.startsWith(`${own}.`)) return 1;
      // One for the whole gateway that has the same name, or its folder's.
      if (basename(path).startsWith(basename(own))) return 2;
      if (basename(path).startsWith(basename(dirname(file)))) return 3;
      return distances.get(path)! + (areaOf(path) === areaOf(file) ? 1 : 100);
    };
    return [...distances.keys()]
      .filter((path) => path.endsWith(".test.ts"))
      .sort((a, b) => rank(a) - rank(b) || this.#cost(a) - this.#cost(b) || (a < b ? -1 : 1));
  }

  /** How many imports lie between a file and each that reaches it. */
  #distances(file: string): Map<string, number> {
    const distances = new Map([[file, 0]]);
    for (const [at, distance] of distances)
      for (const importer of this.#importers.get(at) ?? [])
        if (!distances.has(importer)) distances.set(importer, distance + 1);
    return distances;
  }
}

/** The area that a file is of: `ledger` of `src/ledger/decide/books.ts` and of `test/ledger/store-keys.test.ts`. */
function areaOf(path: string): string | undefined {
  return path.split("/")[1];
}

const PATH = /["'`](\.{1,2}\/[^"'`\n]+\.ts|(?:src|test|bench)\/[^"'`\n]+\.ts)["'`]/g;

/** The files that a file imports or names by path, from the root. */
function importsOf(root: string, file: string): Set<string> {
  const text = readFileSync(join(root, file), "utf8");
  const paths = [...text.matchAll(PATH)].map(([, path = ""]) =>
    path.startsWith(".") ? join(dirname(file), path) : path,
  );
  return new Set(paths.filter((path) => existsSync(join(root, path))));
}
