import { expect, test } from "bun:test";
import { sql } from "kysely";
import { sharedCluster } from "../../test/postgres/cluster.ts";
import { describeOnPostgres } from "../../test/postgres/on-postgres.ts";
import { openPostgres, openUnhurried } from "./postgres.ts";
import type { Database } from "./schema.ts";

const ownProcess = async (db: Database): Promise<number> => {
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db);
  return rows[0]?.pid ?? 0;
};

describeOnPostgres("a connection that breaks while it is in use, and waits for nothing", () => {
  for (const [name, open] of Object.entries({ openPostgres, openUnhurried })) {
    test(`${name}: the next question on it fails, the one after is answered, and the process lives`, async () => {
      const { url, drop } = await (await sharedCluster()).database();
      const [db, other] = [open(url), openPostgres(url)];
      const broken = db.connection().execute(async (connection) => {
        const pid = await ownProcess(connection);
        await sql`select pg_terminate_backend(${pid})`.execute(other);
        const isGone = sql<{ n: bigint }>`select count(*) as n from pg_stat_activity where pid = ${pid}`;
        while ((await isGone.execute(other)).rows[0]?.n !== 0n) await Bun.sleep(5);
        return await ownProcess(connection);
      });
      expect(await broken.then(String, (error: Error) => error.message)).toMatch(
        /terminat|not queryable|closed|ECONNRESET/i,
      );
      // Where the server's word came before the end of the connection, the pool may give it out once more.
      const ask = (): Promise<number> => ownProcess(db);
      expect(await ask().catch(ask)).toBeGreaterThan(0);
      await Promise.all([db.destroy(), other.destroy()]);
      await drop();
    });
  }
});

describeOnPostgres("a connection for reads", () => {
  test("has its name and its time limit at the server; one for long work has no limit", async () => {
    const { url, drop } = await (await sharedCluster()).database();
    const told = async (db: Database): Promise<unknown> => {
      const { rows } = await sql`select current_setting('application_name') as name,
        current_setting('statement_timeout') as most`.execute(db);
      await db.destroy();
      return rows[0];
    };
    expect(await told(openPostgres(url))).toEqual({ name: "switchyard", most: "5s" });
    expect(await told(openUnhurried(url))).toMatchObject({ most: "0" });
    await drop();
  });
});
