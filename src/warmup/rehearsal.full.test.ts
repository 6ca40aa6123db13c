import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { startGateway } from "../../test/gateway/gateway.ts";

/** The rows of each table, but for the leases that processes renew, and the journal's number, which counts that. */
function rowsOf(home: string): Record<string, unknown[]> {
  const database = new Database(join(home, "switchyard.db"), { readonly: true });
  const tables = database.query("select name from sqlite_master where type = 'table'").all() as {
    name: string;
  }[];
  const rows = tables
    .filter(({ name }) => name !== "processes" && name !== "journal")
    .map(({ name }) => [name, database.query(`select * from "${name}"`).all()]);
  database.close();
  return Object.fromEntries(rows);
}

function filesOf(home: string): string[] {
  return readdirSync(home, { recursive: true, encoding: "utf8" })
    .map((name) => ({ name, stats: statSync(join(home, name)) }))
    .map(({ name, stats }) => (/-(wal|shm)$/.test(name) ? name : `${name} ${stats.size}`))
    .sort();
}

test("a gateway that is warmed has no row, no file and no line more, and has called nobody", async () => {
  let calls = 0;
  const upstream = Bun.serve({
    port: 0,
    fetch() {
      calls += 1;
      return new Response(null, { status: 500 });
    },
  });
  const url = upstream.url.origin;
  const gateway = await startGateway({ openai: `${url}/v1`, anthropic: url });
  const { home, services, logs } = gateway;
  const state = async () => ({ rows: rowsOf(home), files: filesOf(home), lines: logs.length, calls });
  // Usage is rolled up by the clock: the account's credit may be counted before or after this moment.
  while (rowsOf(home).ledger_hours?.length === 0) await Bun.sleep(20);
  const before = await state();
  await services.warmUp();
  expect(await state()).toEqual(before);
  await gateway.settled();
  await gateway.close();
  await upstream.stop(true);
}, 30_000);

test("a gateway that shuts down while it is warmed does not wait for that", async () => {
  const gateway = await startGateway();
  const warmed = gateway.services.warmUp();
  gateway.services.drain();
  await warmed;
  await gateway.close();
});
