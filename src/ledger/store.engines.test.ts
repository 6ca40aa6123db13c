import { afterEach, beforeEach, expect, test } from "bun:test";
import { sql } from "kysely";
import { descriptorsAt } from "../../test/files.ts";
import { describeOnEngineOfSuite, type TestPlace } from "../../test/gateway/engines.ts";
import { noFailpoint } from "../core/failpoint.ts";
import { openStore, type Store } from "./store.ts";

describeOnEngineOfSuite("a store", (engine) => {
  let place: TestPlace;
  let store: Store;
  beforeEach(async () => {
    place = await engine.newPlace();
    store = await openStore({
      place: place.place,
      failpoint: noFailpoint,
      writerFailpoint: undefined,
      kill: () => undefined,
    });
  });
  afterEach(async () => {
    await store.executor.close();
    await store.database.destroy();
    await place.remove();
  });

  test("names its engine", () => {
    expect(store.engine).toBe(engine.name);
  });

  if (engine.name === "postgres")
    test("has no connection left that brought the schema up to date", async () => {
      const { rows } = await sql`select 1 from pg_stat_activity where datname = current_database()`.execute(
        store.database,
      );
      expect(rows).toHaveLength(1);
    });

  if (engine.name === "sqlite" && process.platform === "linux")
    test("is opened for its thread and for reads, and no more for bringing the schema up to date", async () => {
      await store.database.selectFrom("accounts").select("id").execute();
      const { file } = place.place as { readonly file: string };
      expect(descriptorsAt(`${file}-wal`)).toHaveLength(2);
    });
});
