import { type RawBuilder, sql } from "kysely";
import type { Engine } from "../db/engine.ts";
import { namedJsonList, type Rows, typedList } from "./rows.ts";

/**
 * SQL of a table `t` with the members of `rows`. The rows are given as one value, JSON of a list, since they may be
 * more than a statement takes values. Members that are not given are null.
 */
export function givenRows(engine: Engine, rows: Rows, given: string): RawBuilder<unknown> {
  return engine === "postgres"
    ? sql`json_to_recordset(${given}::json) as t(${sql.raw(typedList(rows))})`
    : sql`(select ${sql.raw(namedJsonList(rows))} from json_each(${given})) as t`;
}
