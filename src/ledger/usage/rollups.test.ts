import { expect, test } from "bun:test";
import { sql } from "kysely";
import { openMemoryStore } from "../../../test/simulation/sqlite-memory.ts";
import { kyselyOver } from "../../db/sqlite.ts";
import type { Names } from "./measures.ts";
import { rollupsBy, rollupsWhere } from "./rollups.ts";
import { DAY_MS, HOUR_MS, type View } from "./views.ts";

test("SQLite finds rollups of a key, of an account and of an outcome by their index, and others by the time", async () => {
  const file = await openMemoryStore();
  const cases: readonly (readonly [grainMs: number, view: View, filter: Partial<Names>, index: string])[] = [
    [DAY_MS, "key", { account: "a", key: "k" }, "usage_of_key"],
    [DAY_MS, "full", { key: "k", outcome: "o" }, "usage_of_key"],
    [DAY_MS, "account", { account: "a" }, "usage_of_account"],
    [HOUR_MS, "full", { account: "a", outcome: "o" }, "usage_of_account"],
    [DAY_MS, "full", { model: "m", outcome: "o" }, "usage_by_outcome"],
    [HOUR_MS, "full", { model: "m", outcome: "o" }, "PRIMARY KEY"],
    [DAY_MS, "outcome", { outcome: "o" }, "PRIMARY KEY"],
    [DAY_MS, "route", { model: "m" }, "PRIMARY KEY"],
  ];
  for (const [grainMs, view, filter, index] of cases) {
    const where = sql.join([...rollupsWhere(grainMs, view, filter), sql`time_ms >= 5`], sql` and `);
    const of = rollupsBy("sqlite", { grainMs, view, filter });
    const plan = await sql<{
      detail: string;
    }>`explain query plan select requests from ${of} where ${where}`.execute(kyselyOver(file));
    expect({ view, filter, plan: plan.rows[0]?.detail }).toEqual({
      view,
      filter,
      plan: expect.stringContaining(` ${index} (`),
    });
  }
  file.close();
});

test("PostgreSQL chooses the index by itself", async () => {
  const file = await openMemoryStore();
  const of = rollupsBy("postgres", { grainMs: DAY_MS, view: "key", filter: { key: "k" } });
  expect(sql`select 1 from ${of}`.compile(kyselyOver(file)).sql).toBe("select 1 from usage_rollups");
  file.close();
});
