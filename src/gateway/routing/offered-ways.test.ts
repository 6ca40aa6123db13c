import { expect, test } from "bun:test";
import type { Model } from "../../core/model.ts";
import type { MediaProvider, Provider } from "../../providers/provider.ts";
import { offeredWays } from "./offered-ways.ts";

test("the ways are each model's routes by each credential of a live provider, each once", () => {
  const model = (id: string, providers: readonly string[], more: Partial<Model> = {}) =>
    ({ id, routes: providers.map((provider, i) => ({ provider, upstreamId: `m${i}` })), ...more }) as Model;
  const models = [
    model("a/m", ["one", "two", "two", "gone"]),
    model("a/picture", ["one"], { media: {} as Model["media"] & object }),
    model("a/vector", ["one"]),
  ];
  const credentials = ["K1", "K2"].map((name) => ({ name, protocols: [] }));
  const providers = new Map<string, Provider>([
    ["one", { id: "one", protocols: [], secrets: [] }],
    ["two", { id: "two", protocols: [], secrets: [], credentials }],
  ]);
  const media: MediaProvider = { id: "one", baseUrl: "http://p", headers: {}, secrets: [], adapters: {} };
  const mediaProviders = new Map<string, MediaProvider>([
    ["one", { ...media, credentials: [{ name: "K3", provider: media }] }],
  ]);
  const ways = offeredWays({ catalog: { models } as never, providers, mediaProviders });
  expect(ways.map((way) => Object.values(way).join(" "))).toEqual([
    "a/m one m0 ",
    "a/m two m1 K1",
    "a/m two m1 K2",
    "a/m two m2 K1",
    "a/m two m2 K2",
    "a/picture one m0 K3 true",
    "a/vector one m0 ",
  ]);
});
