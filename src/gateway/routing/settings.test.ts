import { describe, expect, test } from "bun:test";
import { parse } from "yaml";
import { compileSchema, faultSentence } from "../../core/schema.ts";
import type { Model, ProtocolId } from "../../core/model.ts";
import { readPrices } from "../../catalog/prices.ts";
import { DEFAULT_ROUTING, readRoutingSection, routed, RoutingSection } from "./settings.ts";

const checker = compileSchema(RoutingSection);

/** The section as the file has it. Throws the sentence that an operator gets. */
function read(yaml: string) {
  const data = parse(yaml) as unknown;
  if (!checker.accepts(data)) throw new Error(faultSentence(checker.faultOf(data)));
  const spoken = new Map<string, readonly ProtocolId[]>([
    ["openai", ["compat_chat_completions"]],
    ["azure", ["compat_messages", "compat_responses"]],
  ]);
  return readRoutingSection("routing", data, spoken);
}

const MODEL = {
  id: "a/m",
  category: "language",
  prices: readPrices({ input: 1, output: 2 }).prices,
  routes: [
    { provider: "openai", upstreamId: "m-1" },
    { provider: "azure", upstreamId: "dep" },
  ],
} as Partial<Model> as Model;
const OTHER: Model = { ...MODEL, id: "a/n" };
const VECTORS: Model = { ...MODEL, id: "a/v", category: "embedding" };
const PICTURES: Model = { ...MODEL, id: "a/p", category: "image" };

describe("the section routing", () => {
  test("has defaults for all that it does not say", () => {
    expect(read("{}")).toEqual(DEFAULT_ROUTING);
  });

  test("says how often and when requests are tried again, and when a credential is left alone", () => {
    const yaml =
      "{ attempts: 2, retry_budget: 0.25, unsafe_retries: [reset, 502, 504, bad_answer], breaker_failures: 3, breaker_seconds: 1.5, probe_seconds: 30 }";
    expect(read(yaml)).toEqual({
      attempts: 2,
      retryBudget: 0.25,
      unsafeRetries: new Set(["reset", 502, 504, "bad_answer"]),
      breakerFailures: 3,
      breakerMs: 1_500,
      probeMs: 30_000,
      models: new Map(),
    });
  });

  test("says how requests for a model find their route, in the words of the file", () => {
    const yaml = `
models:
  a/m:
    by: weight
    sticky: false
    fallback: [a/n]
    routes:
      - { provider: azure, upstream_id: dep, weight: 2.5, protocols: [responses, messages] }
      - { provider: openai, cost: { input: 0.5, output: 3 } }
  a/n: {}`;
    expect([...read(yaml).models]).toEqual([
      [
        "a/m",
        {
          by: "weight",
          sticky: false,
          fallback: ["a/n"],
          routes: [
            {
              provider: "azure",
              upstreamId: "dep",
              protocols: ["compat_responses", "compat_messages"],
              weight: 2.5,
            },
            { provider: "openai", cost: readPrices({ input: 0.5, output: 3 }).prices },
          ],
        },
      ],
      ["a/n", { by: "order", sticky: undefined, fallback: [], routes: undefined }],
    ]);
  });

  const route = (text: string): string =>
    `{ models: { a/m: { routes: [{ provider: openai }, { ${text} }] } } }`;
  const at = "models.a/m.routes[1]";
  const wrongs: readonly (readonly [yaml: string, says: string])[] = [
    ["{ attempts: 0 }", "attempts must be at least 1."],
    ["{ attempts: 4 }", "attempts must be at most 3."],
    ["{ attempts: 1.5 }", "attempts must be an integer."],
    ["{ retry_budget: -0.1 }", "retry_budget must be at least 0."],
    ["{ retry_budget: 1.1 }", "retry_budget must be at most 1."],
    ["{ unsafe_retries: reset }", "unsafe_retries must be an array."],
    ["{ unsafe_retries: [500] }", "unsafe_retries[0] must be one of reset, 502, 504, bad_answer."],
    ["{ unsafe_retries: [502, 502] }", "unsafe_retries must not name a value twice."],
    ["{ breaker_failures: -1 }", "breaker_failures must be at least 0."],
    ["{ breaker_failures: 1000001 }", "breaker_failures must be at most 1000000."],
    ["{ breaker_seconds: 0 }", "breaker_seconds must be > 0."],
    ["{ breaker_seconds: 3601 }", "breaker_seconds must be at most 3600."],
    ["{ probe_seconds: 0.5 }", "probe_seconds must be at least 1."],
    ["{ probe_seconds: 86401 }", "probe_seconds must be at most 86400."],
    ["{ retries: 1 }", "retries is not a known key."],
    ["{ models: [a/m] }", "models must be an object."],
    ["{ models: { a/m: { by: price } } }", "models.a/m.by must be one of order, weight, cost, latency."],
    ["{ models: { a/m: { sticky: 5 } } }", "models.a/m.sticky must be a boolean."],
    ["{ models: { a/m: { weight: 5 } } }", "models.a/m.weight is not a known key."],
    [
      "{ models: { a/m: { fallback: [b, c, d, e, f, g] } } }",
      "models.a/m.fallback must have at most 5 items.",
    ],
    ["{ models: { a/m: { fallback: [b, b] } } }", "models.a/m.fallback must not name a value twice."],
    ['{ models: { a/m: { fallback: [""] } } }', "models.a/m.fallback[0] must not be empty."],
    ["{ models: { a/m: { routes: [] } } }", "models.a/m.routes must not be empty."],
    [route("upstream_id: x"), `${at}.provider is required.`],
    [route("provider: opnai"), `routing.${at}.provider names opnai, which is no provider.`],
    [route('provider: azure, upstream_id: ""'), `${at}.upstream_id must not be empty.`],
    [route("provider: azure, price: 1"), `${at}.price is not a known key.`],
    [route("provider: azure, protocols: []"), `${at}.protocols must not be empty.`],
    [
      route("provider: azure, protocols: [chat]"),
      `${at}.protocols[0] must be one of chat_completions, messages, generate_content, responses.`,
    ],
    [
      route("provider: azure, protocols: [responses, generate_content]"),
      `routing.${at}.protocols has generate_content, which azure does not speak.`,
    ],
    [route("provider: azure, weight: 0"), `${at}.weight must be > 0.`],
    [route("provider: azure, weight: 1000001"), `${at}.weight must be at most 1000000.`],
    [route("provider: azure, cost: { token: 1 }"), `${at}.cost.token is not a known key.`],
    [
      route("provider: azure, cost: {}"),
      `routing.${at}.cost has no price: leave it out where it is not known.`,
    ],
    [
      route("provider: azure, cost: { input: 0.00001 }"),
      `routing.${at}.cost: prices.input[0] is finer than $0.0001 per million tokens.`,
    ],
  ];
  for (const [yaml, says] of wrongs) test(`${yaml}: ${says}`, () => expect(() => read(yaml)).toThrow(says));

  test("a model has no more than 20 routes", () => {
    const routes = (count: number): string =>
      `{ models: { a/m: { routes: [${Array(count).fill("{ provider: openai }").join()}] } } }`;
    expect(read(routes(20)).models.get("a/m")?.routes).toHaveLength(20);
    expect(() => read(routes(21))).toThrow("models.a/m.routes must have at most 20 items.");
  });
});

describe("models with their routing", () => {
  const routedBy = (yaml: string, models: readonly Model[] = [MODEL, OTHER]) => routed(models, read(yaml));

  test("those that are not named stay as they are", () => {
    const models = [MODEL, OTHER];
    expect(routed(models, DEFAULT_ROUTING)).toBe(models);
    expect(routedBy("{ models: { a/n: {} } }", models)[0]).toBe(MODEL);
  });

  test("a named one has an order, and keeps its routes unless it is given others", () => {
    const [model] = routedBy("{ models: { a/m: { by: latency, fallback: [a/n] } } }");
    expect(model).toEqual({ ...MODEL, routing: { by: "latency", sticky: false, fallback: ["a/n"] } });
  });

  test("one with a price for cached input is sticky, unless it is told not to be", () => {
    const cached = { ...MODEL, prices: readPrices({ input: 1, output: 1, cache_read: 0.1 }).prices };
    const sticky = (model: Model, more = ""): unknown =>
      routedBy(`{ models: { a/m: { by: weight${more} } } }`, [model])[0]?.routing?.sticky;
    expect([
      sticky(cached),
      sticky(cached, ", sticky: false"),
      sticky(MODEL),
      sticky(MODEL, ", sticky: true"),
    ]).toEqual([true, false, false, true]);
  });

  test("a route without upstream_id takes the provider's name of the model from the model's own route there", () => {
    const [model] = routedBy(
      "{ models: { a/m: { routes: [{ provider: azure, weight: 3 }, { provider: openai, upstream_id: m-2 }] } } }",
    );
    expect(model?.routes).toEqual([
      { provider: "azure", upstreamId: "dep", weight: 3 },
      { provider: "openai", upstreamId: "m-2" },
    ]);
  });

  const wrongs: readonly (readonly [yaml: string, says: string])[] = [
    ["{ models: { a/x: {} } }", "routing.models.a/x names a/x, which is no model."],
    ["{ models: { a/m: { fallback: [a/n, a/x] } } }", "routing.models.a/m names a/x, which is no model."],
    ["{ models: { a/m: { fallback: [a/m] } } }", "routing.models.a/m.fallback names the model itself."],
    [
      "{ models: { a/m: { fallback: [a/n, a/v] } } }",
      "routing.models.a/m.fallback is for language models, and a/v is none.",
    ],
    [
      "{ models: { a/p: { fallback: [a/m] } } }",
      "routing.models.a/p.fallback is for language models, and a/p is none.",
    ],
    [
      "{ models: { a/m: { routes: [{ provider: azure }, { provider: openai }, { provider: azure, upstream_id: dep, weight: 2 }] } } }",
      "routing.models.a/m.routes[2] stands there twice.",
    ],
  ];
  for (const [yaml, says] of wrongs)
    test(`${yaml}: ${says}`, () =>
      expect(() => routedBy(yaml, [MODEL, OTHER, VECTORS, PICTURES])).toThrow(new Error(says)));

  test("a provider has several routes, by two names or in different formats", () => {
    const [model] = routedBy(
      "{ models: { a/m: { routes: [{ provider: azure }, { provider: azure, upstream_id: m }, { provider: azure, protocols: [messages] }] } } }",
    );
    expect(model?.routes).toHaveLength(3);
  });

  test("a model of another kind has an order and routes, and one whose id is a language model's, too, a fallback", () => {
    const [, pictures] = routedBy("{ models: { a/p: { by: cost } } }", [MODEL, PICTURES]);
    expect(pictures?.routing).toEqual({ by: "cost", sticky: false, fallback: [] });
    const both = [MODEL, OTHER, { ...PICTURES, id: "a/m" }];
    const [model] = routedBy("{ models: { a/m: { fallback: [a/n] } } }", both);
    expect(model?.routing?.fallback).toEqual(["a/n"]);
  });

  test("a route to a provider that the model has no route to needs upstream_id", () => {
    const alone = { ...MODEL, routes: MODEL.routes.slice(0, 1) };
    expect(() => routedBy("{ models: { a/m: { routes: [{ provider: azure }] } } }", [alone])).toThrow(
      new Error(
        "routing.models.a/m: the route to azure needs upstream_id, the provider's name of the model.",
      ),
    );
  });
});
