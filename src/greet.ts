import type { Config } from "./environment.ts";
import { describeError, type Log } from "./core/log/log.ts";
import { EXAMPLE_MODEL } from "./core/example-model.ts";
import type { Model } from "./core/model.ts";
import type { Admin } from "./gateway/admin/admin.ts";
import { FIRST_CREDITS } from "./gateway/installation.ts";
import { SANDBOX } from "./providers/registry.ts";
import type { Services } from "./services.ts";

/** What a greeting needs. */
export interface GreetingParts {
  readonly config: Config;
  readonly services: Pick<Services, "offer" | "newAdminToken" | "firstAccount" | "shown"> & {
    readonly admin: Pick<Admin, "oldestAccount">;
  };
  /** Where the gateway listens. */
  readonly url: string;
  /** Where it shows metrics without a token; absent: nowhere. */
  readonly metricsUrl?: string | undefined;
  /** Prints a line to standard output. */
  readonly say: (line: string) => void;
  readonly log: Log;
}

/**
 * Prints what the operator needs next. On the first start that is a key, a request to paste and the admin token, once;
 * on later ones how to make a key. The gateway serves by now: a store that is away is logged, and the next start shows
 * what this one could not.
 */
export async function greet(parts: GreetingParts): Promise<void> {
  const { config, services, url, say, log } = parts;
  const logFailure = (error: unknown): void =>
    log.error(
      "the secrets that are shown once could not be made or noted; the next start makes and shows them anew",
      {
        error: describeError(error),
      },
    );
  const asked = await askStore(services).catch(logFailure);
  const first = asked?.first;
  if (first !== undefined) {
    say(`export SWITCHYARD_KEY=${first.key}`);
    say(`${exampleOf(services.offer().catalog.models, url)}\n`);
  }
  sayWhereItListens(parts);
  sayWhatIsServed(parts);
  if (services.newAdminToken !== undefined) say(`Admin token (shown once): ${services.newAdminToken}`);
  if (first !== undefined) {
    const credits = FIRST_CREDITS.toLocaleString("en");
    say(
      `SWITCHYARD_KEY is shown once. It belongs to the account ${first.accountId}, which has ${credits} credits. ${whereDataIs(config)}`,
    );
  }
  if (asked?.account !== undefined) sayHowToMakeKeys(url, asked.account, say);
  // Where the store did not answer the key was not shown, and the next start must make one.
  const hasShown = services.newAdminToken !== undefined || first !== undefined;
  if (asked !== undefined && hasShown) await services.shown().catch(logFailure);
}

/** The first account when it is still to be shown, else the oldest one. */
async function askStore({ firstAccount, admin }: GreetingParts["services"]) {
  const first = await firstAccount();
  if (first !== undefined) return { first, account: undefined };
  return { first, account: await admin.oldestAccount() };
}

function sayWhereItListens({ config, url, metricsUrl, say }: GreetingParts): void {
  say(`Switchyard listens on ${url}`);
  say(`  console: ${url}/console/ (sign in with the admin token or an API key)`);
  say(`  docs: ${url}/llms.txt`);
  say(`  models: ${url}/api/v1/models`);
  say(`  description: ${url}/openapi.json`);
  if (config.publicUrl !== undefined && new URL(config.publicUrl).pathname !== "/")
    say(`  console: not below ${config.publicUrl}: it works at the root of a host alone`);
  if (metricsUrl !== undefined) say(`  metrics: ${metricsUrl}/metrics`);
}

/** A command that works as it stands, in one line so that every shell takes it. */
function exampleOf(models: readonly Model[], url: string): string {
  const served = models.filter(({ category }) => category === "language");
  const model = served.find(({ id }) => id === EXAMPLE_MODEL) ?? served[0];
  const key = '-H "Authorization: Bearer $SWITCHYARD_KEY"';
  if (model === undefined) return `curl ${url}/api/v1/models ${key}`;
  const body = { model: model.id, messages: [{ role: "user", content: "Say hello." }] };
  return `curl ${url}/api/v1/chat/completions ${key} ${asJson(body)}`;
}

function asJson(body: object): string {
  return `-H "Content-Type: application/json" -d '${JSON.stringify(body)}'`;
}

function sayWhatIsServed({ config, services, say }: GreetingParts): void {
  const { catalog, providers, mediaProviders } = services.offer();
  const isSandbox = (provider: string): boolean =>
    (providers.get(provider) ?? mediaProviders.get(provider))?.id === SANDBOX;
  const inSandbox = catalog.models.filter(({ routes }) => routes.some((route) => isSandbox(route.provider)));
  const live = [...new Set([...providers.keys(), ...mediaProviders.keys()])].filter(
    (provider) => !isSandbox(provider),
  );
  const names = (models: readonly Model[]): string => models.map((model) => model.id).join(", ") || "none";
  if (live.length > 0) {
    const served = catalog.models.filter((model) => !inSandbox.includes(model));
    say(`Providers: ${live.join(", ")}. Models: ${names(served)}`);
    const routed = new Set(catalog.models.flatMap(({ routes }) => routes.map(({ provider }) => provider)));
    const idle = live.filter((id) => !routed.has(id));
    if (idle.length > 0)
      say(`Without a model until switchyard.yaml names one (docs/configuration.md): ${idle.join(", ")}.`);
  }
  if (inSandbox.length > 0) {
    const count = `${inSandbox.length} ${inSandbox.length === 1 ? "model" : "models"}`;
    say(
      config.sandbox === "auto"
        ? `The sandbox serves ${count} with invented answers, until a provider is set: OPENAI_API_KEY=sk-... npm start`
        : `The sandbox serves ${count} with invented answers, because SWITCHYARD_SANDBOX is on: ${names(inSandbox)}`,
    );
  } else if (live.length === 0) {
    say(
      "No provider is live: set OPENAI_API_KEY, or add a provider to switchyard.yaml, to have models served.",
    );
  }
}

function sayHowToMakeKeys(url: string, account: string, say: GreetingParts["say"]): void {
  const body = asJson({ account_id: account, name: "another key" });
  say("Another key (a start with SWITCHYARD_ADMIN_TOKEN set replaces a lost admin token):");
  say(`curl ${url}/admin/v1/keys -H "Authorization: Bearer $SWITCHYARD_ADMIN_TOKEN" ${body}`);
}

/** Without the password that the address may carry. */
function whereDataIs(config: Config): string {
  if (config.databaseUrl === undefined) return `Its data is in ${config.home}.`;
  // The form for sockets, without a host, is no valid URL.
  const url = URL.parse(config.databaseUrl);
  return `Its data is in the PostgreSQL database ${url === null ? "of DATABASE_URL" : `${url.host}${url.pathname}`}.`;
}
