import { describe, expect, test } from "bun:test";
import { buildModel, createCatalog } from "../../catalog/catalog.ts";
import type { ModelFacts } from "../../catalog/schema.ts";
import type { Caller } from "../../core/caller.ts";
import { MAX_MICRO_CREDITS } from "../../core/money/credits.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Demand } from "../../protocols/protocol.ts";
import type { Provider } from "../../providers/provider.ts";
import { admit, type Destination, findDestinations } from "./admit.ts";
import type { Offer } from "../offer.ts";

const NOON = Date.UTC(2026, 10, 21, 12);
const PROVIDER = {
  id: "p",
  protocols: [
    {
      id: "compat_chat_completions",
      dialect: { kind: "native", unknownFields: "remove", streamUsageOption: true, padding: [] },
    },
  ],
} as unknown as Provider;
const CALLER = { keyId: "k", accountId: "a", models: null };
const FACTS: ModelFacts = { total_context: 10_000, max_output: 500, prices: { input: 1, output: 5 } };
const PLAIN: Demand = {
  textTokens: { expected: 100, ceiling: 200 },
  media: {},
  images: [],
  mediaBytes: 0,
  choices: 1,
  webSearches: 0,
  buckets: [],
  outputModalities: ["text"],
};

function offer(facts: Partial<ModelFacts> = {}, more: { provider?: string; protocols?: [] } = {}): Offer {
  const model = buildModel(
    "v/m",
    "language",
    { ...FACTS, ...facts },
    {
      supportedProtocols: more.protocols ?? ["compat_chat_completions"],
      routes: [
        { provider: "dead", upstreamId: "x" },
        { provider: more.provider ?? "p", upstreamId: "up" },
      ],
    },
  );
  return {
    catalog: createCatalog([model]),
    providers: new Map([["p", PROVIDER]]),
    mediaProviders: new Map(),
  };
}

/** What a test changes of the plain demand; without kinds of output they are left to the model. */
type Changes = Partial<Omit<Demand, "outputModalities">> & {
  readonly outputModalities?: Demand["outputModalities"] | undefined;
};

function ask(demand: Changes = {}, facts: Partial<ModelFacts> = {}, model = "v/m") {
  const { outputModalities, ...rest } = { ...PLAIN, ...demand };
  const asked: Demand = outputModalities === undefined ? rest : { ...rest, outputModalities };
  return admitAt(offer(facts), CALLER, model, asked);
}

function admitAt(at: Offer, caller: Caller, model = "v/m", demand = PLAIN) {
  const { ways } = findDestinations(at, caller, "compat_chat_completions", model);
  return admit(ways[0] as Destination, "compat_chat_completions", demand, NOON);
}

const IN = 10_000n;
const OUT = 50_000n;

describe("what is held is the dearest that the request can come to", () => {
  const tiers = (low: number, high: number) => [{ when: { input_over: 150 }, price: high }, { price: low }];
  const cases: readonly {
    name: string;
    demand?: Changes;
    facts?: Partial<ModelFacts>;
    amount: bigint;
  }[] = [
    {
      name: "a bound on output is held in full",
      demand: { maxOutputTokens: 40 },
      amount: 200n * IN + 40n * OUT,
    },
    {
      name: "a bound beyond the model's most is the most",
      demand: { maxOutputTokens: 9_999 },
      amount: 200n * IN + 500n * OUT,
    },
    {
      name: "choices multiply output",
      demand: { maxOutputTokens: 40, choices: 3 },
      amount: 200n * IN + 120n * OUT,
    },
    {
      name: "the dearer tier that can be reached",
      demand: { maxOutputTokens: 1 },
      facts: { prices: { input: tiers(1, 2), output: tiers(5, 7) } },
      amount: 200n * 2n * IN + 70_000n,
    },
    {
      name: "the dearer lower tier, too",
      demand: { maxOutputTokens: 1 },
      facts: { prices: { input: tiers(3, 2), output: 5 } },
      amount: 200n * 3n * IN + OUT,
    },
    {
      name: "a tier out of reach does not count",
      demand: { maxOutputTokens: 1, textTokens: { expected: 1, ceiling: 150 } },
      facts: { prices: { input: tiers(1, 2), output: 5 } },
      amount: 150n * IN + OUT,
    },
    {
      name: "a cache write dearer than input",
      demand: { maxOutputTokens: 1 },
      facts: { prices: { input: 1, cache_write_5m: 1.25, output: 5 } },
      amount: 200n * 12_500n + OUT,
    },
    {
      name: "reasoning dearer than output",
      demand: { maxOutputTokens: 2 },
      facts: { prices: { input: 1, output: 5, reasoning: 9 } },
      amount: 200n * IN + 180_000n,
    },
    {
      name: "input never beyond the context",
      demand: { maxOutputTokens: 1, textTokens: { expected: 100, ceiling: 99_999 } },
      amount: 10_000n * IN + OUT,
    },
    {
      name: "the dearest output that the model has, where the request leaves it to the model",
      demand: { maxOutputTokens: 2, outputModalities: undefined },
      facts: { output_modalities: ["text", "image"], prices: { input: 1, output: 5, image_output: 60 } },
      amount: 200n * IN + 1_200_000n,
    },
    {
      name: "the plain output of a model that has a price for images, where text was asked for",
      demand: { maxOutputTokens: 2 },
      facts: { output_modalities: ["text", "image"], prices: { input: 1, output: 5, image_output: 60 } },
      amount: 200n * IN + 2n * OUT,
    },
    {
      name: "a video at the price of audio, where that is dearer",
      demand: { maxOutputTokens: 1, media: { video: 1 } },
      facts: {
        input_modalities: ["text", "video"],
        media_token_ceiling: { video: 100 },
        prices: { input: 1, audio_input: 3, output: 5 },
      },
      amount: 300n * 3n * IN + OUT,
    },
    {
      name: "media at the model's ceiling",
      demand: { maxOutputTokens: 1, media: { image: 2 }, images: [{}, { size: { width: 10, height: 10 } }] },
      facts: { input_modalities: ["text", "image"], media_token_ceiling: { image: 1_000 } },
      amount: 2_200n * IN + OUT,
    },
    {
      name: "images by the model's formula",
      demand: {
        maxOutputTokens: 1,
        media: { image: 2 },
        images: [{ size: { width: 21, height: 10 } }, { detail: "low" }],
      },
      facts: {
        input_modalities: ["text", "image"],
        media_token_ceiling: { image: 1_000 },
        image_tokens: { patch: 10, per_patch: 2, base: 1, low: 50 },
      },
      amount: 257n * IN + OUT,
    },
    {
      name: "audio at its own price",
      demand: { maxOutputTokens: 1, media: { audio: 1 }, buckets: ["audio_input"] },
      facts: {
        input_modalities: ["text", "audio"],
        media_token_ceiling: { audio: 100 },
        prices: { input: 1, audio_input: 10, output: 5 },
      },
      amount: 300n * 100_000n + OUT,
    },
    {
      name: "writes of a cache that last an hour, where they are asked for",
      demand: { maxOutputTokens: 1, buckets: ["cache_write_1h"] },
      facts: { prices: { input: 1, cache_write_5m: 1.25, cache_write_1h: 2, output: 5 } },
      amount: 200n * 20_000n + OUT,
    },
    {
      name: "searches, what they find, and everything read again after each",
      demand: { maxOutputTokens: 1, webSearches: 2, rereads: 3, buckets: ["web_search"] },
      facts: { total_context: 1_000_000, prices: { input: 1, output: 5, web_search: 0.01 } },
      amount: (200n * 4n + 20_000n * 6n) * IN + 2n * 100_000_000n + OUT,
    },
    {
      name: "a single search",
      demand: { maxOutputTokens: 1, webSearches: 1, buckets: ["web_search"] },
      facts: { prices: { input: 1, output: 5, web_search: 0.01 } },
      amount: 200n * IN + 100_000_000n + OUT,
    },
    {
      name: "an image dearer than text",
      demand: { maxOutputTokens: 1 },
      facts: { prices: { input: 1, image_input: 3, output: 5 } },
      amount: 200n * 30_000n + OUT,
    },
    {
      name: "output that is spoken at the price of audio",
      demand: { maxOutputTokens: 2, outputModalities: ["text", "audio"], buckets: ["audio_output"] },
      facts: { output_modalities: ["text", "audio"], prices: { input: 1, output: 5, audio_output: 60 } },
      amount: 200n * IN + 1_200_000n,
    },
    {
      name: "output that may be spoken, where the request leaves it to the model",
      demand: { maxOutputTokens: 2, outputModalities: undefined },
      facts: { output_modalities: ["text", "audio"], prices: { input: 1, output: 5, audio_output: 60 } },
      amount: 200n * IN + 1_200_000n,
    },
    {
      name: "output dearer than reasoning",
      demand: { maxOutputTokens: 2 },
      facts: { prices: { input: 1, output: 5, reasoning: 2 } },
      amount: 200n * IN + 2n * OUT,
    },
    {
      name: "input dearer than what is written to the cache",
      demand: { maxOutputTokens: 1 },
      facts: { prices: { input: 1, cache_write_5m: 0.5, image_input: 0.5, output: 5 } },
      amount: 200n * IN + OUT,
    },
    {
      name: "a rule of the hour, as it is now",
      demand: { maxOutputTokens: 1 },
      facts: { prices: { input: [{ when: { utc_hours: [[12, 13]] }, price: 3 }, { price: 1 }], output: 5 } },
      amount: 200n * 3n * IN + OUT,
    },
    {
      name: "an unbounded model is held for what the caller said",
      demand: { maxOutputTokens: 1_000_000 },
      facts: { max_output: undefined as never },
      amount: 200n * IN + 1_000_000n * OUT,
    },
  ];
  for (const { name, demand = {}, facts = {}, amount } of cases) {
    test(name, () => {
      const admission = ask(demand, facts);
      expect(admission.amount).toBe(amount);
      expect(admission.elastic).toBeUndefined();
    });
  }

  test("without a bound the output is elastic, up to the model's most", () => {
    expect(ask({ choices: 2 })).toMatchObject({
      amount: 200n * IN,
      elastic: { tokenPrice: 2n * OUT, maxTokens: 500, floorTokens: 500 },
    });
    expect(ask({}, { max_output: 5_000 }).elastic).toEqual({
      tokenPrice: OUT,
      maxTokens: 5_000,
      floorTokens: 1_024,
    });
    expect(ask({}, { max_output: undefined as never }).elastic?.maxTokens).toBe(32_768);
    expect(ask({}, { total_context: undefined as never }).elastic?.maxTokens).toBe(500);
  });

  test("reasoning on top of a bound is elastic, up to the model's most and to its context", () => {
    const asked = { maxOutputTokens: 40, reasoningOnTop: Infinity };
    const elastic = { tokenPrice: OUT, maxTokens: 500, floorTokens: 500 };
    expect(ask(asked)).toMatchObject({ amount: 200n * IN + 40n * OUT, elastic });
    expect(ask(asked, { total_context: 300 }).elastic?.maxTokens).toBe(460);
    expect(ask({ ...asked, reasoningOnTop: 90 }).elastic?.maxTokens).toBe(90);
    expect(ask({ reasoningOnTop: 90 }).elastic?.maxTokens).toBe(590);
    expect(ask({ maxOutputTokens: 40, reasoningOnTop: 0 }).elastic).toBeUndefined();
  });

  test("an amount that no store can hold is never asked for", () => {
    const most = { maxOutputTokens: 1e18 };
    let amount = 0n;
    try {
      amount = ask(most, { max_output: undefined as never }).amount;
    } catch (error) {
      expect((error as GatewayError).kind as string).toBe("invalid_request_error");
    }
    expect(amount).toBeLessThanOrEqual(MAX_MICRO_CREDITS);
  });
});

describe("what an answer may come to is told of", () => {
  const told = (demand: Changes, facts: Partial<ModelFacts> = {}, kind = "native") => {
    const protocols = [
      { ...PROVIDER.protocols[0], dialect: { ...PROVIDER.protocols[0]!.dialect, kind } },
    ] as unknown as Provider["protocols"];
    const at = { ...offer(facts), providers: new Map([["p", { ...PROVIDER, protocols }]]) };
    return admitAt(at, CALLER, "v/m", { ...PLAIN, ...demand } as Demand);
  };

  test("the bound on output, for all choices, where there is one", () => {
    expect(told({ maxOutputTokens: 40, choices: 3 })).toMatchObject({ mostOutput: 120, choices: 3 });
    expect(told({ choices: 3 }).mostOutput).toBeUndefined();
  });

  test("reasoning on top of it, as the request says, for all choices and up to the model's most", () => {
    const most = (reasoningOnTop: number) => told({ reasoningOnTop, choices: 3 }).mostReasoning;
    expect(most(90)).toEqual({ tokens: 270, asCounted: false });
    expect(most(Infinity)).toEqual({ tokens: 1_500, asCounted: false });
  });

  test("reasoning on top that nobody spoke of: the model's most where a vendor is only compatible", () => {
    expect(told({ choices: 3 }).mostReasoning).toEqual({ tokens: 0, asCounted: true });
    expect(told({ choices: 3 }, {}, "compatible").mostReasoning).toEqual({ tokens: 1_500, asCounted: true });
  });

  test("searches and readings, and whether the provider is to look up what it stores", () => {
    const asked = told(
      { webSearches: 1, rereads: 1, namesStored: true },
      { prices: { input: 1, output: 5, web_search: 0.01 } },
    );
    expect(asked).toMatchObject({ mostSearches: 1, inputReads: 2, namesStored: true });
    expect(told({})).toMatchObject({ mostSearches: 0, inputReads: 1, namesStored: false });
  });

  test("how the provider's own words are told of, to which request it goes", () => {
    expect(told({}).target.native).toBe(true);
    expect(Object.keys(told({}).target)).not.toContain("chat");
    expect(told({}, {}, "compatible").target.native).toBe(false);
    const dialect = { ...PROVIDER.protocols[0]!.dialect, compacts: true, functionsOnly: true };
    const provider = {
      ...PROVIDER,
      protocols: [{ ...PROVIDER.protocols[0]!, dialect }],
    } as unknown as Provider;
    const { target } = admitAt({ ...offer(), providers: new Map([["p", provider]]) }, CALLER);
    expect(target).toMatchObject({ compacts: true, functionsOnly: true });
  });
});

test("a model with ways of other formats is held for the request in their words", () => {
  const { ways } = findDestinations(offer(), CALLER, "compat_chat_completions", "v/m");
  const held = (hasOtherFormats: boolean) =>
    admit(
      ways[0] as Destination,
      "compat_chat_completions",
      { ...PLAIN, maxOutputTokens: 1 },
      NOON,
      hasOtherFormats,
    ).amount;
  expect([held(false), held(true)]).toEqual([200n * IN + OUT, (200n + 1_024n + 7n) * IN + OUT]);
});

test("the first route with a live provider serves, and prices are fixed at the moment", () => {
  const { provider, upstreamId, snapshot, expectedInput } = ask(
    { media: { audio: 1 }, mediaBytes: 5_000 },
    { input_modalities: ["text", "audio"], media_token_ceiling: { audio: 30 } },
  );
  expect([provider, upstreamId, snapshot.pricedAtMs, expectedInput]).toEqual([PROVIDER, "up", NOON, 110]);
});

describe("what cannot be served is refused by name", () => {
  const cases = [
    {
      name: "an unknown model",
      run: () => ask({}, {}, "v/n"),
      kind: "invalid_request_error",
      param: "model",
      says: "v/m",
    },
    {
      name: "__proto__",
      run: () => ask({}, {}, "__proto__"),
      kind: "invalid_request_error",
      param: "model",
      says: "__proto__",
    },
    {
      name: "a model of no endpoint",
      run: () => admitAt(offer({}, { protocols: [] }), CALLER),
      kind: "invalid_request_error",
      param: "model",
      says: "No provider that serves the model v/m",
    },
    {
      name: "a model the key may not use",
      run: () => admitAt(offer(), { ...CALLER, models: new Set(["v/other"]) }),
      kind: "invalid_request_error",
      param: "model",
      says: "may not use the model v/m",
    },
    {
      name: "an input the model does not take",
      run: () => ask({ media: { audio: 1 } }),
      kind: "invalid_request_error",
      param: "messages",
      says: "not audio",
    },
    {
      name: "an output the model does not give",
      run: () => ask({ outputModalities: ["text", "image"] }),
      kind: "invalid_request_error",
      param: "modalities",
      says: "not image",
    },
    {
      name: "a bucket without a price",
      run: () => ask({ buckets: ["audio_output"] }),
      kind: "invalid_request_error",
      param: undefined,
      says: "no price for audio output",
    },
    {
      name: "an input far beyond the context",
      run: () => ask({ textTokens: { expected: 15_001, ceiling: 40_000 } }),
      kind: "input_too_large",
      param: "messages",
      says: "10000",
    },
    {
      name: "a model whose provider is gone",
      run: () => admitAt(offer({}, { provider: "gone" }), CALLER),
      kind: "invalid_request_error",
      param: "model",
      says: "No provider that serves the model v/m",
    },
  ];
  for (const { name, run, kind, param, says } of cases) {
    test(`${name} is ${kind}`, () => {
      let thrown: unknown;
      try {
        run();
      } catch (error) {
        thrown = error;
      }
      expect(thrown).toBeInstanceOf(GatewayError);
      expect(thrown).toMatchObject({ kind, param });
      expect((thrown as Error).message).toContain(says);
    });
  }

  test("an input a little beyond our guess is for the provider to judge", () => {
    expect(() => ask({ textTokens: { expected: 15_000, ceiling: 40_000 } })).not.toThrow();
  });
});
