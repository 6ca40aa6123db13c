import type { Model, Route } from "../../core/model.ts";
import type { Credential, Provider } from "../../providers/provider.ts";
import type { Offer } from "../offer.ts";
import { type CallBounds, NO_BOUNDS } from "./bounds.ts";
import type { WayKey } from "./way-key.ts";
import { wayKey } from "./offered-ways.ts";

/** A way to a model as it is called: by a route of it, with one of the provider's credentials. */
export interface CalledWay {
  readonly key: WayKey;
  readonly route: Route;
  /** What the vendor allows its credential. */
  readonly bounds: CallBounds;
  /** See `Provider`. */
  readonly failsAsAsked: boolean;
}

/** The same with what the credential itself says. */
export interface CredentialWay extends CalledWay {
  /** Absent where the provider has one alone. */
  readonly credential: Credential | undefined;
}

/** The ways by one route: one for each of the provider's credentials. */
export function calledWays(
  model: Model,
  route: Route,
  { credentials, failsAsAsked = false }: Provider,
): readonly CredentialWay[] {
  if (credentials === undefined) {
    const key = wayKey(model, route, "");
    return [{ key, route, bounds: NO_BOUNDS, credential: undefined, failsAsAsked }];
  }
  return credentials.map((credential) => ({
    key: wayKey(model, route, credential.name),
    route,
    bounds: credential,
    credential,
    failsAsAsked,
  }));
}

/** Whether some model of the offer can be reached in more ways than one. */
export function hasChoices(offer: Offer): boolean {
  return choices.getOrInsertComputed(offer, ({ catalog, providers }) =>
    catalog.models.some((model) => {
      const ways = model.routes.map((route) => providers.get(route.provider)?.credentials?.length ?? 1);
      return ways.reduce((sum, count) => sum + count, 0) > 1;
    }),
  );
}

const choices = new WeakMap<Offer, boolean>();
