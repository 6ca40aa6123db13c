import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig, type Environment } from "../../src/environment.ts";
import { systemClock } from "../../src/core/time/clock.ts";
import { systemRandom } from "../../src/core/random.ts";
import { buildServices, type Services } from "../../src/services.ts";
import { createSandboxRule } from "../../src/gateway/sandbox-rule.ts";

// When the sandbox serves: a mistyped key must never have invented answers billed.

const silent = { info() {}, warn() {}, error() {} };
const LOCAL =
  "providers:\n  local:\n    base_url: http://127.0.0.1:1/v1\n    models: [{ id: a/b, prices: { input: 1, output: 1 } }]\n";

let folder: string;
let open: Services[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "switchyard-sandbox-"));
  open = [];
});
afterEach(async () => {
  for (const services of open) await services.close();
  rmSync(folder, { recursive: true, force: true });
});

const settings = (text: string): void => writeFileSync(join(folder, "switchyard.yaml"), text);

async function start(environment: Environment = {}): Promise<Services> {
  const all = { SWITCHYARD_HOME: join(folder, "home"), ...environment };
  const services = await buildServices({
    config: readConfig(all, folder),
    environment: all,
    clock: systemClock,
    random: systemRandom,
    log: silent,
  });
  open.push(services);
  return services;
}

async function stop(): Promise<void> {
  for (const services of open.splice(0)) await services.close();
}

/** How many models the sandbox serves, and how many others are served. */
function served(services: Services): { readonly sandbox: number; readonly live: number } {
  const { catalog, providers, mediaProviders } = services.offer();
  const idOf = (route: string): string | undefined =>
    providers.get(route)?.id ?? mediaProviders.get(route)?.id;
  const sandbox = catalog.models.filter(({ routes }) =>
    routes.some(({ provider }) => idOf(provider) === "sandbox"),
  ).length;
  return { sandbox, live: catalog.models.length - sandbox };
}

describe("auto", () => {
  test("serves every model while no provider was ever set, also after a restart", async () => {
    for (const environment of [{}, { SWITCHYARD_SANDBOX: "auto" }, { OPENAI_API_KEY: " " }]) {
      expect(served(await start(environment))).toEqual({ sandbox: 26, live: 0 });
      await stop();
    }
  });

  test("is off once a key was set, also when the key is gone", async () => {
    expect(served(await start({ OPENAI_API_KEY: "sk-x" }))).toEqual({ sandbox: 0, live: 7 });
    await stop();
    expect(served(await start())).toEqual({ sandbox: 0, live: 0 });
    await stop();
    expect(served(await start({ SWITCHYARD_SANDBOX: "on" }))).toEqual({ sandbox: 26, live: 0 });
  });

  test("is off from the moment that the settings name a provider, for good", async () => {
    const services = await start();
    settings(LOCAL);
    services.reload();
    expect(served(services)).toEqual({ sandbox: 0, live: 1 });
    settings("");
    services.reload();
    expect(served(services)).toEqual({ sandbox: 0, live: 0 });
    await stop();
    expect(served(await start())).toEqual({ sandbox: 0, live: 0 });
  });
});

test("auto is off where processes share a store; on is on", async () => {
  const installation = { hadProvider: async () => false, hasProvider: async () => {} };
  for (const [mode, serves] of [
    ["auto", false],
    ["on", true],
    ["off", false],
  ] as const) {
    const parts = { mode, onSqlite: false, installation, hasProvider: false, onFailure: () => {} };
    expect([mode, (await createSandboxRule(parts)).serves()]).toEqual([mode, serves]);
  }
});

test("on serves the models that have no live provider", async () => {
  const services = await start({ SWITCHYARD_SANDBOX: "on", OPENAI_API_KEY: "sk-x" });
  expect(served(services)).toEqual({ sandbox: 19, live: 7 });
});

test("off serves nothing", async () => {
  expect(served(await start({ SWITCHYARD_SANDBOX: "off" }))).toEqual({ sandbox: 0, live: 0 });
});

test("another word is refused by name", () => {
  expect(() => readConfig({ SWITCHYARD_SANDBOX: "yes" }, folder)).toThrow(
    'SWITCHYARD_SANDBOX is "yes": use auto, on, off.',
  );
});

test("no provider of the settings can call itself the sandbox", async () => {
  settings(LOCAL.replace("local:", "sandbox:"));
  const refused = await start().catch((error: Error) => error.message);
  expect(refused).toContain("providers.sandbox has a name that is taken");
});
