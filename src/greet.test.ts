import { expect, test } from "bun:test";
import { type GreetingParts, greet } from "./greet.ts";
import { createCatalog } from "./catalog/catalog.ts";
import { readConfig } from "./config.ts";

/** A greeting of a new installation, and all that it said and logged; `services` are those that differ. */
async function greeted(services: Partial<GreetingParts["services"]>) {
  const said: string[] = [];
  const logged: unknown[] = [];
  const log = (_message: string, fields?: object): void => void logged.push(fields);
  let shown = 0;
  await greet({
    config: readConfig({ SWITCHYARD_HOME: "/var/lib/yard" }, "/"),
    services: {
      offer: () => ({ catalog: createCatalog([]), providers: new Map(), mediaProviders: new Map() }),
      newAdminToken: "adm-1",
      firstAccount: async () => ({ accountId: "acct_1", key: "sk-1" }),
      async shown() {
        shown += 1;
      },
      ...services,
    },
    url: "http://127.0.0.1:1",
    say: (line) => said.push(line),
    log: { info: log, warn: log, error: log },
  });
  return { said: said.join("\n"), logged, shown };
}

const fails = () => Promise.reject(new Error("Connection terminated unexpectedly"));

test("a new installation shows its token and its key, and notes that it did", async () => {
  const { said, logged, shown } = await greeted({});
  expect(said).toContain("listens on http://127.0.0.1:1 ");
  expect(said).toContain("Admin token (shown once): adm-1\nAPI key (shown once): sk-1\n");
  expect(said).toEndWith(
    "It belongs to the account acct_1, which has 100,000 credits. Its data is in /var/lib/yard.",
  );
  expect([logged, shown]).toEqual([[], 1]);
});

test("a store that cannot be asked by now is logged, and the gateway goes on: the next start shows the secrets", async () => {
  for (const services of [
    { firstAccount: fails },
    { newAdminToken: undefined, firstAccount: fails },
    { shown: fails },
  ]) {
    const { said, logged, shown } = await greeted(services);
    expect(said).toContain("listens on http://127.0.0.1:1 ");
    expect(logged).toEqual([{ error: expect.stringContaining("Connection terminated unexpectedly") }]);
    expect(shown).toBe(0);
  }
});
