import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ROWS from "./interface-rows.json";

/** The interface's own document, which is not part of this repository; `interface-rows.json` has its rows' names. */
const SPEC = join(import.meta.dir, "..", "..", "..", "shared", "spec", "model-gateway-api.md");

/** A table of the document: its header, and its rows by the text of their first column. */
export interface SpecTable {
  readonly header: readonly string[];
  readonly rows: readonly string[];
}

/** What shows that the promise of a row is kept. */
export type RowCheck = () => Promise<void> | void;

/** Where a table stands: the heading above it, and the name of its first column. */
export interface TablePlace {
  readonly heading: string;
  readonly column: string;
}

/**
 * One test for each row of a table of the interface, by the row's own name. Rows that other parts of the product
 * answer for are named in `elsewhere`. No row may be without a check and no check without a row.
 */
export function describeTable(
  { heading, column }: TablePlace,
  checks: Readonly<Record<string, RowCheck>>,
  elsewhere: readonly string[] = [],
): void {
  describe(`${heading} (${column})`, () => {
    for (const [row, check] of Object.entries(checks)) test(row, check);
    test("is checked row by row", () => {
      expect([...Object.keys(checks), ...elsewhere].sort()).toEqual([...rowsOf(heading, column)].sort());
    });
  });
}

/** The rows of a table by their names; from the document too where it is at hand, which must say the same. */
function rowsOf(heading: string, column: string): readonly string[] {
  const headings: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = ROWS;
  const rows = headings[heading]?.[column] ?? [];
  if (existsSync(SPEC)) {
    const table = tablesUnder(readFileSync(SPEC, "utf8"), heading).find(({ header }) => header[0] === column);
    expect(rows).toEqual(table?.rows ?? []);
  }
  return rows;
}

/** Errors share a status, and transitions a state: there a row is told by its first two columns. */
const TWO_NAMES: ReadonlySet<string> = new Set(["HTTP status", "From"]);

/** The tables that stand under a heading, down to the next one of any level. */
export function tablesUnder(document: string, heading: string): SpecTable[] {
  const lines = document.split("\n");
  const start = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, "") === heading);
  if (start === -1) throw new Error(`The document has no heading "${heading}".`);
  const tables: { header: string[]; rows: string[] }[] = [];
  let inTable = false;
  for (const line of lines.slice(start + 1)) {
    if (/^#+ /.test(line)) break;
    const cells = cellsOf(line);
    if (cells === undefined) {
      inTable = false;
    } else if (!inTable) {
      tables.push({ header: cells, rows: [] });
      inTable = true;
    } else if (!cells.every((cell) => /^-+$/.test(cell))) {
      const named = TWO_NAMES.has(tables.at(-1)?.header[0] ?? "") ? cells.slice(0, 2) : cells.slice(0, 1);
      tables.at(-1)?.rows.push(named.join(" "));
    }
  }
  return tables;
}

function cellsOf(line: string): string[] | undefined {
  if (!line.startsWith("|")) return undefined;
  return line
    .slice(1, -1)
    .split("|")
    .map((cell) => cell.trim().replaceAll("`", ""));
}
