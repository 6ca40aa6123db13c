import { beforeEach, expect, test } from "bun:test";
import { describeOnEngineOfSuite } from "../../test/gateway/engines.ts";
import { useEmptyStore } from "../../test/ledger/old-stores.ts";
import { migrate } from "../db/migrate.ts";
import type { RefusalCount, RefusalRow } from "./rows.ts";
import { writeRefusals } from "./refusals.ts";

describeOnEngineOfSuite("refusals", (engine) => {
  const store = useEmptyStore(engine);
  beforeEach(() => migrate(store.database, engine.name));

  const row = (i: number): RefusalRow => ({
    id: `req_${i}`,
    atMs: i,
    status: 400,
    code: "invalid_request_error",
    path: "/api/v1/messages",
    field: i % 2 === 0 ? null : "model",
    model: null,
    key: "k",
    account: "a",
  });
  const count = (refusals: number): RefusalCount => ({
    timeMs: 0,
    status: 400,
    code: "invalid_request_error",
    model: "",
    key: "k",
    refusals,
  });
  const write = (rows: readonly number[]): Promise<void> =>
    writeRefusals(store.database, engine.name, { rows: rows.map(row), counts: [count(rows.length)] });
  const kept = () => store.database.selectFrom("refusals").select("id").orderBy("seq").execute();

  test("are kept to the last 10,000, and all of them are counted", async () => {
    for (let from = 0; from < 10_600; from += 530)
      await write(Array.from({ length: 530 }, (_, i) => from + i));
    const rows = await kept();
    expect([rows.length, rows[0], rows.at(-1)]).toEqual([10_000, { id: "req_600" }, { id: "req_10599" }]);
    const counts = await store.database.selectFrom("refusal_counts").select("refusals").execute();
    expect(counts).toEqual([{ refusals: 10_600n }]);
  });

  test("that are written a second time are there once", async () => {
    await write([1, 2]);
    await write([2, 3]);
    expect(await kept()).toEqual([{ id: "req_1" }, { id: "req_2" }, { id: "req_3" }]);
  });
});
