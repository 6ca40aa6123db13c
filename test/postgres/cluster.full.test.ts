import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Client, type QueryResult } from "pg";
import { type Cluster, findPostgres, sharedCluster, startCluster } from "./cluster.ts";
import { describeOnOwnPostgres, describeOnPostgres } from "./on-postgres.ts";

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  return client;
}

async function query(url: string, statement: string): Promise<QueryResult["rows"]> {
  const client = await connect(url);
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

describeOnPostgres("the shared PostgreSQL", () => {
  test("gives each test a database of its own", async () => {
    const server = await sharedCluster();
    const [one, other] = await Promise.all([server.database(), server.database()]);
    await query(one.url, "create table t (n int)");
    const tables = "select tablename from pg_tables where schemaname = 'public'";
    expect(await query(one.url, tables)).toEqual([{ tablename: "t" }]);
    expect(await query(other.url, tables)).toEqual([]);
    await Promise.all([one.drop(), other.drop()]);
  });

  test("drops a database that is still in use", async () => {
    const database = await (await sharedCluster()).database();
    const client = await connect(database.url);
    await database.drop();
    expect(client.query("select 1")).rejects.toThrow();
    expect(query(database.url, "select 1")).rejects.toThrow("does not exist");
  });

  test("is started once", () => {
    expect(sharedCluster()).toBe(sharedCluster());
  });
});

describeOnOwnPostgres("a PostgreSQL of our own", () => {
  let cluster: Promise<Cluster> | undefined;
  const started = (): Promise<Cluster> => (cluster ??= startCluster());
  afterAll(async () => (await cluster)?.remove());

  test("keeps what was committed, and nothing else, over a crash", async () => {
    const server = await started();
    const { url } = await server.database();
    await query(url, "create table t (n int)");
    await query(url, "insert into t values (1)");
    const open = await connect(url);
    await open.query("begin; insert into t values (2)");

    await server.stop("immediate");
    expect(server.processes()).toEqual([]);
    expect(query(url, "select 1")).rejects.toThrow("ECONNREFUSED");
    await server.start();
    expect(await query(url, "select n from t")).toEqual([{ n: 1 }]);
    expect(server.log()).toContain("automatic recovery in progress");
  });

  test("starts again on the same port after an orderly stop", async () => {
    const server = await started();
    const { url } = await server.database();
    await server.stop("fast");
    await server.start();
    expect(await query(url, "select 1 as n")).toEqual([{ n: 1 }]);
  });

  test("answers nobody while it is paused, and everybody after that", async () => {
    const server = await started();
    const client = await connect(server.url);
    const order: string[] = [];
    await server.pause();
    const answers = [client.query("select 1"), query(server.url, "select 1")].map((answer) =>
      answer.then(() => order.push("answered")),
    );
    // Long enough for an answer, if there were one.
    await Bun.sleep(100);
    order.push("resumed");
    server.resume();
    await Promise.all(answers);
    expect(order).toEqual(["resumed", "answered", "answered"]);
    await client.end();
  });

  test("can be stopped while it is paused", async () => {
    const server = await started();
    await server.pause();
    await server.stop("immediate");
    await server.start();
    expect(await query(server.url, "select 1 as n")).toEqual([{ n: 1 }]);
  });

  test("says why it does not start", () => {
    const odd = startCluster({ settings: { shared_buffers: "a lot" } });
    expect(odd).rejects.toThrow('invalid value for parameter "shared_buffers"');
  });
});

describeOnOwnPostgres("nothing of a PostgreSQL is left when the process that started it", () => {
  const owners = [
    { name: "is killed", flags: [], before: "", after: "" },
    { name: "is killed with all its descendants", flags: ["--no-orphans"], before: "", after: "" },
    { name: "is killed while the server is paused", flags: [], before: "await cluster.pause();", after: "" },
    {
      name: "ends, and takes its descendants along",
      flags: ["--no-orphans"],
      before: "",
      after: "process.exit();",
    },
  ];
  for (const { name, flags, before, after } of owners) {
    test(name, async () => {
      const script = `
        import { readlinkSync } from "node:fs";
        import { startCluster } from ${JSON.stringify(join(import.meta.dirname, "cluster.ts"))};
        const cluster = await startCluster({ fsync: false });
        ${before}
        console.log(readlinkSync("/proc/" + cluster.processes()[0] + "/cwd"));
        ${after}
        setInterval(() => {}, 1000);`;
      const owner = Bun.spawn([process.execPath, ...flags, "-e", script], { stdout: "pipe" });
      const { value } = await owner.stdout.getReader().read();
      const data = new TextDecoder().decode(value).trim();
      expect(data).toContain("switchyard-postgres-");
      if (after === "") owner.kill("SIGKILL");
      await owner.exited;
      const folder = dirname(data);
      while (existsSync(folder) || processesIn(folder).length > 0) await Bun.sleep(10);
    });
  }
});

describe("the programs of PostgreSQL", () => {
  let root = "";
  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), "switchyard-programs-"));
    const server = ["initdb", "postgres", "pg_ctl"];
    const installed = {
      "debian/9.6/bin": server,
      "debian/15/bin": server,
      "debian/17/bin": ["psql"],
      path: server,
      other: ["pg_ctl"],
    };
    for (const [folder, programs] of Object.entries(installed)) {
      mkdirSync(join(root, folder), { recursive: true });
      for (const program of programs) writeFileSync(join(root, folder, program), "");
    }
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  test("are the newest of Debian's that are all there", () => {
    expect(findPostgres(join(root, "debian"), join(root, "path"))).toBe(join(root, "debian/15/bin"));
  });

  test("are else those on the path", () => {
    const none = join(root, "none");
    const [other, path] = [join(root, "other"), join(root, "path")];
    expect(findPostgres(none, `${other}:${path}`)).toBe(path);
    expect(findPostgres(none, other)).toBeUndefined();
  });
});

/** The processes whose working folder is in `folder`; Linux calls it "(deleted)" when it is gone. */
function processesIn(folder: string): string[] {
  return readdirSync("/proc").filter((name) => {
    try {
      return /^\d+$/.test(name) && readlinkSync(`/proc/${name}/cwd`).startsWith(folder);
    } catch {
      // Ended meanwhile, or not ours to look at.
      return false;
    }
  });
}
