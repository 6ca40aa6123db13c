import { createCatalog } from "../catalog/catalog.ts";
import type { NameRules } from "../catalog/name-rules.ts";
import type { Model } from "../core/model.ts";
import { sandboxRoutes } from "../providers/registry.ts";
import type { Offer } from "./offer.ts";
import { routed, type RoutingSettings } from "./routing/settings.ts";
import type { SandboxRule } from "./sandbox-rule.ts";
import { isServed, type LiveProviders, servedNow } from "./served.ts";

/** The settings that decide what is offered. */
export interface OfferSettings extends LiveProviders {
  /** Models beside those that come with the gateway. */
  readonly models: readonly Model[];
  /** Other names of models, each with the id that it leads to. */
  readonly aliases: ReadonlyMap<string, string>;
  /** Whether the aliases of the catalogue's rules are in force, too. */
  readonly defaultAliases: boolean;
  readonly routing: RoutingSettings;
}

/** What is offered by the settings in force. */
export interface CurrentOffer<Settings extends OfferSettings> {
  readonly offer: Offer;
  readonly settings: Settings;
}

/** The present offer, replaced whole, so that each request sees one version. */
export interface Offers<Settings extends OfferSettings> {
  current(): CurrentOffer<Settings>;
  /** Reads the settings again. Throws their sentence and keeps those in force when they are wrong. */
  reload(): void;
  /** From here on the sandbox serves models without a live provider, where the rule allows it. */
  openSandbox(sandbox: LiveProviders, rule: SandboxRule): void;
}

const NOBODY: LiveProviders = { providers: new Map(), mediaProviders: new Map() };

/**
 * Offers of the models in `files` and of those that the settings add, by the names that `rules` and the settings give.
 */
export function createOffers<Settings extends OfferSettings>(
  read: () => Settings,
  files: readonly Model[],
  rules: NameRules,
): Offers<Settings> {
  let sandbox = NOBODY;
  let rule: SandboxRule | undefined;

  const build = (settings: Settings): CurrentOffer<Settings> => {
    const inSandbox = rule?.serves() === true ? sandbox : NOBODY;
    const known = routed([...files, ...settings.models], settings.routing);
    const enabled = known
      .map((model) => served(model, settings, inSandbox))
      .filter((model) => model !== undefined);
    const twice = enabled.find(
      (model, i) => enabled.findIndex((other) => other.uniqueId === model.uniqueId) !== i,
    );
    if (twice !== undefined)
      throw new Error(`The model ${twice.uniqueId} is defined twice: give one of them another id.`);
    return {
      settings,
      offer: {
        catalog: createCatalog(enabled, {
          known,
          aliases: settings.aliases,
          rules: settings.defaultAliases ? rules : { ...rules, aliases: new Map() },
        }),
        providers: new Map([...settings.providers, ...inSandbox.providers]),
        mediaProviders: new Map([...settings.mediaProviders, ...inSandbox.mediaProviders]),
      },
    };
  };

  let current = build(read());
  return {
    current: () => current,
    reload() {
      const settings = read();
      if (hasProvider(settings)) rule?.sawProvider();
      current = build(settings);
    },
    openSandbox(by, under) {
      sandbox = by;
      rule = under;
      current = build(current.settings);
    },
  };
}

/** Whether any provider can be called by these settings. */
export function hasProvider({ providers, mediaProviders }: LiveProviders): boolean {
  return providers.size > 0 || mediaProviders.size > 0;
}

/** The model as its live providers serve it, else as the sandbox does; `undefined` when it is not served. */
function served(model: Model, live: LiveProviders, sandbox: LiveProviders): Model | undefined {
  const now = servedNow(model, live);
  if (isServed(now)) return now;
  const invented = servedNow({ ...model, routes: sandboxRoutes(model) }, sandbox);
  return isServed(invented) ? invented : undefined;
}
