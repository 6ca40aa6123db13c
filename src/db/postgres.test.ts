import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { sql } from "kysely";
import { sharedCluster } from "../../test/postgres/cluster.ts";
import { describeOnPostgres } from "../../test/postgres/on-postgres.ts";
import { atOneMoment } from "./one-moment.ts";
import { connectWriter, openPostgres, openUnhurried } from "./postgres.ts";
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

describeOnPostgres("a connection that the server ends while it is idle", () => {
  test("is replaced once its end was seen, and the process lives", async () => {
    const { url, drop } = await (await sharedCluster()).database();
    const [db, other] = [openPostgres(url, 1), openPostgres(url)];
    const pid = await ownProcess(db);
    await sql`select pg_terminate_backend(${pid})`.execute(other);
    const isGone = sql<{ n: bigint }>`select count(*) as n from pg_stat_activity where pid = ${pid}`;
    while ((await isGone.execute(other)).rows[0]?.n !== 0n) await Bun.sleep(5);
    // A read that comes before its end was seen fails with it.
    let next = await ownProcess(db).catch(() => pid);
    while (next === pid) next = await Bun.sleep(5).then(() => ownProcess(db).catch(() => pid));
    expect(next).toBeGreaterThan(0);
    await Promise.all([db.destroy(), other.destroy()]);
    await drop();
  });
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

describeOnPostgres("connections", () => {
  test("are as many as there are reads at once, but eight at most; for long work there is one", async () => {
    const { url, drop } = await (await sharedCluster()).database();
    for (const [open, most] of [
      [openPostgres, 8],
      [openUnhurried, 1],
    ] as const) {
      const db = open(url);
      const slowly = async (): Promise<number> => {
        const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid, pg_sleep(0.1)`.execute(
          db,
        );
        return rows[0]?.pid ?? 0;
      };
      const pids = await Promise.all(Array.from({ length: 9 }, slowly));
      expect(new Set(pids).size).toBe(most);
      await db.destroy();
    }
    await drop();
  });

  test.if(process.platform === "linux")("are kept alive where they are silent", async () => {
    const { url, drop } = await (await sharedCluster()).database();
    const [reads, long, writer] = [openPostgres(url), openUnhurried(url), await connectWriter(url)];
    const portOf = sql<{ port: number }>`select inet_client_port() as port`;
    const ports = [
      (await portOf.execute(reads)).rows[0]?.port,
      (await portOf.execute(long)).rows[0]?.port,
      (await writer.query<{ port: number }>("select inet_client_port() as port")).rows[0]?.port,
    ];
    // Of each socket both addresses, its state (01: connected), and the timer that runs: 02 is that of keeping alive, once
    // all is acknowledged. A port may have been another socket's before.
    const timers = (): unknown[] => {
      const lines = ["tcp", "tcp6"].flatMap((name) => readFileSync(`/proc/net/${name}`, "utf8").split("\n"));
      const sockets = lines.map((line) => line.trim().split(/\s+/));
      const inHex = (port: number): string => `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
      const server = inHex(Number(new URL(url).port));
      return ports.map((port = 0) => {
        const own = sockets.find(
          ([, local, remote, state]) =>
            state === "01" && local?.endsWith(inHex(port)) === true && remote?.endsWith(server) === true,
        );
        return own?.[5]?.slice(0, 2);
      });
    };
    while (timers().includes("01")) await Bun.sleep(5);
    expect(timers()).toEqual(["02", "02", "02"]);
    await Promise.all([reads.destroy(), long.destroy(), writer.end()]);
    await drop();
  });
});

describeOnPostgres("a connection for writes", () => {
  test("commits to the disk and plans by keys, whatever the server's own settings are", async () => {
    const { url, drop } = await (await sharedCluster()).database();
    const admin = openUnhurried(url);
    await sql`do $$ begin
      execute format('alter database %I set synchronous_commit = off', current_database());
      execute format('alter database %I set idle_in_transaction_session_timeout = 0', current_database());
    end $$`.execute(admin);
    const client = await connectWriter(url);
    const { rows } = await client.query("select name, setting from pg_settings where name = any ($1)", [
      [
        "application_name",
        "synchronous_commit",
        "enable_seqscan",
        "enable_hashjoin",
        "enable_mergejoin",
        "jit",
        "plan_cache_mode",
        "statement_timeout",
        "idle_in_transaction_session_timeout",
      ],
    ]);
    expect(Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))).toEqual({
      application_name: "switchyard",
      synchronous_commit: "on",
      enable_seqscan: "off",
      enable_hashjoin: "off",
      enable_mergejoin: "off",
      jit: "off",
      plan_cache_mode: "force_generic_plan",
      statement_timeout: "5000",
      idle_in_transaction_session_timeout: "5000",
    });
    await client.end();
    await admin.destroy();
    await drop();
  });

  test("a server that commits to others as well is left to do so", async () => {
    const { url, drop } = await (await sharedCluster()).database();
    const admin = openUnhurried(url);
    await sql`do $$ begin
      execute format('alter database %I set synchronous_commit = remote_apply', current_database());
    end $$`.execute(admin);
    const client = await connectWriter(url);
    const { rows } = await client.query("select current_setting('synchronous_commit') as told");
    expect(rows).toEqual([{ told: "remote_apply" }]);
    await client.end();
    await admin.destroy();
    await drop();
  });

  test("says that it is lost when the server ends it, and gives whole numbers exactly", async () => {
    const { url, drop } = await (await sharedCluster()).database();
    const admin = openUnhurried(url);
    let lose = (): void => {};
    const lost = new Promise<void>((resolve) => (lose = resolve));
    const client = await connectWriter(url, () => lose());
    const { rows } = await client.query("select pg_backend_pid() as pid, 9007199254740993::bigint as whole");
    expect(rows[0].whole).toBe(9_007_199_254_740_993n);
    await sql`select pg_terminate_backend(${rows[0].pid})`.execute(admin);
    await lost;
    await admin.destroy();
    await drop();
  });

  test("says that it is lost when it is ended here", async () => {
    const { url, drop } = await (await sharedCluster()).database();
    let times = 0;
    const client = await connectWriter(url, () => (times += 1));
    expect(times).toBe(0);
    await client.end();
    expect(times).toBe(1);
    await drop();
  });
});

describeOnPostgres("reads at one moment", () => {
  test("see nothing that was written since the first of them", async () => {
    const { url, drop } = await (await sharedCluster()).database();
    const [db, other] = [openPostgres(url), openPostgres(url)];
    await sql`create table t (n bigint)`.execute(db);
    const count = async (from: Database): Promise<unknown> =>
      (await sql`select count(*) as n from t`.execute(from)).rows;
    await atOneMoment(db, async (snapshot) => {
      expect(await count(snapshot)).toEqual([{ n: 0n }]);
      await sql`insert into t values (1)`.execute(other);
      expect(await count(snapshot)).toEqual([{ n: 0n }]);
    });
    expect(await count(db)).toEqual([{ n: 1n }]);
    await Promise.all([db.destroy(), other.destroy()]);
    await drop();
  });

  test("wait for no compiler", async () => {
    const { url, drop } = await (await sharedCluster()).database();
    const db = openPostgres(url);
    const { rows } = await sql`select current_setting('jit') as jit`.execute(db);
    expect(rows).toEqual([{ jit: "off" }]);
    await db.destroy();
    await drop();
  });
});
