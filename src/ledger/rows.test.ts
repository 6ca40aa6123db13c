import { describe, expect, test } from "bun:test";
import { openMemoryStore } from "../../test/simulation/sqlite-memory.ts";
import * as described from "./rows.ts";
import type { Rows } from "./rows.ts";

const ROWS = Object.entries(described).filter((entry): entry is [string, Rows & (typeof entry)[1]] => {
  const [, value] = entry;
  return typeof value === "object" && "columns" in value;
});

const database = await openMemoryStore();

describe("what the ledger reads and writes is there", () => {
  for (const [name, { table, key, keyColumn, columns }] of ROWS)
    test(`as ${name}: each column with its type, and one that names the row`, () => {
      const found = database.prepare(`select name, type from pragma_table_info('${table}')`).all();
      const types = new Map(found.map((column) => [column["name"], column["type"]]));
      const wrong = Object.values(columns).filter(
        (column) => types.get(column.name) !== (column.kind === "text" ? "TEXT" : "INTEGER"),
      );
      expect(wrong).toEqual([]);
      expect(columns[key]?.name).toBe(keyColumn);
    });
});
