import { expect, test } from "bun:test";
import { sql } from "kysely";
import { describeOnEngineOfSuite } from "../../test/gateway/engines.ts";
import { migrateToFirst, useEmptyStore } from "../../test/ledger/old-stores.ts";
import { migrate } from "./migrate.ts";

describeOnEngineOfSuite("migrations", (engine) => {
  const store = useEmptyStore(engine);

  test("look every row up: a store with many of them is brought along as well", async () => {
    await migrateToFirst(store.database, engine.name);
    const rows = 50_000;
    const numbers = `with recursive numbers (i) as (select 1 union all select i + 1 from numbers where i < ${rows})`;
    for (const statement of [
      `insert into accounts (id, name, balance, created_at_ms) values ('a', 'A', 1, 1)`,
      `insert into price_versions (version, model, rules, created_at_ms) values ('v', 'm', '{}', 1)`,
      `${numbers} insert into keys (id, account_id, name, hash, hint, created_at_ms)
        select 'k' || i, 'a', 'n', 'hash' || i, 'sk', 1 from numbers where i <= 1000`,
      `${numbers} insert into holds (id, account_id, key_id, request_id, boot_id, amount, state, price_version,
          created_at_ms, expires_at_ms, ended_at_ms, end_reason, settled)
        select 'h' || i, 'a', 'k' || (1 + i % 1000), 'r' || i, 'b', 2, 'settled', 'v', 1, 2, 3, 'completed', 1 from numbers`,
      `${numbers} insert into ledger (cause, account_id, counter, amount, balance_after, kind, created_at_ms)
        select 'h' || i || ':settle', 'a', 'revenue', -1, 0, 'settle', 1 from numbers`,
    ])
      await sql.raw(statement).execute(store.database);
    await migrate(store.database, engine.name);
    const { rows: sums } = await sql`select
      (select count(*) from keys where spent = ${rows / 1000}) as keys,
      (select count(*) from ledger join holds on holds.id || ':settle' = ledger.cause
        where ledger.key_id = holds.key_id) as entries`.execute(store.database);
    expect(sums).toEqual([{ keys: 1000n, entries: BigInt(rows) }]);
  });
});
