import { expect, test } from "bun:test";
import { createFakeClock } from "../../../test/gateway/fake-clock.ts";
import { readPrices } from "../../catalog/prices.ts";
import type { Routing } from "../../core/model.ts";
import { createRouting } from "./routing.ts";
import { DEFAULT_ROUTING } from "./settings.ts";

const WAYS = ["dear", "cheap"].map((provider) => ({
  key: { model: "a/m", provider, upstreamId: "m", credential: "" },
  route: {
    provider,
    upstreamId: "m",
    cost: readPrices({ input: provider === "dear" ? 9 : 1, output: 1 }).prices,
  },
}));

function routingOf() {
  const { prices } = readPrices({ input: 2, output: 2 });
  const model = (routing?: Routing) => ({ prices, priceVersion: "v", ...(routing && { routing }) });
  const routing = createRouting({
    clock: createFakeClock(),
    random: { bytes: (count) => new Uint8Array(count) },
    settings: () => DEFAULT_ROUTING,
    ways: () => WAYS.map(({ key }) => key),
  });
  return { routing, model };
}

test("ways are ordered by the model's setting, and by the caller's wish before that", () => {
  const { routing, model } = routingOf();
  const byCost = model({ by: "cost", sticky: false, fallback: [] });
  const first = (...args: Parameters<typeof routing.order>) => routing.order(...args)[0]?.key.provider;
  expect(first(WAYS, model())).toBe("dear");
  expect(first(WAYS, byCost)).toBe("cheap");
  expect(first(WAYS, byCost, { by: "order" })).toBe("dear");
});

test("a model that is set so keeps to the way that served", () => {
  const { routing, model } = routingOf();
  routing.served(1, { model: "a/m", provider: "cheap", upstreamId: "m", credential: "" });
  const sticky = { by: "order", fallback: [], sticky: true } as const;
  const first = (setting?: Routing) => routing.order(WAYS, model(setting), { stickyKey: 1 })[0]?.key.provider;
  expect([first(), first({ ...sticky, sticky: false }), first(sticky)]).toEqual(["dear", "dear", "cheap"]);
});

test("what the caller asks for goes before the way that served, which is first among equals", () => {
  const { routing, model } = routingOf();
  const sticky = model({ by: "order", fallback: [], sticky: true });
  const ways = WAYS.flatMap((way) =>
    ["K1", "K2", "K3"].map((credential) => ({ ...way, key: { ...way.key, credential } })),
  );
  const first = (terms: Parameters<typeof routing.order>[2]) => {
    const { provider, credential } = routing.order(ways, sticky, { stickyKey: 1, ...terms })[0]?.key ?? {};
    return `${provider}/${credential}`;
  };
  for (const credential of ["K1", "K2", "K3"]) {
    routing.served(1, { model: "a/m", provider: "dear", upstreamId: "m", credential });
    expect([first({}), first({ by: "order" })]).toEqual([`dear/${credential}`, `dear/${credential}`]);
    expect(first({ by: "cost" })).toStartWith("cheap/");
    routing.served(1, { model: "a/m", provider: "cheap", upstreamId: "m", credential });
    expect([first({}), first({ by: "cost" })]).toEqual([`cheap/${credential}`, `cheap/${credential}`]);
    expect(first({ by: "order" })).toStartWith("dear/");
  }
});

test("a model of which the operator says nothing keeps to it where a cached prompt has a price of its own", () => {
  const { routing, model } = routingOf();
  const { prices } = readPrices({ input: 2, output: 2, cache_read: 1 });
  routing.served(1, { model: "a/m", provider: "cheap", upstreamId: "m", credential: "" });
  const [first] = routing.order(WAYS, { ...model(), prices }, { stickyKey: 1 });
  expect(first?.key.provider).toBe("cheap");
});

test("what calls tell decides the order", () => {
  const { routing, model } = routingOf();
  const place = routing.health.admit({ model: "a/m", provider: "dear", upstreamId: "m", credential: "" }, {});
  if ("end" in place) place.end({ kind: "failed", blame: "credential", reason: "x", opens: true });
  expect(routing.order(WAYS, model()).map(({ key }) => key.provider)).toEqual(["cheap", "dear"]);
  expect(routing.health.snapshot().map(({ state }) => state)).toEqual(["open", "healthy"]);
});
