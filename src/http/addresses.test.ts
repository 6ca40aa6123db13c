import { describe, expect, test } from "bun:test";
import { createAddresses } from "./addresses.ts";
import { ROUTES } from "./routes.ts";

const addressOf = createAddresses(ROUTES);

/** Routes beside the interface for callers; `/` alone begins no other path. */
const OTHERS = ROUTES.filter(({ access, path }) => access !== "key" && path !== "/");

describe("a path that clients make leads to the documented address", () => {
  const endpoint = "/models/google%2fgemini%3agenerateContent";
  const bases = [
    ["", "/v1", "/v1beta", "/api", "/api/v1", "/api/v1beta"],
    // An SDK adds its version to a base address that has one.
    ["/v1/v1", "/v1/v1beta", "/v1beta/v1", "/v1beta/v1beta", "/api/v1/v1", "/api/v1/v1beta"],
    ["/api/v1beta/v1", "/api/v1beta/v1beta", "/api/v1/v1/v1", "/api/v1/v1/v1beta"],
  ].flat();
  for (const base of bases) {
    test(`from ${base === "" ? "none" : base}`, () => {
      for (const path of [
        `${base}${endpoint}`,
        `${base}/${endpoint}`,
        `/${base}${endpoint}`,
        `${base}${endpoint}/`,
        `${base}${endpoint}`.replaceAll("/", "//"),
        `${base.replaceAll("/", "///")}${endpoint}///`,
      ])
        expect([path, addressOf(path)]).toEqual([path, `/api/v1${endpoint}`]);
    });
  }

  const others = [
    ["/v1", "/api/v1"],
    ["/api/", "/api/v1"],
    // Not quite a prefix.
    ["/v2/models", "/api/v1/v2/models"],
    ["/v1alpha/models", "/api/v1/v1alpha/models"],
    ["/apiary/models", "/api/v1/apiary/models"],
    ["/API/v1/models", "/api/v1/API/v1/models"],
    ["/api/api/v1/models", "/api/v1/api/v1/models"],
    ["/api/v1/v1x/y:generateContent", "/api/v1/v1x/y:generateContent"],
    // Nothing is decoded here.
    ["/%76%31/models", "/api/v1/%76%31/models"],
    ["/v1%2fmodels", "/api/v1/v1%2fmodels"],
    ["/api/v1/models/a%2F%2Fb", "/api/v1/models/a%2F%2Fb"],
  ] as const;
  for (const [path, address] of others) test(path, () => expect(addressOf(path)).toBe(address));
});

test("what is no part of the interface for callers has its own address alone", () => {
  const own = OTHERS.map(({ path }) => path);
  expect(own.length).toBeGreaterThan(10);
  for (const path of own) {
    expect(addressOf(path)).toBe(path);
    for (const base of ["/", "/v1", "/v1/", "/v1beta", "/api", "/api/v1", "/api/v1/v1", "/%2f", "/v1/%2f"])
      expect(addressOf(`${base}${path}`)).toStartWith("/api/v1/");
  }
});

/** The same numbers at every run. */
function* numbers(seed: number): Generator<number, never> {
  for (let state = seed; ; yield state >>> 8) state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
}

test("whatever is sent, the address is the path itself or one below /api/v1, and leads nowhere further", () => {
  const pieces = [
    "/",
    "//",
    "/api",
    "/v1",
    "/v1beta",
    "/admin",
    "/assets",
    "/%61dmin",
    "/%2fadmin",
    "/models",
  ];
  pieces.push("/docs", "/healthz", "/llms.txt", "%2F", ":", "/..", "\\", "/x", "beta", "1");
  const random = numbers(7);
  const own = new Set(OTHERS.map(({ path }) => path.split("/")[1]));
  for (let i = 0; i < 20_000; i += 1) {
    const length = 1 + (random.next().value % 7);
    const path = `/${Array.from({ length }, () => pieces[random.next().value % pieces.length]).join("")}`;
    const address = addressOf(path);
    expect([path, addressOf(address)]).toEqual([path, address]);
    if (path === "/" || own.has(path.split("/")[1])) expect(address).toBe(path);
    else expect(`${address}/`).toStartWith("/api/v1/");
  }
});
