import { expect, test } from "bun:test";
import { createRegistry } from "../../core/metrics/registry.ts";
import { createMetricsText } from "./metrics-text.ts";
import { addStateFamilies, type StateParts } from "./state-families.ts";

const PROCESS = {
  runtime: "test",
  cpuSec: () => 0,
  residentBytes: () => 0,
  startedAtSec: 0,
  openDescriptors: () => 0,
  mostDescriptors: 0,
};

/** The samples of a family, with these ways. */
async function samplesOf(name: string, ways: ReturnType<StateParts["ways"]>): Promise<readonly string[]> {
  const registry = createRegistry();
  addStateFamilies(registry, {
    version: "0",
    process: PROCESS,
    memory: { taken: () => 0, requests: () => 0 },
    ways: () => ways,
    openHolds: () => 0,
    countTasks: async () => [],
  });
  const text = await createMetricsText(registry)();
  return text.split("\n").filter((line) => line.startsWith(`${name}{`));
}

test("an open breaker shows whichever of a credential's ways comes last", async () => {
  const way = (model: string, state: "healthy" | "open") => ({
    model,
    provider: "openai",
    upstreamId: model,
    credential: "",
    state,
  });
  const language = way("openai/text", "healthy");
  const image = way("openai/image", "open");
  for (const ways of [
    [language, image],
    [image, language],
  ])
    expect(await samplesOf("switchyard_breaker_open", ways)).toEqual([
      'switchyard_breaker_open{provider="openai",credential="only"} 1',
    ]);
});

test("a model that makes images and texts by one name is one route, in the worse of its two states", async () => {
  const way = (state: "healthy" | "cooling") => ({
    model: "google/picture",
    provider: "google",
    upstreamId: "picture",
    credential: "",
    state,
  });
  for (const ways of [
    [way("healthy"), way("cooling")],
    [way("cooling"), way("healthy")],
  ])
    expect(await samplesOf("switchyard_route_state", ways)).toEqual([
      'switchyard_route_state{model="google/picture",provider="google",upstream_id="picture",credential="only"} 1',
    ]);
});
