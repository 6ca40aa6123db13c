import { join } from "node:path";
import { readS3Address, type S3Address } from "./assets/s3-address.ts";
import { parseFailpoint } from "./core/failpoint.ts";
import type { Range } from "./core/net/ip-address.ts";
import { checkAddress, checkAdminToken, checkCredential, refuseDangers } from "./dangers.ts";
import { SANDBOX_MODES, type SandboxMode } from "./gateway/sandbox-rule.ts";
import { readProxies } from "./limits/addresses.ts";

/** The settings that need a restart to change. */
export interface Config {
  readonly host: string;
  readonly port: number;
  /** Where metrics are shown to whoever asks; absent: nowhere. */
  readonly metricsListen: ListenAddress | undefined;
  readonly home: string;
  /** The PostgreSQL server for the books; absent: they are in the home folder. */
  readonly databaseUrl: string | undefined;
  /** Base of the URLs that the gateway hands out, without a slash at the end. */
  readonly publicUrl: string | undefined;
  readonly adminToken: string | undefined;
  /** The bucket for result files; absent: they are in the home folder. */
  readonly assets: S3Address | undefined;
  /** `auto`: until a provider was ever set, on SQLite; `on`: for models that no live provider serves. */
  readonly sandbox: SandboxMode;
  readonly settingsFile: string;
  /** Whether a new process runs made-up calls while it is idle, so that the first real ones are fast. */
  readonly warmUp: boolean;
  /** How long `readyz` is 503 before a SIGTERM closes the listener. */
  readonly shutdownDelayMs: number;
  /** How long requests under way may take once the listener is closed. */
  readonly shutdownDrainMs: number;
  /** The most requests that one client address may have under way; `undefined`: no bound. */
  readonly connectionsPerAddress: number | undefined;
  /** Proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly Range[];
  readonly failpoint: string | undefined;
  readonly writerFailpoint: string | undefined;
}

/** Where to listen. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Credentials other than providers'. */
const CREDENTIALS = [
  "SWITCHYARD_ADMIN_TOKEN",
  "AWS_ACCESS_KEY_ID",
  "AWS_SECRET_ACCESS_KEY",
  "AWS_SESSION_TOKEN",
];

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the environment. Throws one sentence that names the variable at fault. */
export function readConfig(environment: Environment, folder: string): Config {
  refuseDangers(environment);
  const value = (name: string): string | undefined => {
    const text = environment[name]?.trim();
    return text === "" ? undefined : text;
  };
  const port = Number(value("PORT") ?? "8080");
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new Error(`PORT is "${environment.PORT}", which is no port number: use 0 to 65535.`);
  }
  const shutdownMs = (name: string, otherwise: number, most: number): number => {
    const seconds = Number(value(name) ?? otherwise);
    if (seconds >= 0 && seconds <= most) return seconds * 1000;
    throw new Error(`${name} is no number of seconds from 0 to ${most}.`);
  };
  const connectionsPerAddress = value("CONNECTIONS_PER_ADDRESS");
  if (connectionsPerAddress !== undefined && !/^[1-9]\d{0,5}$/.test(connectionsPerAddress)) {
    throw new Error("CONNECTIONS_PER_ADDRESS is no whole number from 1 to 999999.");
  }
  if (value("REDIS_URL") !== undefined)
    throw new Error("REDIS_URL is set, but this version does not know it: unset it.");
  const assetsUrl = value("ASSETS_URL");
  const databaseUrl = value("DATABASE_URL");
  if (databaseUrl !== undefined && !/^postgres(ql)?:\/\/./.test(databaseUrl)) {
    throw new Error("DATABASE_URL is no URL that begins with postgres://.");
  }
  const publicUrl = value("PUBLIC_URL")?.replace(/\/+$/, "");
  if (publicUrl !== undefined) checkAddress("PUBLIC_URL", publicUrl);
  for (const name of ["SWITCHYARD_FAILPOINT", "SWITCHYARD_WRITER_FAILPOINT"])
    checkFailpoint(name, value(name));
  for (const name of CREDENTIALS) checkCredential(name, value(name) ?? "");
  const adminToken = value("SWITCHYARD_ADMIN_TOKEN");
  if (adminToken !== undefined) checkAdminToken(adminToken);
  const sandbox = value("SWITCHYARD_SANDBOX") ?? "auto";
  if (!isSandboxMode(sandbox))
    throw new Error(`SWITCHYARD_SANDBOX is "${sandbox}": use ${SANDBOX_MODES.join(", ")}.`);
  const warmUp = value("SWITCHYARD_WARM_UP") ?? "on";
  if (warmUp !== "on" && warmUp !== "off") throw new Error(`SWITCHYARD_WARM_UP is "${warmUp}": use on, off.`);
  return Object.freeze({
    host: value("HOST") ?? "127.0.0.1",
    port,
    metricsListen: readListenAddress("METRICS_LISTEN", value("METRICS_LISTEN")),
    home: value("SWITCHYARD_HOME") ?? join(folder, "data"),
    databaseUrl,
    publicUrl,
    adminToken,
    assets: assetsUrl === undefined ? undefined : readS3Address(assetsUrl, value),
    sandbox,
    settingsFile: value("SWITCHYARD_CONFIG") ?? join(folder, "switchyard.yaml"),
    warmUp: warmUp === "on",
    shutdownDelayMs: shutdownMs("SHUTDOWN_DELAY_SECONDS", 5, 600),
    shutdownDrainMs: shutdownMs("SHUTDOWN_DRAIN_SECONDS", 60, 3_600),
    connectionsPerAddress: connectionsPerAddress === undefined ? undefined : Number(connectionsPerAddress),
    trustedProxies: readTrusted(value("TRUSTED_PROXIES")),
    failpoint: value("SWITCHYARD_FAILPOINT"),
    writerFailpoint: value("SWITCHYARD_WRITER_FAILPOINT"),
  });
}

function readListenAddress(name: string, text: string | undefined): ListenAddress | undefined {
  if (text === undefined) return undefined;
  const [, v6, named, port] = /^(?:\[([\da-f:.]+)\]|([\w.-]+)):(\d{1,5})$/i.exec(text) ?? [];
  const host = v6 ?? named;
  if (host === undefined || Number(port) > 65_535)
    throw new Error(`${name} is "${text}": write host:port, as 127.0.0.1:9464 or [::1]:9464.`);
  return { host, port: Number(port) };
}

function isSandboxMode(text: string): text is SandboxMode {
  return (SANDBOX_MODES as readonly string[]).includes(text);
}

function readTrusted(text: string | undefined): readonly Range[] {
  try {
    return text === undefined ? [] : readProxies(text);
  } catch (error) {
    const words = `TRUSTED_PROXIES has ${(error as Error).message}, which is no address and no network: write 10.0.0.0/8,::1.`;
    throw new Error(words, { cause: error });
  }
}

function checkFailpoint(name: string, text: string | undefined): void {
  try {
    if (text !== undefined) parseFailpoint(text, () => {});
  } catch (error) {
    throw new Error(`${name}: ${(error as Error).message}`, { cause: error });
  }
}
