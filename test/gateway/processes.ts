import { afterEach, beforeEach } from "bun:test";
import { join } from "node:path";
import { type GatewayProcess, shownKey, startProcess, temporaryFolder } from "./process.ts";

/** Gateways as processes on one home folder. */
export interface GatewayProcesses {
  /** Where the home folder, `home`, and the settings file, `switchyard.yaml`, are. */
  readonly path: string;
  start(environment?: Readonly<Record<string, string>>): GatewayProcess;
}

/** Gateways that live until they are closed. */
export interface OpenProcesses extends GatewayProcesses {
  /** Kills the processes, and removes the folder. */
  close(): Promise<void>;
}

/** Makes a folder for gateways that several tests look at. */
export function openGatewayProcesses(): OpenProcesses {
  const folder = temporaryFolder();
  const running: GatewayProcess[] = [];
  return {
    path: folder.path,
    start(environment = {}) {
      const gateway = startProcess({
        SWITCHYARD_HOME: join(folder.path, "home"),
        SWITCHYARD_CONFIG: join(folder.path, "switchyard.yaml"),
        ...environment,
      });
      running.push(gateway);
      return gateway;
    },
    async close() {
      for (const gateway of running) {
        gateway.child.kill("SIGKILL");
        await gateway.exited();
      }
      folder.remove();
    },
  };
}

/** Gateways of each test alone, which has a folder of its own and leaves no process. */
export function useGatewayProcesses(): GatewayProcesses {
  let processes: OpenProcesses;
  beforeEach(() => {
    processes = openGatewayProcesses();
  });
  afterEach(() => processes.close());
  return {
    get path() {
      return processes.path;
    },
    start: (environment) => processes.start(environment),
  };
}

/** The key of a first start, once it has printed it. */
export const keyOf = (gateway: GatewayProcess): string => shownKey(gateway.output()) ?? "";

/** Resolves once the gateway has printed all of its greeting. */
export async function greeted(gateway: GatewayProcess): Promise<string> {
  const url = await gateway.ready();
  await gateway.prints("It belongs to the account");
  return url;
}

/** A streamed request of chat completions. */
export const request = (key: string): RequestInit => ({
  method: "POST",
  headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
  body: JSON.stringify({
    model: "openai/gpt-5.6-luna",
    stream: true,
    max_tokens: 64,
    messages: [{ role: "user", content: "hi" }],
  }),
});
