import { readFileSync } from "node:fs";
import { join } from "node:path";
import { shownKey, startProcess, temporaryFolder } from "../gateway/process.ts";
import { openRawClient, type RawClient } from "../upstream/raw-client.ts";

/** A gateway of its own that may have few descriptors, and many clients of it. */
export interface Crowd {
  readonly url: string;
  readonly key: string;
  /** All that the gateway has printed. */
  log(): string;
  /** Resolves once the gateway has printed it. */
  logged(text: string): Promise<void>;
  /** Connects `count` clients that each send `bytes`; those that the system refuses are none. */
  connect(count: number, bytes: string): Promise<readonly RawClient[]>;
  /** Resolves once the gateway has used next to none of its core for a moment. One that spins never does. */
  rests(): Promise<void>;
  /** A chat completion of the sandbox, over a connection of its own; tried until it is answered by 200. */
  served(): Promise<Response>;
  isAlive(): boolean;
  leave(): void;
  close(): Promise<void>;
}

/** The request of `served`. */
export const CHAT = JSON.stringify({
  model: "openai/gpt-5.6-luna",
  // So little is held that the credit lasts for all.
  max_tokens: 16,
  messages: [{ role: "user", content: "Say hello." }],
});

/** Hundredths of a second of a core, by which Linux counts: what a gateway that does nothing uses in a second at most. */
const RESTING_TICKS = 15;

/** Starts a gateway that may open `descriptors` descriptors. */
export async function openCrowd(descriptors: number): Promise<Crowd> {
  const folder = temporaryFolder();
  const home = {
    SWITCHYARD_HOME: join(folder.path, "home"),
    SWITCHYARD_CONFIG: join(folder.path, "none.yaml"),
  };
  const gateway = startProcess(home, { descriptors });
  const url = await gateway.ready();
  const key = shownKey(gateway.output()) ?? "";
  let clients: readonly RawClient[] = [];
  const leave = (): void => {
    for (const client of clients) client.close();
    clients = [];
  };
  const cpuTicks = (): number => {
    const stat = readFileSync(`/proc/${gateway.child.pid}/stat`, "utf8");
    const fields = stat.split(") ")[1]?.split(" ") ?? [];
    return Number(fields[11]) + Number(fields[12]);
  };
  const ask = (): Promise<Response | undefined> =>
    fetch(`${url}/api/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", connection: "close" },
      body: CHAT,
    }).catch(() => undefined);
  return {
    url,
    key,
    log: gateway.output,
    async logged(text) {
      while (!gateway.output().includes(text)) await Bun.sleep(10);
    },
    async connect(count, bytes) {
      const opened = await Promise.allSettled(Array.from({ length: count }, () => openRawClient(url)));
      clients = opened.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
      for (const client of clients) client.send(bytes);
      return clients;
    },
    async rests() {
      for (let before = cpuTicks(); ;) {
        await Bun.sleep(1_000);
        const now = cpuTicks();
        if (now - before < RESTING_TICKS) return;
        before = now;
      }
    },
    async served() {
      for (;;) {
        const response = await ask();
        if (response?.status === 200) return response;
        await Bun.sleep(50);
      }
    },
    isAlive: () => gateway.child.exitCode === null,
    leave,
    async close() {
      leave();
      gateway.child.kill("SIGKILL");
      await gateway.exited();
      folder.remove();
    },
  };
}
