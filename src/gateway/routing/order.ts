import type { Model, Route, Routing } from "../../core/model.ts";
import { costPlan } from "../../core/money/operator-cost.ts";
import { type PricePlan, pricePlan } from "../../core/money/price-plan.ts";
import { NO_USAGE } from "../../core/money/usage.ts";
import { fraction, type Random } from "../../core/random.ts";
import type { Clock } from "../../core/time/clock.ts";
import type { CallBounds } from "./bounds.ts";
import type { Health, Standing } from "./health.ts";
import type { WayKey } from "./way-key.ts";

/** A route of a model by one of its provider's credentials. */
export interface Way {
  readonly key: WayKey;
  readonly route: Pick<Route, "provider" | "upstreamId" | "weight" | "cost">;
  /** What the credential is allowed; absent: no bounds are known. */
  readonly bounds?: CallBounds | undefined;
}

/** What an order goes by. */
export interface Ordering extends OrderTerms {
  readonly routing: Pick<Routing, "by" | "sticky">;
  /** A caller asked for just this order: stickiness only chooses among what is equal by it. */
  readonly isAsked?: boolean;
  readonly model: Pick<Model, "prices" | "priceVersion">;
}

/** What an order depends on beside the model. */
export interface OrderTerms {
  /** The same for requests for the model that begin alike, a whole number; absent where that is not known. */
  readonly stickyKey?: number | undefined;
  /** The order by weight is the same for the same whole number; absent: it is drawn anew each time. */
  readonly drawKey?: number | undefined;
  /** The answer is to come whole, so that the time of whole answers counts; absent: it is streamed, or a task. */
  readonly isPlain?: boolean;
  /** What a route costs; absent: as language models do. */
  readonly costOf?: (route: Pick<Route, "cost">) => number;
}

/** Decides which way to a model is tried first. */
export interface WayOrder {
  /**
   * The ways in the order in which to try them; `ways` has the routes as they are listed, and the credentials of each.
   * Those that can be called now, bounds included, come first, an open breaker last. A half-open one keeps its place: it
   * lets one call through, and would never be tried behind a way that works.
   */
  of<Each extends Way>(ways: readonly Each[], ordering: Ordering): readonly Each[];
  /** A request with the key was served by the way. */
  served(stickyKey: number, way: WayKey): void;
}

export interface OrderParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly health: Pick<Health, "look">;
}

/** How many sticky keys are remembered, and for how long: about as long as vendors keep a prompt in their cache. */
const MOST_STICKY = 10_000;
const STICKY_MS = 5 * 60_000;

/** The part of the requests that try a way whose latency is not known. */
const EXPLORED = 0.1;

/** What the cost of a route is compared by: three times as much input as output. */
const TYPICAL_USAGE = { ...NO_USAGE, input: 3_000, output: 1_000 };

/** An order that remembers where requests with sticky keys were served. */
export function createWayOrder(parts: OrderParts): WayOrder {
  return new RememberingOrder(parts);
}

/** A way and all that it is compared by, the most important first; less is better. */
interface Ranked<Each> {
  readonly way: Each;
  readonly ranks: readonly number[];
}

class RememberingOrder implements WayOrder {
  readonly #parts: OrderParts;
  /** Least recently used first. */
  readonly #sticky = new Map<number, { readonly way: WayKey; readonly atMs: number }>();

  constructor(parts: OrderParts) {
    this.#parts = parts;
  }

  of<Each extends Way>(ways: readonly Each[], ordering: Ordering): readonly Each[] {
    if (ways.length <= 1) return ways;
    const { routing, stickyKey, isAsked = false } = ordering;
    const key = routing.sticky ? stickyKey : undefined;
    const last = key === undefined ? undefined : this.#lastWay(key);
    const standings = ways.map((way) => this.#parts.health.look(way.key, way.bounds));
    const scores = this.#scores(ways, ordering, { key, standings });
    const ranked = ways.map((way, i): Ranked<Each> => {
      const standing = standings[i] as Standing;
      const lastFirst = last !== undefined && isSameWay(last, way.key) ? 0 : 1;
      const listed = ways.findIndex(({ route }) => nameOf(route) === nameOf(way.route));
      const byRoute = [scores[i] as number, listed];
      return {
        way,
        ranks: [
          readiness(standing),
          ...(isAsked ? [...byRoute, lastFirst] : [lastFirst, ...byRoute]),
          ...(key === undefined ? [standing.underWay, standing.lastUse] : [share(key, way.key.credential)]),
        ],
      };
    });
    return ranked.sort(byRanks).map(({ way }) => way);
  }

  served(stickyKey: number, way: WayKey): void {
    this.#sticky.delete(stickyKey);
    this.#sticky.set(stickyKey, { way, atMs: this.#parts.clock.steadyMs() });
    if (this.#sticky.size <= MOST_STICKY) return;
    for (const oldest of this.#sticky.keys()) {
      this.#sticky.delete(oldest);
      return;
    }
  }

  #lastWay(key: number): WayKey | undefined {
    const last = this.#sticky.get(key);
    if (last === undefined || this.#parts.clock.steadyMs() - last.atMs <= STICKY_MS) return last?.way;
    this.#sticky.delete(key);
    return undefined;
  }

  /** How good the route of each way is, by the operator's order; less is better. */
  #scores(
    ways: readonly Way[],
    { routing: { by }, model, drawKey, costOf, isPlain = false }: Ordering,
    { key, standings }: { readonly key: number | undefined; readonly standings: readonly Standing[] },
  ): readonly number[] {
    const { clock, random } = this.#parts;
    if (by === "weight") {
      const chosenBy = key ?? drawKey ?? fraction(random) * 2 ** 32;
      // Weighted rendezvous: each route is first as often as its weight, and for the same key always the same is.
      return ways.map(({ route }) => -Math.log(share(chosenBy, nameOf(route))) / (route.weight ?? 1));
    }
    if (by === "cost") {
      const nowMs = clock.nowMs();
      const typical = ({ cost }: Way["route"]): number =>
        typicalCost(cost === undefined ? pricePlan(model, nowMs) : costPlan(cost, nowMs));
      return ways.map(({ route }) => (costOf ?? typical)(route));
    }
    if (by === "latency") {
      const known = latenciesOf(standings, isPlain);
      const isMixed = new Set(known.map((ms) => ms === undefined)).size > 1;
      const unknown = isMixed && fraction(random) < EXPLORED ? -1 : Number.MAX_VALUE;
      return known.map((ms) => ms ?? unknown);
    }
    return ways.map(() => 0);
  }
}

/** Of one kind of answer, since only these compare: of the kind that is asked for, where any way has given such. */
function latenciesOf(standings: readonly Standing[], isPlain: boolean): readonly (number | undefined)[] {
  const known = (ofPlain: boolean): readonly (number | undefined)[] =>
    standings.map(({ plainMs, latencyMs }) => (ofPlain ? plainMs : latencyMs));
  const own = known(isPlain);
  return own.some((ms) => ms !== undefined) ? own : known(!isPlain);
}

function isSameWay(a: WayKey, b: WayKey): boolean {
  return nameOf(a) === nameOf(b) && a.credential === b.credential;
}

function nameOf({ provider, upstreamId }: Pick<Route, "provider" | "upstreamId">): string {
  return `${provider} ${upstreamId}`;
}

function readiness({ state, waitMs }: Standing): number {
  if (waitMs === 0) return 0;
  return state === "open" ? 2 : 1;
}

function byRanks({ ranks: a }: Ranked<unknown>, { ranks: b }: Ranked<unknown>): number {
  for (let i = 0; i < a.length; i += 1) {
    const difference = (a[i] as number) - (b[i] as number);
    if (difference !== 0) return difference;
  }
  return 0;
}

const costs = new WeakMap<PricePlan, number>();

function typicalCost(plan: PricePlan): number {
  const known = costs.get(plan);
  if (known !== undefined) return known;
  const cost = Number(plan.charge(TYPICAL_USAGE).cost);
  costs.set(plan, cost);
  return cost;
}

/** A number above 0 and below 1 that is the same for the same key and text, and as good as random otherwise. */
function share(key: number, text: string): number {
  // FNV-1a, then the last steps of MurmurHash3, so that close keys are far apart.
  let hash = 0x811c9dc5 ^ (key >>> 0) ^ Math.floor(key / 2 ** 32);
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (((hash ^ (hash >>> 16)) >>> 0) + 0.5) / 2 ** 32;
}
