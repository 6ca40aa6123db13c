import { spawn } from "node:child_process";
import { join } from "node:path";

/** A provider for load that runs in a process of its own. */
export interface LoadProvider {
  readonly url: string;
  counts(): Promise<ProviderCounts>;
  /** Ends the streams that are held. */
  release(): Promise<void>;
  /** Has calls for `MOODY` fail, or not any more. */
  setBad(isBad: boolean): Promise<void>;
  close(): void;
}

/** What a provider was asked for, and what became of it. */
export interface ProviderCounts {
  readonly requests: number;
  /** Answers that were written to their end. */
  readonly finished: number;
  /** Answers that the gateway left. */
  readonly left: number;
  /** Of these so many were to break. */
  readonly faults: number;
  /** Under way now, and at the most. */
  readonly now: number;
  readonly most: number;
  readonly held: number;
}

/** The model that the provider serves, as the settings of a gateway name it. */
export const MODEL = "load/m";

/** A model whose first route can be made to fail; the second is the provider's other address. */
export const MOODY = "moody/m";

/** The settings of a gateway with that provider. */
export function loadSettings(url: string, more: object = {}): string {
  const model = { upstream_id: "m", prices: { input: 1, output: 2 } };
  const routes = [{ provider: "moody" }, { provider: "load", upstream_id: "m" }];
  return JSON.stringify({
    providers: {
      load: { base_url: `${url}/v1`, models: [{ id: MODEL, ...model }] },
      moody: { base_url: `${url}/moody/v1`, models: [{ id: MOODY, ...model }] },
    },
    routing: { models: { [MOODY]: { routes } } },
    ...more,
  });
}

/** Starts the provider. */
export async function startLoadProvider(): Promise<LoadProvider> {
  const child = spawn(process.execPath, ["--no-install", join(import.meta.dirname, "provider-main.ts")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const port = await new Promise<string>((resolve, reject) => {
    child.stdout.on("data", (text: Buffer) => resolve(/listens at (\d+)/.exec(text.toString())?.[1] ?? ""));
    child.on("close", () => reject(new Error("The provider of the load has ended.")));
  });
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    counts: async () => (await (await fetch(`${url}/counts`)).json()) as ProviderCounts,
    release: async () => void (await (await fetch(`${url}/release`, { method: "POST" })).text()),
    setBad: async (isBad) =>
      void (await (await fetch(`${url}/${isBad ? "bad" : "well"}`, { method: "POST" })).text()),
    close: () => void child.kill("SIGKILL"),
  };
}
