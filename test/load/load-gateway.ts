import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ADMIN_TOKEN, type Json } from "../gateway/gateway.ts";
import { type GatewayProcess, startProcess, temporaryFolder } from "../gateway/process.ts";
import { loadSettings, type LoadProvider, startLoadProvider } from "./provider.ts";

/** A gateway under load: a process of its own, its provider another. */
export interface LoadGateway {
  readonly url: string;
  readonly key: string;
  readonly accountId: string;
  readonly process: GatewayProcess;
  readonly provider: LoadProvider;
  admin(method: string, path: string, body?: unknown): Promise<Json>;
  /** A plain chat completion. */
  chat(content?: string, init?: RequestInit): Promise<Response>;
  /** Resident memory, in bytes; 0 where the system does not tell. */
  rss(): number;
  /** Open descriptors; 0 where the system does not tell. */
  descriptors(): number;
  /** Timers of its clock that wait; 0 where they are not counted. */
  timers(): number;
  /** CPU time so far, in seconds. */
  cpuSeconds(): number;
  /** Resolves once nothing is held, the provider is not busy any more and the descriptors are back to `count`. */
  rests(count: number): Promise<void>;
  /** What `/metrics` has under a name, of all labels together. */
  metric(name: string): Promise<number>;
  /** What the audit has found. */
  audit(): Promise<Json>;
  /** Starts the next process on the same books; this one must have ended. */
  next(): Promise<LoadGateway>;
  close(): Promise<void>;
}

export interface LoadOptions {
  /** Sections of switchyard.yaml beside the provider. */
  readonly settings?: object;
  readonly environment?: Readonly<Record<string, string>>;
  /** Counts the timers of its clock. */
  readonly countsTimers?: boolean;
}

/** What a plain chat completion asks for. */
export function chatRequest(content: string): object {
  return { model: "load/m", max_tokens: 64, messages: [{ role: "user", content }] };
}

/** Starts a gateway on books of its own, with an account that has enough. */
export async function openLoad({
  settings,
  environment = {},
  countsTimers = false,
}: LoadOptions = {}): Promise<LoadGateway> {
  const folder = temporaryFolder();
  const timersFile = join(folder.path, "timers");
  writeFileSync(timersFile, new Uint8Array(4));
  const provider = await startLoadProvider();
  const file = join(folder.path, "switchyard.yaml");
  writeFileSync(file, loadSettings(provider.url, settings));
  const all = {
    SWITCHYARD_HOME: join(folder.path, "home"),
    SWITCHYARD_CONFIG: file,
    SWITCHYARD_ADMIN_TOKEN: ADMIN_TOKEN,
    LOAD_TIMERS: timersFile,
    ...environment,
  };
  const options = countsTimers ? { preload: join(import.meta.dirname, "counted-timers.ts") } : {};
  const first = startProcess(all, options);
  const url = await first.ready();
  const admin = adminOf(url);
  const account = await admin("POST", "/accounts", { name: "load" });
  await admin("POST", `/accounts/${account.id}/credits`, { amount: 1_000_000, reason: "load" });
  const { key } = await admin("POST", "/keys", { account_id: account.id, name: "load" });
  const same = { key: key as string, accountId: account.id as string, provider };
  const open = (process: GatewayProcess, at: string): LoadGateway => ({
    ...same,
    ...measured(process, at, same),
    timers: () => readFileSync(timersFile).readUInt32LE(),
    async next() {
      const next = startProcess(all, options);
      return open(next, await next.ready());
    },
    async close() {
      process.child.kill("SIGKILL");
      await process.exited();
      provider.close();
      folder.remove();
    },
  });
  return open(first, url);
}

function adminOf(url: string): LoadGateway["admin"] {
  return async (method, path, body) => {
    const response = await fetch(`${url}/admin/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return response.json();
  };
}

/** What is asked and measured of a process. */
function measured(
  gateway: GatewayProcess,
  url: string,
  { key, accountId, provider }: Pick<LoadGateway, "key" | "accountId" | "provider">,
) {
  const pid = gateway.child.pid ?? 0;
  const admin = adminOf(url);
  const proc = (file: string): string => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, "utf8");
    } catch {
      return "";
    }
  };
  const descriptors = (): number => {
    try {
      return readdirSync(`/proc/${pid}/fd`).length;
    } catch {
      return 0;
    }
  };
  return {
    url,
    process: gateway,
    admin,
    descriptors,
    chat: (content = "Hello.", init: RequestInit = {}) =>
      fetch(`${url}/api/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json", connection: "close" },
        body: JSON.stringify(chatRequest(content)),
        ...init,
      }),
    rss: () => Number(/VmRSS:\s+(\d+)/.exec(proc("status"))?.[1] ?? 0) * 1024,
    cpuSeconds() {
      const fields = proc("stat").split(") ")[1]?.split(" ") ?? [];
      return (Number(fields[11]) + Number(fields[12])) / 100;
    },
    async rests(count: number) {
      const isBusy = async (): Promise<boolean> =>
        (await admin("GET", `/accounts/${accountId}`)).held !== 0 ||
        (await provider.counts()).now !== 0 ||
        descriptors() > count;
      while (await isBusy()) await Bun.sleep(50);
    },
    async metric(name: string) {
      const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
      const text = await (await fetch(`${url}/metrics`, { headers })).text();
      const lines = text.split("\n").filter((line) => new RegExp(`^${name}[ {]`).test(line));
      return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
    },
    audit: () => admin("GET", "/audit?full=true"),
  };
}
