import { randomBytes, randomInt } from "node:crypto";
import { appendFileSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { delimiter, join } from "node:path";
import { Client } from "pg";
import { type Guard, startGuard } from "./guard.ts";

/** An empty database of its own for a test. */
export interface Database {
  readonly url: string;
  /** Removes it, and ends the connections to it. */
  drop(): Promise<void>;
}

/** A PostgreSQL that gives out databases. */
export interface DatabaseServer {
  /** Makes a database for one caller. */
  database(): Promise<Database>;
}

/** A PostgreSQL server of our own, which may be stopped and started. */
export interface Cluster extends DatabaseServer {
  /** The superuser's URL, of the database `postgres`. */
  readonly url: string;
  /** The process ids of the server as it runs now, the postmaster's first; none when it is stopped. */
  processes(): readonly number[];
  /** `fast` ends the connections and writes a checkpoint; `immediate` is a crash, which the next start recovers from. */
  stop(mode: "fast" | "immediate"): Promise<void>;
  /** Starts it again on the same port; resolves when it takes connections. */
  start(): Promise<void>;
  /** Freezes every process of the server: it accepts nothing, answers nothing and closes nothing. Linux only. */
  pause(): Promise<void>;
  /** Lets it go on. */
  resume(): void;
  /** All that the server has logged. */
  log(): string;
  /** Ends it and removes its folder. What is not removed ends with this process, however that ends. */
  remove(): Promise<void>;
}

/** How a cluster differs from the plain one. */
export interface ClusterOptions {
  /** Whether commits are on the disk before they are answered (the default); tests that never stop the server need not wait. */
  readonly fsync?: boolean;
  /** Further lines of postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>;
}

const DEBIAN = "/usr/lib/postgresql";
const PROGRAMS = ["initdb", "postgres", "pg_ctl"];
const INITDB =
  "initdb -D data --username=switchyard --auth=trust --encoding=UTF8 --no-locale --no-sync --no-instructions";

/** The folder of PostgreSQL's server programs: the newest of Debian's, else the first on the path. */
export function findPostgres(debian = DEBIAN, path = process.env.PATH ?? ""): string | undefined {
  const versions = existsSync(debian) ? readdirSync(debian) : [];
  const folders = [
    ...versions.sort((a, b) => Number(b) - Number(a)).map((version) => join(debian, version, "bin")),
    ...path.split(delimiter),
  ];
  return folders.find((folder) => PROGRAMS.every((program) => existsSync(join(folder, program))));
}

/** Starts a new server on 127.0.0.1 with a folder of its own. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const bin = findPostgres();
  if (bin === undefined) throw new Error("PostgreSQL is not installed.");
  const guard = startGuard(bin);
  try {
    const port = await freePort();
    await guard.run(INITDB);
    appendFileSync(join(guard.folder, "data/postgresql.conf"), settingsText(port, options));
    const cluster = createCluster(guard, `postgres://switchyard@127.0.0.1:${port}/postgres`);
    await cluster.start();
    return cluster;
  } catch (error) {
    await guard.end();
    throw error;
  }
}

let shared: Promise<DatabaseServer> | undefined;

/**
 * The one server of this process, started by the first call. It is that of SWITCHYARD_TEST_POSTGRES (a superuser's URL)
 * where it is set, else our own without fsync.
 */
export function sharedCluster(): Promise<DatabaseServer> {
  const url = process.env.SWITCHYARD_TEST_POSTGRES;
  shared ??= url ? Promise.resolve(serverAt(url)) : startCluster({ fsync: false });
  return shared;
}

function createCluster(guard: Guard, url: string): Cluster {
  const log = (): string => readIfThere(join(guard.folder, "log"));
  const processes = (): number[] => {
    const postmaster = Number.parseInt(readIfThere(join(guard.folder, "data/postmaster.pid")), 10);
    // The file outlives a postmaster that was killed.
    return existsSync(`/proc/${postmaster}`) ? [postmaster, ...childrenOf(postmaster)] : [];
  };
  const resume = (): void => {
    for (const pid of processes()) signal(pid, "SIGCONT");
  };
  return {
    url,
    ...serverAt(url),
    processes,
    log,
    resume,
    async stop(mode) {
      resume();
      await guard.run(`pg_ctl stop -D data -m ${mode}`);
    },
    async start() {
      await guard.run("pg_ctl start -D data -l log").catch((cause: unknown) => {
        throw new Error(`PostgreSQL did not start: ${log().slice(-2000)}`, { cause });
      });
    },
    async pause() {
      const [postmaster] = processes();
      if (postmaster === undefined) throw new Error("PostgreSQL is not running.");
      // The postmaster first: after that there are no new backends.
      await freeze(postmaster);
      await Promise.all(childrenOf(postmaster).map(freeze));
    },
    remove: () => guard.end(),
  };
}

function serverAt(url: string): DatabaseServer {
  return {
    async database() {
      const name = `switchyard_test_${randomBytes(6).toString("hex")}`;
      await execute(url, `create database ${name}`);
      return {
        url: Object.assign(new URL(url), { pathname: name }).href,
        drop: () => execute(url, `drop database if exists ${name} with (force)`),
      };
    },
  };
}

async function execute(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url });
  // A lost connection rejects the query as well; without a listener it would end the process.
  client.on("error", () => {});
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

function settingsText(port: number, { fsync = true, settings = {} }: ClusterOptions): string {
  const all = {
    port: String(port),
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    max_connections: "100",
    shared_buffers: "16MB",
    // Without fsync a torn page cannot be mended anyhow.
    ...(fsync ? {} : { fsync: "off", full_page_writes: "off" }),
    ...settings,
  };
  return Object.entries(all)
    .map(([name, value]) => `${name} = '${value}'\n`)
    .join("");
}

/**
 * A port without a listener, from below those that the system hands out: no process gets it while the server is stopped
 * for a moment.
 */
/** A port without a listener now. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_240, 32_768);
    const isFree = await new Promise<boolean>((resolve) => {
      const server = createServer();
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}

function childrenOf(pid: number): number[] {
  return readIfThere(`/proc/${pid}/task/${pid}/children`)
    .split(" ")
    .filter((text) => text !== "")
    .map(Number);
}

/** Stops a process, and resolves when it no longer runs. */
async function freeze(pid: number): Promise<void> {
  signal(pid, "SIGSTOP");
  while (/^State:\s+[^TZX]/m.test(readIfThere(`/proc/${pid}/status`))) await Bun.sleep(1);
}

/** Sends a signal to a process that may have ended meanwhile, as backends do. */
function signal(pid: number, name: "SIGSTOP" | "SIGCONT"): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

/** The text of a file, or none when it is gone, as files of processes may be at any time. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
