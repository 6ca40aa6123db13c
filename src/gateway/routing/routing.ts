import type { Model, RouteOrder, Routing as ModelRouting } from "../../core/model.ts";
import type { Random } from "../../core/random.ts";
import type { Clock } from "../../core/time/clock.ts";
import { createHealth, type Health } from "./health.ts";
import type { WayKey } from "./way-key.ts";
import { createWayOrder, type OrderTerms, type Way } from "./order.ts";
import { createRetryBudget, type RetryBudget } from "./retry-budget.ts";
import { isStickyByItself, type RoutingSettings } from "./settings.ts";

/** How requests of this process find their way to providers. */
export interface Routing {
  readonly health: Health;
  readonly budget: RetryBudget;
  readonly random: Random;
  settings(): RoutingSettings;
  /**
   * The ways to a model in the order in which to try them: by the model's own setting, or as the caller asks. Requests
   * with the same `stickyKey` go the same way, where the model is set so and the caller asks for no other.
   */
  order<Each extends Way>(
    ways: readonly Each[],
    model: Pick<Model, "routing" | "prices" | "priceVersion">,
    terms?: OrderTerms & { readonly by?: RouteOrder | undefined },
  ): readonly Each[];
  /** A request with the key was served by the way. */
  served(stickyKey: number, way: WayKey): void;
}

/** What routing is made of. */
export interface RoutingParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Those in force: they are read at each use, so that a change holds at once. */
  readonly settings: () => RoutingSettings;
  /** All ways of the current offer. */
  readonly ways: () => Iterable<WayKey>;
}

/** Routing that knows nothing of its providers yet. */
export function createRouting(parts: RoutingParts): Routing {
  const { random, settings } = parts;
  const health = createHealth(parts);
  const order = createWayOrder({ ...parts, health });
  return {
    health,
    budget: createRetryBudget(settings),
    random,
    settings,
    order(ways, model, terms = {}) {
      const routing = routingOf(model);
      if (terms.by === undefined) return order.of(ways, { ...terms, routing, model });
      return order.of(ways, { ...terms, routing: { ...routing, by: terms.by }, isAsked: true, model });
    },
    served: (stickyKey, way) => order.served(stickyKey, way),
  };
}

/** How requests for a model find their route: as the operator says, else as its routes are listed. */
export function routingOf({ routing, prices }: Pick<Model, "routing" | "prices">): ModelRouting {
  return routing ?? (isStickyByItself({ prices }) ? STICKY : AS_LISTED);
}

const AS_LISTED: ModelRouting = { by: "order", sticky: false, fallback: [] };
const STICKY: ModelRouting = { ...AS_LISTED, sticky: true };
