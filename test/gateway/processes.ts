import { afterEach, beforeEach } from "bun:test";
import { join } from "node:path";
import { type GatewayProcess, shownKey, startProcess, temporaryFolder } from "./process.ts";

/** Gateways as processes on one home folder; each test has a folder of its own, and leaves no process. */
export interface GatewayProcesses {
  /** Where the home folder, `home`, and the settings file, `switchyard.yaml`, are. */
  readonly path: string;
  start(environment?: Readonly<Record<string, string>>): GatewayProcess;
}

/** Makes the folder before each test, and kills what was started after it. */
export function useGatewayProcesses(): GatewayProcesses {
  let folder: ReturnType<typeof temporaryFolder>;
  let running: GatewayProcess[] = [];
  beforeEach(() => {
    folder = temporaryFolder();
  });
  afterEach(async () => {
    for (const gateway of running) {
      gateway.child.kill("SIGKILL");
      await gateway.exited();
    }
    running = [];
    folder.remove();
  });
  return {
    get path() {
      return folder.path;
    },
    start(environment = {}) {
      const gateway = startProcess({
        SWITCHYARD_HOME: join(folder.path, "home"),
        SWITCHYARD_CONFIG: join(folder.path, "switchyard.yaml"),
        ...environment,
      });
      running.push(gateway);
      return gateway;
    },
  };
}

/** The key of a first start, once it has printed it. */
export const keyOf = (gateway: GatewayProcess): string => shownKey(gateway.output()) ?? "";

/** Resolves once the gateway has printed all of its greeting. */
export async function greeted(gateway: GatewayProcess): Promise<string> {
  const url = await gateway.ready();
  while (!gateway.output().includes("It belongs to the account"))
    await new Promise((resolve) => setImmediate(resolve));
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
