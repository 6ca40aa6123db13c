import type { Config } from "./config.ts";
import { describeError, type Log } from "./core/log.ts";
import { FIRST_CREDITS } from "./gateway/installation.ts";
import { SANDBOX } from "./providers/registry.ts";
import type { Services } from "./services.ts";

/** What a greeting tells of, and whom. */
export interface GreetingParts {
  readonly config: Config;
  readonly services: Pick<Services, "offer" | "newAdminToken" | "firstAccount" | "shown">;
  /** Where the gateway listens. */
  readonly url: string;
  /** Prints a line for whoever started the gateway. */
  readonly say: (line: string) => void;
  readonly log: Log;
}

/**
 * Says where the gateway is, and on the first start shows the key and the token, once. It serves by now: a store that
 * cannot be asked for what is to be shown is logged, and the next start shows it.
 */
export async function greet(parts: GreetingParts): Promise<void> {
  sayWhatIsServed(parts);
  try {
    await showSecrets(parts);
  } catch (error) {
    parts.log.error("what is shown once could not be made or noted; the next start makes and shows it anew", {
      error: describeError(error),
    });
  }
}

function sayWhatIsServed({ config, services, url, say }: GreetingParts): void {
  const { catalog, providers, mediaProviders } = services.offer();
  const isSandbox = (provider: string): boolean =>
    (providers.get(provider) ?? mediaProviders.get(provider))?.id === SANDBOX;
  const inSandbox = catalog.models.filter(({ routes }) => routes.some((route) => isSandbox(route.provider)));
  const live = [...new Set([...providers.keys(), ...mediaProviders.keys()])].filter(
    (provider) => !isSandbox(provider),
  );
  say(`Switchyard listens on ${url} (API: ${url}/api/v1, description: ${url}/openapi.json)`);
  const names = (models: typeof inSandbox): string => models.map((model) => model.id).join(", ") || "none";
  if (live.length === 0) {
    say(
      "No provider is live: set OPENAI_API_KEY, or add a provider to switchyard.yaml, to have models served.",
    );
  } else {
    const served = catalog.models.filter((model) => !inSandbox.includes(model));
    say(`Providers: ${live.join(", ")}. Models: ${names(served)}`);
    const routed = new Set(catalog.models.flatMap(({ routes }) => routes.map(({ provider }) => provider)));
    const idle = live.filter((id) => !routed.has(id));
    if (idle.length > 0)
      say(`Without a model until switchyard.yaml names one (docs/configuration.md): ${idle.join(", ")}.`);
  }
  if (inSandbox.length > 0) {
    say(
      `The sandbox serves ${inSandbox.length} models with invented answers: ${names(inSandbox)}. ${
        config.sandbox === "auto"
          ? "It ends when a provider is set."
          : "SWITCHYARD_SANDBOX=on says so: no provider of theirs is live."
      }`,
    );
  }
}

async function showSecrets({ config, services, say }: GreetingParts): Promise<void> {
  if (services.newAdminToken !== undefined) say(`Admin token (shown once): ${services.newAdminToken}`);
  const first = await services.firstAccount();
  if (first !== undefined) {
    say(`API key (shown once): ${first.key}`);
    say(
      `It belongs to the account ${first.accountId}, which has ${FIRST_CREDITS.toLocaleString("en")} credits. ${whereDataIs(config)}`,
    );
  }
  if (services.newAdminToken !== undefined || first !== undefined) await services.shown();
}

/** Without the password that the address may carry. */
function whereDataIs(config: Config): string {
  if (config.databaseUrl === undefined) return `Its data is in ${config.home}.`;
  // The form for sockets, without a host, is no URL to the letter.
  const url = URL.parse(config.databaseUrl);
  return `Its data is in the PostgreSQL database ${url === null ? "of DATABASE_URL" : `${url.host}${url.pathname}`}.`;
}
