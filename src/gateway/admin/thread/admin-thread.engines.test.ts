import { afterEach, beforeEach, expect, test } from "bun:test";
import { sql } from "kysely";
import { describeOnEngineOfSuite } from "../../../../test/gateway/engines.ts";
import { useEmptyStore } from "../../../../test/ledger/old-stores.ts";
import { migrate } from "../../../db/migrate.ts";
import { type AdminThread, openAdminThread } from "./admin-thread.ts";

describeOnEngineOfSuite("the thread of the admin interface", (engine) => {
  const store = useEmptyStore(engine);
  let thread: AdminThread;
  beforeEach(async () => {
    await migrate(store.database, engine.name);
    thread = openAdminThread(store.place);
  });
  afterEach(() => thread.close());

  test("reads as the process does: every value, in as many rows as there are", async () => {
    const accounts = Array.from({ length: 250 }, (_, i) => ({
      id: `acct_${i}`,
      name: `Ä "name" of ${i}\n`,
      balance: i === 0 ? 2n ** 53n - 1n : BigInt(i),
      created_at_ms: 1n,
      recalled_at_ms: 2n ** 62n,
    }));
    await store.database.insertInto("accounts").values(accounts).execute();
    const read = ({ database }: Pick<AdminThread, "database">) =>
      database.selectFrom("accounts").selectAll().where("balance", ">=", 0n).orderBy("seq").execute();
    const rows = await read(thread);
    expect(rows.length).toBe(250);
    expect(rows).toEqual(await read(store));
    const none = thread.database.selectFrom("keys").selectAll().where("expires_at_ms", "is", null);
    expect(await none.execute()).toEqual([]);
  });

  test("tells what the store says of a statement that is wrong, and goes on", async () => {
    const wrong: unknown = await sql`select nothing_like_it from accounts`
      .execute(thread.database)
      .catch((error: unknown) => error);
    expect(String(wrong)).toContain("nothing_like_it");
    expect(await thread.database.selectFrom("accounts").selectAll().execute()).toEqual([]);
  });

  test("refuses what is asked once it is closed, and what it was asked before", async () => {
    const asked = thread.rollUp().catch((error: unknown) => String(error));
    thread.close();
    expect(await asked).toContain("was closed");
    expect(await thread.rollUp().catch((error: unknown) => String(error))).toContain("is closed");
  });
});
