import { describe, expect, test } from "bun:test";
import { createFakeClock } from "../../../test/gateway/fake-clock.ts";
import { seededRandom } from "../../../test/upstream/cuts.ts";
import { readPrices } from "../../catalog/prices.ts";
import type { Route, RouteOrder } from "../../core/model.ts";
import type { Standing } from "./health.ts";
import type { WayKey } from "./way-key.ts";
import { createWayOrder, type OrderTerms, type Way } from "./order.ts";

const MODEL = priced({ input: 2, output: 8 });

function priced(prices: Parameters<typeof readPrices>[0]) {
  return { prices: readPrices(prices).prices, priceVersion: "v" };
}

/** Routes by the letter that their provider is called, with what they have beside it. */
function routesOf(routes: Readonly<Record<string, Partial<Route>>>): Route[] {
  return Object.entries(routes).map(([provider, more]) => ({ provider, upstreamId: "m", ...more }));
}

function waysOf(routes: readonly Route[], credentials: readonly string[] = ["K"]): Way[] {
  return routes.flatMap((route) =>
    credentials.map((credential) => ({
      key: { model: "a/m", provider: route.provider, upstreamId: route.upstreamId, credential },
      route: { ...route },
    })),
  );
}

/** An order over ways whose standing a test sets. */
function orderOf({ seed = 1 } = {}) {
  const clock = createFakeClock();
  const next = seededRandom(seed);
  const standings = new Map<string, Partial<Standing>>();
  const order = createWayOrder({
    clock,
    random: { bytes: (count) => Uint8Array.from({ length: count }, () => Math.floor(next() * 256)) },
    health: {
      look: ({ provider, credential }, bounds) => ({
        state: "healthy",
        waitMs: bounds?.concurrency === 0 ? 1_000 : 0,
        latencyMs: undefined,
        plainMs: undefined,
        failures: 0,
        underWay: 0,
        lastUse: 0,
        ...standings.get(provider),
        ...standings.get(`${provider}/${credential}`),
      }),
    },
  });
  const list = (
    by: RouteOrder,
    ways: readonly Way[],
    {
      sticky = false,
      key,
      model = MODEL,
      ...terms
    }: { sticky?: boolean; key?: number; model?: typeof MODEL } & Omit<OrderTerms, "stickyKey"> = {},
  ): string[] =>
    order
      .of(ways, { ...terms, routing: { by, sticky }, model, stickyKey: key })
      .map((way) => `${way.key.provider}/${way.key.credential}`);
  /** The providers of the ways, in order. */
  const providers = (...args: Parameters<typeof list>): string =>
    list(...args)
      .map((name) => name.split("/")[0])
      .join("");
  return { clock, standings, order, list, providers };
}

/** How often each provider is first, of so many requests. */
function firsts(count: number, providersOf: (i: number) => string): Record<string, number> {
  const found: Record<string, number> = {};
  for (let i = 0; i < count; i += 1) {
    const first = providersOf(i)[0] as string;
    found[first] = (found[first] ?? 0) + 1;
  }
  return found;
}

const ABC = routesOf({ a: {}, b: {}, c: {} });

describe("by order", () => {
  test("routes are tried as they are listed, and each route's credentials together", () => {
    const { list } = orderOf();
    expect(list("order", waysOf(routesOf({ b: {}, a: {} }), ["K1", "K2"]))).toEqual([
      "b/K1",
      "b/K2",
      "a/K1",
      "a/K2",
    ]);
  });

  test("a single way is given back as it is", () => {
    const ways = waysOf(routesOf({ a: {} }));
    const { order } = orderOf();
    const terms = { routing: { by: "weight", sticky: true }, model: MODEL, stickyKey: 1 } as const;
    expect(order.of(ways, terms)).toBe(ways);
  });

  test("two routes to one provider keep their places", () => {
    const [first] = waysOf(routesOf({ a: {} }));
    const [second] = waysOf([{ provider: "a", upstreamId: "n" }]);
    const { order } = orderOf();
    const ways = [second, first] as Way[];
    expect(order.of(ways, { routing: { by: "order", sticky: false }, model: MODEL, stickyKey: 1 })).toEqual(
      ways,
    );
  });
});

describe("what can be called now comes first", () => {
  test("then what cools, then what is open, whatever the order is by", () => {
    const { standings, providers } = orderOf();
    standings.set("a", { state: "open", waitMs: 5_000, latencyMs: 1 });
    standings.set("b", { state: "cooling", waitMs: 50_000, latencyMs: 2 });
    standings.set("c", { latencyMs: 3 });
    const routes = routesOf({
      a: { weight: 1e6, cost: priced({ input: 1, output: 1 }).prices },
      b: {},
      c: {},
    });
    for (const by of ["order", "weight", "cost", "latency"] as const)
      for (const sticky of [false, true])
        expect([by, providers(by, waysOf(routes), { sticky, key: 7 })]).toEqual([by, "cba"]);
  });

  test("a way whose bounds are full comes behind those that can be called, before an open breaker", () => {
    const { standings, providers } = orderOf();
    standings.set("a", { state: "open", waitMs: 10 });
    standings.set("b", { state: "healthy", waitMs: 900 });
    expect(providers("order", waysOf(routesOf({ a: {}, b: {}, c: {} })))).toBe("cba");
  });

  test("the bounds that count are those of each way's own credential", () => {
    const [full, free] = waysOf(routesOf({ a: {}, b: {} })) as [Way, Way];
    const bounded = { ...full, bounds: { concurrency: 0 } };
    expect(orderOf().providers("order", [bounded, free])).toBe("ba");
  });

  test("a half-open breaker keeps its place, so that it is tried although another way works", () => {
    const { standings, providers } = orderOf();
    standings.set("a", { state: "open", waitMs: 0 });
    expect(providers("order", waysOf(ABC))).toBe("abc");
    standings.set("a", { state: "open", waitMs: 1_000 });
    expect(providers("order", waysOf(ABC))).toBe("bca");
  });

  test("credential by credential", () => {
    const { standings, list } = orderOf();
    standings.set("a/K1", { state: "open", waitMs: 1 });
    standings.set("b/K2", { state: "cooling", waitMs: 1 });
    expect(list("order", waysOf(ABC.slice(0, 2), ["K1", "K2"]))).toEqual(["a/K2", "b/K1", "b/K2", "a/K1"]);
  });
});

describe("by weight", () => {
  const WEIGHED = waysOf(routesOf({ a: { weight: 1 }, b: { weight: 3 }, c: {} }));

  test("each route is first as often as its weight says, and 1 is the weight of one without", () => {
    for (const terms of [{}, { sticky: true }]) {
      const { providers } = orderOf();
      const counts = firsts(20_000, (i) => providers("weight", WEIGHED, { ...terms, key: i * 7_919 }));
      expect(counts.a).toBeWithin(3_800, 4_200);
      expect(counts.b).toBeWithin(11_700, 12_300);
      expect(counts.c).toBeWithin(3_800, 4_200);
    }
  });

  test("requests with the same key go the same way in every process, and without one they do not", () => {
    const orders = (terms: object, seed: number): Set<string> => {
      const { providers } = orderOf({ seed });
      return new Set(Array.from({ length: 50 }, () => providers("weight", WEIGHED, terms)));
    };
    const sticky = { sticky: true, key: 2 ** 40 + 5 };
    expect([...orders(sticky, 1), ...orders(sticky, 2)]).toHaveLength(2);
    expect(orders(sticky, 1)).toEqual(orders(sticky, 2));
    expect(orders({ sticky: true }, 1).size).toBeGreaterThan(3);
    expect(orders({ sticky: false, key: 5 }, 1).size).toBeGreaterThan(3);
  });

  test("work with the same draw key goes the same way in every process, and all of it as the weights say", () => {
    const [one, other] = [orderOf({ seed: 1 }), orderOf({ seed: 2 })];
    const counts = firsts(20_000, (i) => {
      const drawKey = i * 7_919;
      const order = one.providers("weight", WEIGHED, { drawKey });
      expect(other.providers("weight", WEIGHED, { drawKey })).toBe(order);
      return order;
    });
    expect(counts.b).toBeWithin(11_700, 12_300);
  });

  test("a route that goes away moves its own requests alone", () => {
    const { providers } = orderOf();
    for (let key = 0; key < 500; key += 1) {
      const before = providers("weight", WEIGHED, { sticky: true, key });
      const without = WEIGHED.filter((way) => way.key.provider !== "c");
      expect(providers("weight", without, { sticky: true, key })).toBe(before.replace("c", ""));
    }
  });
});

describe("by cost", () => {
  const costs = (entries: Readonly<Record<string, [input: number, output: number] | undefined>>) =>
    waysOf(
      Object.entries(entries).map(([provider, cost]) => ({
        provider,
        upstreamId: "m",
        ...(cost === undefined ? {} : { cost: priced({ input: cost[0], output: cost[1] }).prices }),
      })),
    );

  test("the cheapest is first for three tokens of input to one of output", () => {
    const { providers } = orderOf();
    // 3 × 1 + 12 = 15, 3 × 4 + 2 = 14, 3 × 2 + 7 = 13
    expect(providers("cost", costs({ a: [1, 12], b: [4, 2], c: [2, 7] }))).toBe("cba");
  });

  test("a route without a cost counts at the model's price, and equal ones stay as they are listed", () => {
    const { providers } = orderOf();
    expect(providers("cost", costs({ a: [2, 9], b: undefined, c: [2, 7] }))).toBe("cba");
    expect(providers("cost", costs({ a: undefined, b: [2, 8], c: undefined }))).toBe("abc");
  });

  test("work that says itself what a route costs goes by that", () => {
    const { providers } = orderOf();
    const ways = costs({ a: [1, 1], b: [2, 2], c: undefined });
    const costOf: OrderTerms["costOf"] = ({ cost }) =>
      cost === undefined ? 1 : -Number(cost.input?.[0]?.price);
    expect(providers("cost", ways, { costOf })).toBe("bac");
    expect(providers("order", ways, { costOf })).toBe("abc");
  });

  test("goes by the costs of the hour", async () => {
    const { providers, clock } = orderOf();
    const byDay = {
      input: [{ when: { utc_hours: [[8, 20] as [number, number]] }, price: 9 }, { price: 1 }],
      output: 8,
    };
    const ways = waysOf(routesOf({ a: { cost: priced(byDay).prices }, b: {} }));
    expect(providers("cost", ways)).toBe("ba");
    await clock.advance(9 * 3_600_000);
    expect(providers("cost", ways)).toBe("ab");
  });

  test("takes models that have input alone", () => {
    const { providers } = orderOf();
    const ways = waysOf(routesOf({ a: {}, b: { cost: priced({ input: 1 }).prices } }));
    expect(providers("cost", ways, { model: priced({ input: 2 }) })).toBe("ba");
  });
});

describe("by latency", () => {
  test("the fastest of late is first", () => {
    const { standings, providers } = orderOf();
    standings.set("a", { latencyMs: 300 });
    standings.set("b", { latencyMs: 100 });
    standings.set("c", { latencyMs: 200 });
    expect(firsts(200, () => providers("latency", waysOf(ABC)))).toEqual({ b: 200 });
    expect(providers("latency", waysOf(ABC))).toBe("bca");
  });

  test("plain requests go by whole answers, streams by their first content", () => {
    const { standings, providers } = orderOf();
    standings.set("a", { latencyMs: 100, plainMs: 9_000 });
    standings.set("b", { latencyMs: 300, plainMs: 3_000 });
    standings.set("c", { latencyMs: 200, plainMs: 6_000 });
    expect(providers("latency", waysOf(ABC))).toBe("acb");
    expect(providers("latency", waysOf(ABC), { isPlain: true })).toBe("bca");
  });

  test("a way that has answered the other kind alone is not known, and not compared with the others", () => {
    const { standings, providers } = orderOf();
    standings.set("a", { latencyMs: 100 });
    standings.set("b", { plainMs: 3_000 });
    const counts = firsts(5_000, () => providers("latency", waysOf(ABC), { isPlain: true }));
    expect(counts.b).toBeWithin(4_430, 4_570);
  });

  test("while no way has given an answer of that kind, the other kind tells", () => {
    const { standings, providers } = orderOf();
    for (const figure of ["latencyMs", "plainMs"] as const) {
      standings.set("a", { [figure]: 300 });
      standings.set("b", { [figure]: 100 });
      standings.set("c", { [figure]: 200 });
      for (const isPlain of [false, true]) expect(providers("latency", waysOf(ABC), { isPlain })).toBe("bca");
    }
  });

  test("one request in ten tries a way whose latency is not known; the others try it last", () => {
    const { standings, providers } = orderOf();
    standings.set("b", { latencyMs: 100 });
    standings.set("c", { latencyMs: 200 });
    const counts = firsts(5_000, () => providers("latency", waysOf(ABC)));
    expect(counts.a).toBeWithin(430, 570);
    expect(counts.b).toBe(5_000 - (counts.a ?? 0));
  });

  test("while none is known they are tried as they are listed", () => {
    const { providers } = orderOf();
    expect(firsts(100, () => providers("latency", waysOf(ABC)))).toEqual({ a: 100 });
  });
});

describe("among a provider's credentials", () => {
  const KEYS = ["K1", "K2", "K3"];

  test("that with the fewest calls under way is first, then the one that was not used for longest", () => {
    const { standings, list } = orderOf();
    standings.set("a/K1", { underWay: 2, lastUse: 1 });
    standings.set("a/K2", { underWay: 1, lastUse: 9 });
    standings.set("a/K3", { underWay: 1, lastUse: 8 });
    expect(list("order", waysOf(routesOf({ a: {} }), KEYS))).toEqual(["a/K3", "a/K2", "a/K1"]);
  });

  test("requests with the same key take the same, and others spread", () => {
    const { list, standings } = orderOf();
    const ways = waysOf(routesOf({ a: {} }), KEYS);
    const before = list("order", ways, { sticky: true, key: 77 });
    standings.set(before[0] as string, { underWay: 50, lastUse: 99 });
    expect(list("order", ways, { sticky: true, key: 77 })).toEqual(before);
    const counts = firsts(3_000, (key) =>
      (list("order", ways, { sticky: true, key })[0] as string).slice(-1),
    );
    for (const count of Object.values(counts)) expect(count).toBeWithin(900, 1_100);
  });
});

describe("a sticky request", () => {
  const way = (provider: string, upstreamId = "m"): WayKey => ({
    model: "a/m",
    provider,
    upstreamId,
    credential: "K",
  });

  test("goes where the last one with its key was served, for five minutes", async () => {
    const { order, providers, clock } = orderOf();
    order.served(5, way("c"));
    await clock.advance(200_000);
    expect(providers("order", waysOf(ABC), { sticky: true, key: 5 })).toBe("cab");
    expect(providers("order", waysOf(ABC), { sticky: true, key: 6 })).toBe("abc");
    expect(providers("order", waysOf(ABC), { sticky: false, key: 5 })).toBe("abc");
    order.served(5, way("c"));
    await clock.advance(300_000);
    expect(providers("order", waysOf(ABC), { sticky: true, key: 5 })).toBe("cab");
    await clock.advance(1);
    expect(providers("order", waysOf(ABC), { sticky: true, key: 5 })).toBe("abc");
  });

  test("goes elsewhere while that way cools, and then where it went", () => {
    const { order, providers, standings } = orderOf();
    order.served(5, way("c"));
    standings.set("c", { state: "cooling", waitMs: 1 });
    expect(providers("order", waysOf(ABC), { sticky: true, key: 5 })).toBe("abc");
    order.served(5, way("b"));
    standings.clear();
    expect(providers("order", waysOf(ABC), { sticky: true, key: 5 })).toBe("bac");
  });

  test("whose way is offered no more goes by the order", () => {
    const { order, providers } = orderOf();
    order.served(5, way("gone"));
    expect(providers("order", waysOf(ABC), { sticky: true, key: 5 })).toBe("abc");
  });

  test("goes to the same of two routes to one provider", () => {
    const { order } = orderOf();
    const routes = ["new", "old"].map((upstreamId) => ({ provider: "a", upstreamId }));
    order.served(5, way("a", "old"));
    const routing = { by: "order", sticky: true } as const;
    const [first] = order.of(waysOf(routes), { routing, model: MODEL, stickyKey: 5 });
    expect(first?.route.upstreamId).toBe("old");
  });

  test("of the 10,000 that came last is remembered", () => {
    const { order, providers } = orderOf();
    for (let key = 0; key < 10_000; key += 1) order.served(key, way("c"));
    order.served(0, way("c"));
    order.served(10_000, way("c"));
    const of = (key: number): string => providers("order", waysOf(ABC), { sticky: true, key });
    expect([0, 1, 2, 10_000].map(of)).toEqual(["cab", "abc", "cab", "cab"]);
  });
});
