import { join } from "node:path";
import type { Clock } from "./core/time/clock.ts";
import type { Log } from "./core/log/log.ts";
import type { Random } from "./core/random.ts";
import type { Config } from "./environment.ts";
import { readOwner } from "./gateway/console/owner.ts";
import { createPlayground } from "./gateway/console/playground.ts";
import { openSessions } from "./gateway/console/sessions.ts";
import type { Offer } from "./gateway/offer.ts";
import { readConsoleFiles } from "./http/console/files.ts";
import type { WebServices } from "./http/route.ts";
import { clientOf } from "./limits/addresses.ts";
import type { Books } from "./open-books.ts";
import { SANDBOX } from "./providers/registry.ts";
import { storeOrigin } from "./runtime/s3.ts";

/** What the console is served with. */
export interface WebParts {
  readonly config: Pick<Config, "assets" | "trustedProxies">;
  readonly books: Books;
  /** The keyed hash of the admin token in force. */
  readonly adminTokenHash: string;
  readonly offer: () => Offer;
  readonly publicUrl: () => string;
  /** Where the built files are; absent: in the repository. */
  readonly consoleFolder?: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const BUILT = join(import.meta.dirname, "..", "console", "dist");

/** Opens the console: its files, its sessions and its playground. */
export async function openWeb(parts: WebParts): Promise<{ readonly web: WebServices }> {
  const { config, books, offer, publicUrl, consoleFolder = BUILT } = parts;
  const web: WebServices = {
    files: readConsoleFiles(consoleFolder),
    sessions: await openSessions({ ...parts, ...books }),
    playground: createPlayground(books),
    owner: (keyId) => readOwner(books.database, keyId),
    hasSandbox: () => hasSandbox(offer()),
    fileOrigins: () => [
      new URL(publicUrl()).origin,
      ...(config.assets === undefined ? [] : [storeOrigin(config.assets)]),
    ],
    clientOf: (connected, forwardedFor) => clientOf(connected, forwardedFor, config.trustedProxies),
  };
  return { web };
}

/** Whether the sandbox serves any model of the offer. */
function hasSandbox({ catalog, providers, mediaProviders }: Offer): boolean {
  const inSandbox = (provider: string): boolean =>
    (providers.get(provider) ?? mediaProviders.get(provider))?.id === SANDBOX;
  return catalog.models.some(({ routes }) => routes.some(({ provider }) => inSandbox(provider)));
}
