import { join } from "node:path";
import type { Config } from "./environment.ts";
import type { Settings } from "./config.ts";
import type { ProviderStatus } from "./gateway/admin/status.ts";
import type { CurrentOffer } from "./gateway/offers.ts";
import { PROVIDERS, SANDBOX } from "./providers/registry.ts";

// What the operator is shown of the configuration: each member is named here, so that no credential comes along.

/** All providers that there can be: those that come with the gateway, and those that the settings add. */
export function providerIds({ providers }: Pick<Settings, "providers">): readonly string[] {
  return [...new Set([...PROVIDERS.map(({ id }) => id), ...providers.keys(), SANDBOX])].toSorted();
}

/** Each of them as it now is. */
export function providerStatus({ settings, offer }: CurrentOffer<Settings>): readonly ProviderStatus[] {
  return providerIds(settings).map((id) => {
    const isSandbox = id === SANDBOX;
    const { providers, mediaProviders } = isSandbox ? offer : settings;
    const those = [...providers, ...mediaProviders].filter(([name]) => name.split(":")[0] === id);
    const counts = those.map(([, { credentials = [undefined] }]) => credentials.length);
    const live = those.length > 0;
    return { id, live, credentials: isSandbox ? 0 : Math.max(0, ...counts), sandbox: isSandbox };
  });
}

/** Where the books and the files are: of URLs the part without credentials. */
export function placesOf({ home, databaseUrl, assets }: Config): {
  readonly store: string;
  readonly files: string;
} {
  const database = databaseUrl === undefined ? undefined : URL.parse(databaseUrl);
  return {
    store: database ? `${database.host}${database.pathname}` : join(home, "switchyard.db"),
    files: assets === undefined ? join(home, "assets") : `s3://${assets.bucket}/${assets.prefix}`,
  };
}

/** The settings in force. */
export function shownSettings(config: Config, settings: Settings): Readonly<Record<string, unknown>> {
  const { timeouts, limits, outbound, tasks, memory, responses, routing } = settings;
  const { attempts, retryBudget, unsafeRetries, breakerFailures, breakerMs, probeMs } = routing;
  const { host, port, publicUrl, home, settingsFile, sandbox, shutdownDelayMs, shutdownDrainMs } = config;
  return {
    process: { host, port, publicUrl, home, settingsFile, sandbox, shutdownDelayMs, shutdownDrainMs },
    timeouts,
    limits,
    outbound,
    tasks,
    memory,
    responses,
    routing: { attempts, retryBudget, unsafeRetries, breakerFailures, breakerMs, probeMs },
    defaultAliases: settings.defaultAliases,
  };
}
