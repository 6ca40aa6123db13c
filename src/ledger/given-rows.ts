import { type RawBuilder, sql } from "kysely";
import type { Engine } from "../db/engine.ts";
import { namedJsonList, type Rows, typedList } from "./rows.ts";

/**
 * SQL of rows that are given as one value, JSON of a list, since there may be more of them than a statement takes values:
 * a table `t` with the members of `rows`. Members that are not given are null.
 */
export function givenRows(engine: Engine, rows: Rows, given: string): RawBuilder<unknown> {
  return engine === "postgres"
    ? sql`json_to_recordset(${given}::json) as t(${sql.raw(typedList(rows))})`
    : sql`(select ${sql.raw(namedJsonList(rows))} from json_each(${given})) as t`;
}
