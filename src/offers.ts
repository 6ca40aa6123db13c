import { createCatalog } from "./catalog/catalog.ts";
import type { Settings } from "./config.ts";
import type { Model } from "./core/model.ts";
import type { Offer } from "./gateway/admit.ts";
import type { SandboxRule } from "./gateway/sandbox-rule.ts";
import { servedNow } from "./gateway/served.ts";
import type { Provider } from "./providers/provider.ts";
import { sandboxRoutes } from "./providers/registry.ts";

/** What is offered by the settings that are in force. */
export interface CurrentOffer {
  readonly offer: Offer;
  readonly settings: Settings;
}

/** What is offered now, replaced whole, so that each request sees one version. */
export interface Offers {
  current(): CurrentOffer;
  /** Reads the settings again. Throws their sentence and keeps what is in force when they cannot be used. */
  reload(): void;
  /** From here on the sandbox serves what no live provider does, as far as the rule lets it. */
  openSandbox(providers: ReadonlyMap<string, Provider>, rule: SandboxRule): void;
}

/** Offers of the models in `files` and of those that the settings add. */
export function createOffers(read: () => Settings, files: readonly Model[]): Offers {
  let sandbox: ReadonlyMap<string, Provider> = new Map();
  let rule: SandboxRule | undefined;

  const build = (settings: Settings): CurrentOffer => {
    const inSandbox = rule?.serves() === true ? sandbox : new Map<string, Provider>();
    const enabled = [...files, ...settings.models]
      .map((model) => served(model, settings.providers, inSandbox))
      .filter((model) => model.supportedProtocols.length > 0);
    const twice = enabled.find(
      (model, i) => enabled.findIndex((other) => other.uniqueId === model.uniqueId) !== i,
    );
    if (twice !== undefined)
      throw new Error(`The model ${twice.uniqueId} is defined twice: give one of them another id.`);
    const providers = new Map([...settings.providers, ...inSandbox]);
    return { settings, offer: { catalog: createCatalog(enabled), providers } };
  };

  let current = build(read());
  return {
    current: () => current,
    reload() {
      const settings = read();
      if (settings.providers.size > 0) rule?.sawProvider();
      current = build(settings);
    },
    openSandbox(providers, by) {
      sandbox = providers;
      rule = by;
      current = build(current.settings);
    },
  };
}

/** The model as its live providers serve it, else as the sandbox does. */
function served(
  model: Model,
  live: ReadonlyMap<string, Provider>,
  sandbox: ReadonlyMap<string, Provider>,
): Model {
  const now = servedNow(model, live);
  if (now.supportedProtocols.length > 0) return now;
  return servedNow({ ...model, routes: sandboxRoutes(model) }, sandbox);
}
