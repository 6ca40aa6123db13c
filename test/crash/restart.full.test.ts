import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import type { Database } from "../../src/db/schema.ts";
import { openUnhurried } from "../../src/db/postgres.ts";
import { kyselyOver } from "../../src/db/sqlite.ts";
import { openForWriting } from "../../src/db/sqlite-file.ts";
import { describeOnEngines, type TestPlace } from "../gateway/engines.ts";
import { ADMIN_TOKEN } from "../gateway/gateway.ts";
import { shownKey, startProcess, temporaryFolder } from "../gateway/process.ts";
import { LONG } from "../runs.ts";

// A start reads nothing that grows: with a long ledger the gateway is ready as soon as with a short one. The time is
// printed, and bounded by nothing here, because a test must not depend on how busy its machine is.

const ENTRIES = LONG ? 1_000_000 : 20_000;
const OPEN_HOLDS = 100;

describeOnEngines(`a start with ${ENTRIES} ledger entries`, (engine) => {
  test("is ready, ends what was open, and finds the books right", async () => {
    const place = await engine.newPlace();
    const folder = temporaryFolder();
    const environment = {
      ...place.environment,
      SWITCHYARD_ADMIN_TOKEN: ADMIN_TOKEN,
      SWITCHYARD_CONFIG: join(folder.path, "switchyard.yaml"),
    };
    writeFileSync(environment.SWITCHYARD_CONFIG, "timeouts: { process_lease_seconds: 1 }\n");
    const first = startProcess(environment);
    await first.ready();
    await shown(first.output);
    first.child.kill("SIGTERM");
    await first.exited();
    await fill(place);

    const startedAt = performance.now();
    const second = startProcess(environment);
    const url = await second.ready();
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    const readyMs = Math.round(performance.now() - startedAt);
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
    const held = async (): Promise<readonly number[]> => {
      const { data } = (await (await fetch(`${url}/admin/v1/accounts`, { headers })).json()) as {
        data: { held: number }[];
      };
      return data.map((account) => account.held);
    };
    // At the start where the store is this process's alone; else once others have had a lease's time to be heard.
    if (engine.name === "sqlite") expect(await held()).toEqual([0]);
    while ((await held()).some((amount) => amount !== 0)) await Bun.sleep(50);
    const auditedAt = performance.now();
    const audit = await (await fetch(`${url}/admin/v1/audit?full=true`, { headers })).json();
    const auditMs = Math.round(performance.now() - auditedAt);
    expect(audit).toMatchObject({ ok: true });
    process.stdout.write(
      `restart on ${engine.name}, ${ENTRIES} entries: ready ${readyMs} ms after the start; first full audit ${auditMs} ms\n`,
    );
    second.child.kill("SIGTERM");
    await second.exited();
    await place.remove();
    folder.remove();
  }, 300_000);
});

/** Resolves when the first start has shown its key, and so made its account. */
async function shown(output: () => string): Promise<void> {
  while (shownKey(output()) === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Requests that were each charged a micro-credit, and some that a dead process left open. */
async function fill({ place }: TestPlace): Promise<void> {
  const database = "file" in place ? kyselyOver(openForWriting(place.file)) : openUnhurried(place.url);
  await database.transaction().execute(async (tx) => {
    const numbers = sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${sql.lit(ENTRIES)})`;
    const owner = sql`n cross join (select k.id as key_id, a.id as account_id, a.balance from keys k
      join accounts a on a.id = k.account_id) o`;
    await sql`insert into price_versions values ('v', 'm', '{}', 1)`.execute(tx);
    await sql`insert into holds (id, account_id, key_id, request_id, boot_id, model, amount, expected_cost, state,
        price_version, created_at_ms, expires_at_ms, ended_at_ms, end_reason, settled)
      ${numbers} select 'hold_' || i, account_id, key_id, 'req_' || i, 'boot_dead', 'm', 5, 1, 'settled', 'v', 1, 2, 2,
        'completed', 1 from ${owner}`.execute(tx);
    await sql`insert into ledger (cause, account_id, key_id, counter, amount, balance_after, kind, request_id, reason,
        created_at_ms)
      ${numbers} select 'hold_' || i || ':settle', account_id, key_id, 'revenue', -1, balance - i, 'settle',
        'req_' || i, 'completed', 1 from ${owner} order by i`.execute(tx);
    await sql`insert into requests (id, account_id, key_id, hold_id, model, provider, outcome, charge, price_version,
        usage, attempts, admitted_at_ms, held_at_ms, ended_at_ms, settled_at_ms)
      ${numbers} select 'req_' || i, account_id, key_id, 'hold_' || i, 'm', 'p', 'completed', 1, 'v', '{}', '[]', 1, 1, 2,
        2 from ${owner} order by i`.execute(tx);
    await openHolds(tx, numbers, owner);
  });
  await database.destroy();
}

async function openHolds(
  tx: Database,
  numbers: ReturnType<typeof sql>,
  owner: ReturnType<typeof sql>,
): Promise<void> {
  await sql`insert into holds (id, account_id, key_id, request_id, boot_id, model, amount, expected_cost, state,
      price_version, created_at_ms, expires_at_ms)
    ${numbers} select 'open_' || i, account_id, key_id, 'open_' || i, 'boot_dead', 'm', 5, 1, 'held', 'v', 1, 2
    from ${owner} where i <= ${sql.lit(OPEN_HOLDS)}`.execute(tx);
  const held = sql.lit(OPEN_HOLDS * 5);
  await sql`update accounts set balance = balance - ${sql.lit(ENTRIES)}, held = ${held}`.execute(tx);
  await sql`update keys set spent = ${sql.lit(ENTRIES)}, held = ${held}`.execute(tx);
}
