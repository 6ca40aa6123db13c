import { expect, test } from "bun:test";
import { type GreetingParts, greet } from "./greet.ts";
import { buildModel, createCatalog } from "./catalog/catalog.ts";
import { readConfig } from "./environment.ts";
import type { Category, Model } from "./core/model.ts";
import type { Offer } from "./gateway/offer.ts";
import type { Provider } from "./providers/provider.ts";

/** A model as `switchyard.yaml` would add it. */
function modelOf(id: string, category: Category, provider: string): Model {
  const facts = { prices: { input: 1, output: 1 } };
  return buildModel(id, category, facts, {
    supportedProtocols: ["compat_chat_completions"],
    routes: [{ provider, upstreamId: id }],
  });
}

/** What is offered when `models` are all there are and `providers` are live. */
function offerOf(models: readonly Model[], providers: readonly string[]): () => Offer {
  const live = new Map(providers.map((id) => [id, { id } as Provider]));
  return () => ({ catalog: createCatalog(models), providers: live, mediaProviders: new Map() });
}

/** A greeting of a new installation, and all that it said and logged; `services` are those that differ. */
async function greeted(
  services: Partial<GreetingParts["services"]>,
  environment: Readonly<Record<string, string>> = {},
) {
  const said: string[] = [];
  const logged: unknown[] = [];
  const log = (_message: string, fields?: object): void => void logged.push(fields);
  let shown = 0;
  await greet({
    config: readConfig({ SWITCHYARD_HOME: "/var/lib/yard", ...environment }, "/"),
    services: {
      offer: offerOf([modelOf("openai/gpt-5.6-luna", "language", "sandbox")], ["sandbox"]),
      newAdminToken: "adm-1",
      firstAccount: async () => ({ accountId: "acct_1", key: "sk-1" }),
      admin: {
        oldestAccount: async () => "acct_9",
      },
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
const LATER = { newAdminToken: undefined, firstAccount: async () => undefined };

test("a first start shows the key, a request to paste, the links, the sandbox and the token, and notes that it did", async () => {
  const { said, logged, shown } = await greeted({});
  expect(said.split("\n")).toEqual([
    "export SWITCHYARD_KEY=sk-1",
    `curl http://127.0.0.1:1/api/v1/chat/completions -H "Authorization: Bearer $SWITCHYARD_KEY" -H "Content-Type: application/json" -d '{"model":"openai/gpt-5.6-luna","messages":[{"role":"user","content":"Say hello."}]}'`,
    "",
    "Switchyard listens on http://127.0.0.1:1",
    "  console: http://127.0.0.1:1/console/ (sign in with the admin token or an API key)",
    "  docs: http://127.0.0.1:1/llms.txt",
    "  models: http://127.0.0.1:1/api/v1/models",
    "  description: http://127.0.0.1:1/openapi.json",
    "The sandbox serves 1 model with invented answers, until a provider is set: OPENAI_API_KEY=sk-... npm start",
    "Admin token (shown once): adm-1",
    "SWITCHYARD_KEY is shown once. It belongs to the account acct_1, which has 100,000 credits. Its data is in /var/lib/yard.",
  ]);
  expect([logged, shown]).toEqual([[], 1]);
});

test("a later start shows no secret, and says how to make a key for an account that there is", async () => {
  const { said, logged, shown } = await greeted(LATER);
  expect(said).toStartWith("Switchyard listens on http://127.0.0.1:1\n");
  expect(said).not.toMatch(/shown once|SWITCHYARD_KEY/);
  expect(said).toEndWith(
    `Another key (a start with SWITCHYARD_ADMIN_TOKEN set replaces a lost admin token):\ncurl http://127.0.0.1:1/admin/v1/keys -H "Authorization: Bearer $SWITCHYARD_ADMIN_TOKEN" -H "Content-Type: application/json" -d '{"account_id":"acct_9","name":"another key"}'`,
  );
  expect([logged, shown]).toEqual([[], 0]);
});

test("the request to paste calls a language model that is served, or lists the models where none is", async () => {
  const image = modelOf("acme/image", "image", "acme");
  const mixed = await greeted({
    offer: offerOf([image, modelOf("acme/chat", "language", "acme")], ["acme"]),
  });
  expect(mixed.said).toContain('{"model":"acme/chat",');
  const images = await greeted({ offer: offerOf([image], ["acme"]) });
  expect(images.said.split("\n")[1]).toBe(
    'curl http://127.0.0.1:1/api/v1/models -H "Authorization: Bearer $SWITCHYARD_KEY"',
  );
});

test("live providers are named with their models, and the models that the sandbox serves beside them", async () => {
  const models = [modelOf("acme/chat", "language", "acme"), modelOf("other/chat", "language", "sandbox")];
  const both = await greeted(
    { offer: offerOf(models, ["acme", "sandbox"]) },
    { SWITCHYARD_SANDBOX: "on", OPENAI_API_KEY: "k" },
  );
  expect(both.said).toContain("Providers: acme. Models: acme/chat\n");
  expect(both.said).toContain(
    "The sandbox serves 1 model with invented answers, because SWITCHYARD_SANDBOX is on: other/chat\n",
  );
  const nobody = await greeted({ offer: offerOf([], []) });
  expect(nobody.said).toContain("No provider is live: set OPENAI_API_KEY");
  expect(nobody.said).not.toContain("sandbox");
});

test("a store that cannot be asked by now is logged, and the gateway goes on: the next start shows the secrets", async () => {
  for (const services of [
    { firstAccount: fails },
    { newAdminToken: undefined, firstAccount: fails },
    { shown: fails },
    { ...LATER, admin: { oldestAccount: fails } },
  ]) {
    const { said, logged, shown } = await greeted(services);
    expect(said).toContain("listens on http://127.0.0.1:1\n");
    expect(logged).toEqual([{ error: expect.stringContaining("Connection terminated unexpectedly") }]);
    expect(shown).toBe(0);
  }
});

test("the greeting says that the console is not below an address with a path", async () => {
  for (const [url, isTold] of [
    ["https://example.com/gateway", true],
    ["https://example.com", false],
  ] as const) {
    const { said } = await greeted(LATER, { PUBLIC_URL: url });
    expect([url, said.includes(`not below ${url}`)]).toEqual([url, isTold]);
  }
});
