import { describe, expect, test } from "bun:test";
import { parse } from "yaml";
import type { Environment } from "./environment.ts";
import { readProviders } from "./provider-settings.ts";
import type { Provider } from "./providers/provider.ts";
import { PROVIDERS } from "./providers/registry.ts";

/** The providers of a section, with the variables `K1` to `K3` and those of `more`. */
function providersOf(yaml: string, more: Environment = {}): ReadonlyMap<string, Provider> {
  const environment = { K1: "first-key", K2: " second-key\n", K3: "third-key", ...more };
  return readProviders("providers", parse(yaml) as never, environment, PROVIDERS).providers;
}

/** Each credential with the headers of the provider's calls by it. */
function signatures(provider: Provider | undefined): unknown {
  return provider?.credentials?.map(({ name, protocols, embeddings }) => [
    name,
    ...protocols.map(({ headers }) => headers),
    ...(embeddings === undefined ? [] : [embeddings.headers]),
  ]);
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

const local = (lines: string): string => `
local:
  base_url: http://127.0.0.1:1/v1
  models: [{ id: local/m, prices: { input: 1, output: 1 } }]
  ${lines}`;

describe("several credentials of a provider", () => {
  test("stand behind the one of its variable, and each signs all that the provider speaks", () => {
    const providers = providersOf("{ openai: { credentials: [{ env: K1 }, { env: K2 }] } }", {
      OPENAI_API_KEY: "own-key",
    });
    const openai = providers.get("openai");
    const count = (openai?.protocols.length ?? 0) + 1;
    const signed = (name: string, key: string): unknown[] => [
      name,
      ...Array.from({ length: count }, () => bearer(key)),
    ];
    expect(signatures(openai)).toEqual([
      signed("OPENAI_API_KEY", "own-key"),
      signed("K1", "first-key"),
      signed("K2", "second-key"),
    ]);
    expect(openai?.secrets).toEqual(["own-key", "first-key", "second-key"]);
    expect(openai?.credentials?.[0]?.protocols).toBe(openai?.protocols);
  });

  test("are signed as the vendor wants it, in every format", () => {
    const own = { GEMINI_API_KEY: "own-key", ANTHROPIC_API_KEY: "own-key", OPENROUTER_API_KEY: "own-key" };
    for (const id of ["google", "anthropic", "openrouter"]) {
      const provider = providersOf(`{ ${id}: { credentials: [{ env: K1 }] } }`, own).get(id);
      const headers = ({ protocols, embeddings }: Pick<Provider, "protocols" | "embeddings">): string =>
        JSON.stringify(
          [...protocols, ...(embeddings === undefined ? [] : [embeddings])].map((spoken) => spoken.headers),
        );
      const [first, second] = (provider?.credentials ?? []).map(headers);
      expect(first).toContain("own-key");
      expect(second).toBe(first?.replaceAll("own-key", "first-key"));
    }
  });

  test("have bounds of their own, and one that names the provider's variable bounds that", () => {
    const bounds = (provider: Provider | undefined): unknown =>
      provider?.credentials?.map(({ name, requestsPerMinute, concurrency }) => [
        name,
        requestsPerMinute,
        concurrency,
      ]);
    const listed = `credentials: [{ env: K2, requests_per_minute: 60 }, { env: K1, concurrency: 4, requests_per_minute: 9 }, { env: K3 }]`;
    expect(bounds(providersOf(local(`api_key_env: K1\n  ${listed}`)).get("local"))).toEqual([
      ["K1", 9, 4],
      ["K2", 60, undefined],
      ["K3", undefined, undefined],
    ]);
    const environment = { OPENAI_API_KEY: "k" };
    const one = "{ openai: { credentials: [{ env: OPENAI_API_KEY, concurrency: 7 }] } }";
    expect(bounds(providersOf(one, environment).get("openai"))).toEqual([["OPENAI_API_KEY", undefined, 7]]);
  });

  test("stand behind a key that the file has, which has no name", () => {
    const provider = providersOf(local("api_key: in-file\n  credentials: [{ env: K1 }]")).get("local");
    expect(signatures(provider)).toEqual([
      ["", bearer("in-file"), bearer("in-file")],
      ["K1", bearer("first-key"), bearer("first-key")],
    ]);
  });

  test("are all that a server has which has no key of its own: no call goes up unsigned", () => {
    const provider = providersOf(local("credentials: [{ env: K1 }, { env: K2 }]")).get("local");
    expect(signatures(provider)).toEqual([
      ["K1", bearer("first-key"), bearer("first-key")],
      ["K2", bearer("second-key"), bearer("second-key")],
    ]);
    expect([provider?.protocols[0]?.headers, provider?.embeddings?.headers]).toEqual([
      bearer("first-key"),
      bearer("first-key"),
    ]);
    expect(provider?.secrets).toEqual(["first-key", "second-key"]);
  });

  test("sign embeddings as the format at their address, whichever is preferred", () => {
    const section = local("protocols: [messages, chat_completions]\n  credentials: [{ env: K1 }]").replace(
      /base_url: .*/,
      "base_url: { messages: http://127.0.0.1:1, chat_completions: http://127.0.0.1:1/v1 }",
    );
    const provider = providersOf(section).get("local");
    expect(provider?.protocols[0]?.headers).not.toEqual(bearer("first-key"));
    expect(provider?.embeddings?.headers).toEqual(bearer("first-key"));
  });

  test("without a list a provider has none beside its own", () => {
    expect(providersOf(local("api_key: in-file")).get("local")?.credentials).toBeUndefined();
  });
});

describe("several credentials of a provider of images and videos", () => {
  const mediaOf = (yaml: string, more: Environment) => {
    const environment = { K1: "first-key", K2: "second-key", ...more };
    return readProviders("providers", parse(yaml) as never, environment, PROVIDERS).mediaProviders;
  };

  test("are those of its language models, each of which signs its calls", () => {
    const yaml =
      "{ openai: { credentials: [{ env: K1, concurrency: 3 }, { env: OPENAI_API_KEY, requests_per_minute: 9 }] } }";
    const openai = mediaOf(yaml, { OPENAI_API_KEY: "own-key" }).get("openai");
    expect(openai?.credentials?.map(({ provider, ...named }) => [named, provider.headers])).toEqual([
      [{ name: "OPENAI_API_KEY", requestsPerMinute: 9 }, bearer("own-key")],
      [{ name: "K1", concurrency: 3 }, bearer("first-key")],
    ]);
    expect(openai?.headers).toEqual(bearer("own-key"));
    for (const { secrets } of [openai!, ...(openai?.credentials ?? []).map(({ provider }) => provider)])
      expect([...secrets].sort()).toEqual(["first-key", "own-key"]);
  });

  test("can be given where it has no language models, and nothing else can", () => {
    const own = { FAL_KEY: "own-key" };
    const fal = mediaOf("{ fal: { credentials: [{ env: K1 }] } }", own).get("fal");
    expect(fal?.credentials?.map(({ name, provider }) => [name, provider.headers])).toEqual([
      ["FAL_KEY", { authorization: "Key own-key" }],
      ["K1", { authorization: "Key first-key" }],
    ]);
    expect(() => mediaOf("{ fal: { models: [] } }", own)).toThrow(
      new Error("providers.fal has no language models: it takes credentials only, not models."),
    );
    expect(() => mediaOf("{ fal: { credentials: [{ env: K1 }] } }", {})).toThrow(
      new Error("providers.fal needs its key: FAL_KEY is not set in the environment."),
    );
    expect(() => mediaOf("{ fal: { credentials: [{ env: NONE }] } }", own)).toThrow(
      new Error("providers.fal.credentials[0].env names NONE, which is not set."),
    );
  });
});

describe("credentials that cannot be used are one sentence that names them", () => {
  const wrongs = [
    {
      list: "[{ env: K1 }, { env: NONE }]",
      says: "providers.local.credentials[1].env names NONE, which is not set.",
    },
    { list: "[{ env: BLANK }]", says: "providers.local.credentials[0].env names BLANK, which is not set." },
    { list: "[{ env: K1 }, { env: K2 }, { env: K1 }]", says: "providers.local.credentials names K1 twice." },
    {
      list: "[{ env: BROKEN }]",
      says: "BROKEN has a line break or another control character in it: write it as one line.",
    },
    { list: "[{ env: ODD }]", says: "ODD has a character in it that no header can carry: copy it anew." },
  ];
  for (const { list, says } of wrongs)
    test(says, () =>
      expect(() =>
        providersOf(local(`credentials: ${list}`), { BLANK: " ", BROKEN: "a\nb", ODD: "a\u2019" }),
      ).toThrow(new Error(says)),
    );

  test("a built-in provider needs its own key, too", () =>
    expect(() => providersOf("{ openai: { credentials: [{ env: K1 }] } }")).toThrow(
      new Error("providers.openai needs its key: OPENAI_API_KEY is not set in the environment."),
    ));
});
