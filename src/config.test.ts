import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startGateway } from "../test/gateway/gateway.ts";
import { readSettings } from "./config.ts";
import type { Environment } from "./environment.ts";
import { DEFAULT_TIMEOUTS } from "./gateway/timeouts.ts";
import { PROVIDERS } from "./providers/registry.ts";
import { DEFAULT_TASK_SETTINGS } from "./tasks/settings.ts";

const folder = mkdtempSync(join(tmpdir(), "switchyard-config-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function settings(yaml: string, environment: Environment = {}) {
  const file = join(folder, "switchyard.yaml");
  writeFileSync(file, yaml);
  return readSettings(file, environment, PROVIDERS);
}

function sentenceOf(run: () => unknown): string {
  try {
    run();
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

describe("a provider's variable at fault is one sentence that names it", () => {
  for (const { id, keyVariable, baseUrlVariable } of PROVIDERS) {
    test(`${id}: a line break in the key, and a password in the address`, () => {
      const own = { [baseUrlVariable]: "https://proxy.example" };
      for (const key of ["hush\nx: y", "hush\r\nx: y", "hush\u0000"])
        expect(sentenceOf(() => settings("", { ...own, [keyVariable]: key }))).toBe(
          `${keyVariable} has a line break or another control character in it: write it as one line.`,
        );
      expect(sentenceOf(() => settings("", { ...own, [keyVariable]: "hush\u2019" }))).toBe(
        `${keyVariable} has a character in it that no header can carry: copy it anew.`,
      );
      for (const address of ["https://me:hush@proxy.example/v1", "https://hush@proxy.example"])
        for (const environment of [{ [keyVariable]: "k" }, {}])
          expect(sentenceOf(() => settings("", { ...environment, [baseUrlVariable]: address }))).toMatch(
            new RegExp(`^${baseUrlVariable} has a name or a password in it, (?!.*hush)`),
          );
    });
  }

  for (const address of [
    "nope",
    "localhost:8080/v1",
    "https://proxy.example/v1?region=eu",
    "https://proxy.example#v1",
  ]) {
    test(`OPENAI_BASE_URL=${address}`, () => {
      const environment = { OPENAI_API_KEY: "k", OPENAI_BASE_URL: address };
      expect(sentenceOf(() => settings("", environment))).toContain("OPENAI_BASE_URL");
    });
  }
});

const PROVIDER = `
providers:
  local:
    base_url: http://127.0.0.1:11434/v1/
    models:
      - id: local/m
        prices: { input: 1, output: 2 }
`;

describe("switchyard.yaml", () => {
  test("that is not there, or empty, adds nothing", () => {
    expect(readSettings(join(folder, "missing.yaml"), {}, PROVIDERS).models).toEqual([]);
    expect(settings("").providers.size).toBe(0);
    expect(settings("# nothing\n").timeouts.plainMs).toBe(600_000);
  });

  test("adds a provider and its models", () => {
    const { providers, models } = settings(PROVIDER);
    expect(providers.get("local")?.protocols).toMatchObject([
      {
        baseUrl: "http://127.0.0.1:11434/v1",
        headers: {},
        dialect: { kind: "compatible", unknownFields: "remove" },
      },
    ]);
    expect(models.map(({ uniqueId, routes }) => [uniqueId, routes])).toEqual([
      ["language/local/m", [{ provider: "local", upstreamId: "local/m" }]],
    ]);
  });

  test("names hosts that may be fetched from beside the public ones", () => {
    expect(settings("").outbound).toEqual({ allowedHosts: [], plainHttp: false });
    expect(settings('outbound: { allowed_hosts: [minio, "[::1]:9000"], plain_http: true }').outbound).toEqual(
      {
        allowedHosts: ["minio", "[::1]:9000"],
        plainHttp: true,
      },
    );
  });

  const key = (line: string): string => PROVIDER.replace("    models:", `    ${line}\n    models:`);
  test("offers its models in every format that its provider can be asked in", () => {
    const formats = (protocol: string) =>
      settings(key(`protocol: ${protocol}`)).models[0]?.supportedProtocols;
    expect(formats("chat_completions")).toEqual(["compat_chat_completions"]);
    expect(formats("messages")).toEqual(["compat_chat_completions", "compat_messages"]);
    expect(formats("generate_content")).toEqual(["compat_chat_completions", "compat_generate_content"]);
  });

  const SPEAKS_TWO = PROVIDER.replace(
    /base_url: .*/,
    `protocols: [messages, chat_completions]
    base_url: { chat_completions: "http://127.0.0.1:1/v1/", messages: "http://127.0.0.1:1" }`,
  );

  test("a server that speaks two formats has an address for each, in the order that it prefers", () => {
    const { providers, models } = settings(SPEAKS_TWO);
    expect(providers.get("local")?.protocols.map(({ id, baseUrl }) => [id, baseUrl])).toEqual([
      ["compat_messages", "http://127.0.0.1:1"],
      ["compat_chat_completions", "http://127.0.0.1:1/v1"],
    ]);
    expect(models[0]?.supportedProtocols).toEqual(["compat_chat_completions", "compat_messages"]);
  });

  test("a model of such a server may be served in one of its formats alone", () => {
    const [model] = settings(
      SPEAKS_TWO.replace("- id:", "- protocols: [chat_completions]\n        id:"),
    ).models;
    expect(model?.supportedProtocols).toEqual(["compat_chat_completions"]);
    expect(model?.routes[0]?.protocols).toEqual(["compat_chat_completions"]);
  });

  test("a built-in provider is called in those of its formats that the file names, in their order", () => {
    const formats = (named: string) =>
      settings(`providers: { openai: { protocols: [${named}] } }`, { OPENAI_API_KEY: "k" })
        .providers.get("openai")
        ?.protocols.map(({ id }) => id);
    expect(formats("responses, chat_completions")).toEqual(["compat_responses", "compat_chat_completions"]);
    expect(formats("chat_completions")).toEqual(["compat_chat_completions"]);
    expect(() => formats("messages")).toThrow(
      "providers.openai.protocols has messages, which the provider does not speak.",
    );
  });

  test("takes a credential from the file or from the environment it names", () => {
    expect(settings(key("api_key: abc")).providers.get("local")?.protocols[0]?.headers).toEqual({
      authorization: "Bearer abc",
    });
    const { protocols, secrets } = settings(key("api_key_env: K"), { K: "xyz" }).providers.get("local") ?? {};
    expect([protocols?.[0]?.headers, secrets]).toEqual([{ authorization: "Bearer xyz" }, ["xyz"]]);
  });

  test("reads aliases as they are written, and takes those of the catalogue unless it is told not to", () => {
    const { aliases, defaultAliases } = settings(
      'aliases: { fast: a/b, "gpt-4*": c/d, "*": a/b, __proto__: a/b }',
    );
    expect([...aliases]).toEqual([
      ["fast", "a/b"],
      ["gpt-4*", "c/d"],
      ["*", "a/b"],
      ["__proto__", "a/b"],
    ]);
    expect(defaultAliases).toBe(true);
    expect(settings("default_aliases: false").defaultAliases).toBe(false);
    expect([...settings("default_aliases: true").aliases]).toEqual([]);
  });

  test("reads seconds as milliseconds", () => {
    expect(settings("timeouts: { idle_seconds: 1.5, plain_seconds: 3 }").timeouts).toMatchObject({
      idleMs: 1_500,
      plainMs: 3_000,
      streamMs: 600_000,
    });
  });

  test("has time limits for each kind of model, which are those of language models where it does not say otherwise", () => {
    const section =
      "{ connect_seconds: 3, plain_seconds: 4, image: { plain_seconds: 5 }, video: { write_seconds: 6 } }";
    const { timeouts } = settings(`timeouts: ${section}`);
    const call = { connectMs: 3_000, writeMs: 60_000, plainMs: 4_000 };
    expect(timeouts).toMatchObject({
      ...call,
      embedding: call,
      image: { ...call, plainMs: 5_000 },
      video: { ...call, writeMs: 6_000, plainMs: 300_000 },
    });
    expect(settings("").timeouts).toEqual(DEFAULT_TIMEOUTS);
    expect(sentenceOf(() => settings("timeouts: { image: { idle_seconds: 1 } }"))).toContain(
      "timeouts.image.idle_seconds",
    );
  });

  test("adds models to a built-in provider, beside the quirks that are set", () => {
    const { providers, models } = settings(
      `
providers:
  groq:
    quirks: { developer_role: true }
    models:
      - { id: groq/fast, upstream_id: openai/gpt-oss-120b, thinking: { efforts: [low, high] }, prices: { input: 1, output: 2 } }
`,
      { GROQ_API_KEY: "k" },
    );
    const groq = providers.get("groq");
    expect(groq?.secrets).toEqual(["k"]);
    const [spoken] = groq?.protocols ?? [];
    expect(spoken?.baseUrl).toBe("https://api.groq.com/openai/v1");
    expect(spoken?.dialect.chat).toMatchObject({ developerRole: true, manyChoices: false, toolIds: "any" });
    expect(models[0]).toMatchObject({
      routes: [{ provider: "groq", upstreamId: "openai/gpt-oss-120b" }],
      thinking: { efforts: ["low", "high"], canBeOff: true },
    });
  });

  test("takes the quirks of a vendor for a server that is like it, but for those that are set", () => {
    const lines = "like: mistral\n    stream_usage_option: true\n    quirks: { tool_ids: forty }";
    const dialect = settings(key(lines)).providers.get("local")?.protocols[0]?.dialect;
    expect(dialect).toMatchObject({ kind: "compatible", streamUsageOption: true, padding: ["p"] });
    expect(dialect?.chat).toMatchObject({ toolIds: "forty", renames: { seed: "random_seed" } });
  });

  test("every built-in provider is live by its key alone, at its public address", () => {
    const environment = Object.fromEntries(PROVIDERS.map(({ keyVariable }) => [keyVariable, "k"]));
    const own = "https://proxy.example";
    const { providers, mediaProviders } = settings("", { ...environment, MIDJOURNEY_PROXY_BASE_URL: own });
    const speaking = PROVIDERS.filter(({ protocols }) => protocols.length > 0);
    expect([...providers.keys()]).toEqual(speaking.map(({ id }) => id));
    const drawing = PROVIDERS.filter(({ media }) => media !== undefined);
    expect([...mediaProviders.keys()]).toEqual(drawing.map(({ id }) => id));
    for (const { id, keyVariable, baseUrlVariable, defaultBaseUrl = own, media } of PROVIDERS) {
      expect(baseUrlVariable).toBe(keyVariable.replace(/_((API_)?KEY|SECRET)$/, "_BASE_URL"));
      for (const { baseUrl } of providers.get(id)?.protocols ?? []) expect(baseUrl).toBe(defaultBaseUrl);
      const forMedia = media?.baseUrl?.(defaultBaseUrl) ?? defaultBaseUrl;
      expect(mediaProviders.get(id)?.baseUrl ?? forMedia).toBe(forMedia);
      expect(forMedia).toMatch(/^https:\/\/[a-z0-9.-]+(\/[a-z0-9/.-]+)?$/);
      expect(Object.values(mediaProviders.get(id)?.headers ?? { key: "k" }).join()).toEndWith("k");
      expect(mediaProviders.get(id)?.secrets ?? ["k"]).toEqual(["k"]);
    }
  });

  test("a provider without a public address is none without its own, and a set key says so", () => {
    expect(sentenceOf(() => settings("", { MIDJOURNEY_PROXY_SECRET: "k" }))).toBe(
      "MIDJOURNEY_PROXY_BASE_URL must be set beside MIDJOURNEY_PROXY_SECRET: midjourney has no public address.",
    );
    expect(settings("", { MIDJOURNEY_PROXY_BASE_URL: "https://p.example" }).mediaProviders.size).toBe(0);
  });

  test("white space around a credential is none of it, as in a block or a file that ends in a line break", () => {
    const block = settings(key("api_key: |\n      abc"));
    expect(block.providers.get("local")?.secrets).toEqual(["abc"]);
    const variable = settings(key("api_key_env: K"), { K: " xyz\n" });
    expect(variable.providers.get("local")?.secrets).toEqual(["xyz"]);
  });

  test("a line break in a credential is refused by the variable that the file names", () => {
    expect(sentenceOf(() => settings(key("api_key_env: K"), { K: "a\nb" }))).toStartWith(
      "K has a line break",
    );
  });

  test("routes go to providers that there are, live or not", () => {
    const to = (provider: string) =>
      `${PROVIDER}\nrouting: { models: { a/b: { routes: [{ provider: ${provider} }] } } }`;
    for (const provider of ["local", "openai"])
      expect(settings(to(provider)).routing.models.get("a/b")?.routes).toEqual([{ provider }]);
    expect(sentenceOf(() => settings(to("opnai")))).toEndWith(
      "switchyard.yaml: routing.models.a/b.routes[0].provider names opnai, which is no provider.",
    );
  });

  const bad = [
    {
      name: "with a line break in a credential",
      yaml: key('api_key: "hush\\nx: y"'),
      says: "providers.local.api_key has a line break",
    },
    {
      name: "with a password in an address",
      yaml: PROVIDER.replace("http://", "http://me:hush@"),
      says: "providers.local.base_url has a name or a password in it",
    },
    {
      name: "with a credential of blanks",
      yaml: key('api_key: "  "'),
      says: "providers.local.api_key is blank",
    },
    {
      name: "with a query in an address",
      yaml: PROVIDER.replace("/v1/", "/v1?api-version=hush"),
      says: "providers.local.base_url has a ? or a # in it",
    },
    {
      name: "with a fragment in the address of one of its formats",
      yaml: SPEAKS_TWO.replace("127.0.0.1:1/v1/", "127.0.0.1:1/v1/#hush"),
      says: "providers.local.base_url.chat_completions has a ? or a # in it",
    },
    { name: "that is no YAML", yaml: "providers: [", says: "is not valid YAML" },
    { name: "with a key twice", yaml: "timeouts: {}\ntimeouts: {}", says: "is not valid YAML" },
    { name: "that is a list", yaml: "- 1", says: "must be a mapping" },
    { name: "that is text", yaml: "hello", says: "must be a mapping" },
    { name: "with an unknown key at the top", yaml: "provders: {}", says: "provders" },
    { name: "with an unknown key of a provider", yaml: key("colour: red"), says: "providers.local.colour" },
    {
      name: "with an unknown key of a model",
      yaml: PROVIDER.replace("prices:", "price: 1\n        prices:"),
      says: "providers.local.models[0].price",
    },
    { name: "with an unknown exception", yaml: "outbound: { hosts: [] }", says: "outbound.hosts" },
    ...[
      "http://a.example",
      "a.example/x",
      "a:99999",
      "a:0",
      "*.example",
      "",
      "a b",
      "a@b",
      "[::1",
      "1.2.3.4:",
    ].map((entry) => ({
      name: `with the exception ${JSON.stringify(entry)}`,
      yaml: `outbound: { allowed_hosts: [ok.example, ${JSON.stringify(entry)}] }`,
      says: `outbound.allowed_hosts has ${JSON.stringify(entry)}`,
    })),
    { name: "with aliases that are no mapping", yaml: "aliases: [fast]", says: "aliases must be" },
    { name: "with an alias to a list", yaml: "aliases: { fast: [a/b] }", says: "aliases.fast" },
    { name: "with an alias to nothing", yaml: "aliases: { fast: }", says: "aliases.fast" },
    { name: "with an alias of a word", yaml: "default_aliases: none", says: "default_aliases" },
    ...["", "a b", "gpt*4", "**", "*a"].map((name) => ({
      name: `with an alias called ${JSON.stringify(name)}`,
      yaml: `aliases: { ok: a/b, ${JSON.stringify(name)}: a/b }`,
      says: `aliases: ${JSON.stringify(name)} is no name`,
    })),
    {
      name: "with an unknown key of a credential",
      yaml: key("credentials: [{ env: K, rate: 1 }]"),
      says: "providers.local.credentials[0].rate",
    },
    {
      name: "with a credential without a variable",
      yaml: key("credentials: [{ concurrency: 1 }]"),
      says: "providers.local.credentials[0].env is required",
    },
    {
      name: "with no credential",
      yaml: key("credentials: []"),
      says: "providers.local.credentials must not",
    },
    ...["requests_per_minute", "concurrency"].flatMap((bound) =>
      [0, 1.5].map((value) => ({
        name: `with a credential of ${bound} ${value}`,
        yaml: key(`credentials: [{ env: K, ${bound}: ${value} }]`),
        says: `providers.local.credentials[0].${bound} must be`,
      })),
    ),
    { name: "with an unknown timeout", yaml: "timeouts: { idle: 1 }", says: "timeouts.idle" },
    {
      name: "with a timeout of nothing",
      yaml: "timeouts: { idle_seconds: 0 }",
      says: "timeouts.idle_seconds",
    },
    {
      name: "with an address that is none",
      yaml: PROVIDER.replace("http://", "ws://"),
      says: "providers.local.base_url is no URL that begins with http:// or https://",
    },
    {
      name: "with an address without http://",
      yaml: PROVIDER.replace("http://", ""),
      says: "providers.local.base_url is no URL that begins with http:// or https://",
    },
    {
      name: "with a provider whose name has capitals, whatever else it has",
      yaml: PROVIDER.replace("local:", "My_Server:"),
      says: "providers.My_Server: the name of a provider has lower-case letters, digits and dashes only",
    },
    {
      name: "with an unknown key under a name in capitals",
      yaml: PROVIDER.replace("local:", "My_Server:\n    colour: red"),
      says: "providers.My_Server.colour is not a known key",
    },
    {
      name: "with a model id without a vendor",
      yaml: PROVIDER.replace("local/m", "llama"),
      says: 'providers.local.models[0].id is "llama": clients call a model by vendor/name',
    },
    {
      name: "without models",
      yaml: "providers: { x: { base_url: 'http://a', models: [] } }",
      says: "providers.x.models",
    },
    {
      name: "with a model id in capitals",
      yaml: PROVIDER.replace("local/m", "Local/m"),
      says: "providers.local.models[0].id",
    },
    {
      name: "with a model without prices",
      yaml: PROVIDER.replace(/ +prices.*\n/, ""),
      says: "providers.local.models[0].prices",
    },
    {
      name: "with a price that is too fine",
      yaml: PROVIDER.replace("input: 1", "input: 0.00001"),
      says: "providers.local.models[0]: prices.input",
    },
    {
      name: "with the address of a built-in provider",
      yaml: PROVIDER.replace("local:", "openai:"),
      says: "providers.openai is built in and takes models, quirks, protocols and credentials only, not base_url: set OPENAI_API_KEY and OPENAI_BASE_URL",
    },
    {
      name: "with models of a built-in provider that has no key",
      yaml: "providers: { groq: { models: [{ id: groq/m, prices: { input: 1, output: 2 } }] } }",
      says: "providers.groq needs its key: GROQ_API_KEY is not set",
    },
    {
      name: "with a provider without an address",
      yaml: PROVIDER.replace(/ +base_url.*\n/, ""),
      says: "providers.local.base_url is required",
    },
    {
      name: "with a provider without models",
      yaml: "providers: { x: { base_url: 'http://a' } }",
      says: "providers.x.models is required",
    },
    {
      name: "with a likeness that nobody knows",
      yaml: key("like: nobody"),
      says: 'providers.local.like is "nobody", which is none of ollama, vllm, llama-cpp, lm-studio, openai',
    },
    { name: "with an unknown quirk", yaml: key("quirks: { odd: true }"), says: "providers.local.quirks.odd" },
    {
      name: "with a quirk of the wrong kind",
      yaml: key("quirks: { tool_ids: ten }"),
      says: "providers.local.quirks.tool_ids",
    },
    {
      name: "with quirks of another format",
      yaml: key("protocol: messages\n    quirks: { developer_role: false }"),
      says: "like and quirks are of chat_completions only",
    },
    {
      name: "with protocol beside protocols",
      yaml: key("protocol: messages\n    protocols: [messages]"),
      says: "providers.local has protocol and protocols: write protocols alone",
    },
    {
      name: "with one address for two formats",
      yaml: key("protocols: [messages, chat_completions]"),
      says: "providers.local.base_url must have an address for each of messages, chat_completions",
    },
    {
      name: "with a format without an address",
      yaml: SPEAKS_TWO.replace(/, messages: "[^"]*"/, ""),
      says: "providers.local.base_url.messages is required",
    },
    {
      name: "with an address of a format that is not named",
      yaml: SPEAKS_TWO.replace("[messages, chat_completions]", "[messages]"),
      says: "providers.local.base_url.chat_completions is of no use: protocols does not name it",
    },
    {
      name: "with an empty address of a format that is not named",
      yaml: SPEAKS_TWO.replace(/ messages: "[^"]*"/, '$&, generate_content: ""'),
      says: "providers.local.base_url.generate_content is of no use: protocols does not name it",
    },
    {
      name: "with a model in a format that its provider does not speak",
      yaml: PROVIDER.replace("- id:", "- protocols: [messages]\n        id:"),
      says: "providers.local.models[0].protocols has messages, which the provider does not speak",
    },
    { name: "with a credential that is not set", yaml: key("api_key_env: NOT_SET"), says: "NOT_SET" },
    { name: "with an unknown dialect", yaml: key("dialect: odd"), says: "providers.local.dialect" },
    {
      name: "with a value of the wrong kind",
      yaml: key("stream_usage_option: maybe"),
      says: "providers.local.stream_usage_option",
    },
  ];
  for (const { name, yaml, says } of bad) {
    test(`${name} is refused by file and path`, () => {
      const sentence = sentenceOf(() => settings(yaml));
      expect(sentence).toContain("switchyard.yaml");
      expect(sentence).toContain(says);
      expect(sentence).not.toMatch(/\n|pattern/);
    });
  }

  test("with a model that is defined twice is refused at start, by its id", async () => {
    const twice = `${PROVIDER}      - id: local/m\n        prices: { input: 1, output: 2 }\n`;
    const started = await startGateway({ settings: twice }).catch((error: Error) => error.message);
    expect(started).toContain("language/local/m is defined twice");
  });

  test("with a timeout beyond what a timer takes is refused or bounded", () => {
    let longest = 0;
    sentenceOf(() => (longest = settings("timeouts: { plain_seconds: 3000000 }").timeouts.plainMs));
    expect(longest).toBeLessThan(2 ** 31);
  });
});

test("a provider is live only with its key, at the address it is given", () => {
  expect(settings("", {}).providers.size).toBe(0);
  expect(settings("", { OPENAI_API_KEY: " " }).providers.size).toBe(0);
  const { providers } = settings("", { OPENAI_API_KEY: "k", OPENAI_BASE_URL: "http://a/v1/" });
  expect(providers.get("openai")?.protocols).toMatchObject([
    { baseUrl: "http://a/v1", headers: { authorization: "Bearer k" } },
    { id: "compat_responses", baseUrl: "http://a/v1", headers: { authorization: "Bearer k" } },
  ]);
});

test("the section memory sets what bodies may take, and has nothing else", () => {
  expect(settings("memory: { bodies_mib: 100 }").memory).toEqual({ bodiesBytes: 100 * 1024 * 1024 });
  expect(settings("").memory.bodiesBytes).toBeGreaterThan(0);
  for (const section of ["bodies_mib: 0", "bodies_mib: 1.5", "bodies: 1", "tasks_mib: 1"])
    expect(sentenceOf(() => settings(`memory: { ${section} }`))).toContain("memory");
});

test("the section limits has the token counts of a minute, from one to a million, and nothing else", () => {
  const countsOf = (section: string): number => settings(`limits: ${section}`).limits.countTokensPerMinute;
  expect([settings("").limits.countTokensPerMinute, countsOf("{}")]).toEqual([300, 300]);
  for (const count of [1, 1_000_000]) expect(countsOf(`{ count_tokens_per_minute: ${count} }`)).toBe(count);
  for (const count of ["0", "1000001", "1.5", "many"])
    expect(sentenceOf(() => countsOf(`{ count_tokens_per_minute: ${count} }`))).toContain(
      "limits.count_tokens_per_minute",
    );
  expect(sentenceOf(() => countsOf("{ counts: 1 }"))).toContain("limits.counts");
});

describe("the section tasks", () => {
  test("is not needed", () => {
    expect(settings("").tasks).toEqual(DEFAULT_TASK_SETTINGS);
    expect(settings("tasks: {}").tasks).toEqual(DEFAULT_TASK_SETTINGS);
  });

  test("sets each number by itself", () => {
    expect(
      settings(`tasks:
  pending_per_account: 5
  running_per_provider: 6
  running_at: { sandbox: 7 }
  running_per_process: 8
  memory_mib: 3
  lease_seconds: 9
  result_hours: 0.5
  kept_days: 2`).tasks,
    ).toEqual({
      pendingPerAccount: 5,
      runningPerProvider: 6,
      runningAt: { sandbox: 7 },
      runningPerProcess: 8,
      memoryBytes: 3_145_728,
      leaseMs: 9_000,
      filesMs: 1_800_000,
      endedMs: 172_800_000,
    });
  });

  for (const [section, names] of [
    ["running_per_process: 0", "tasks.running_per_process"],
    ["running_per_provider: 1.5", "tasks.running_per_provider"],
    ["running_at: { sandbox: none }", "tasks.running_at.sandbox"],
    ["running_at: { groq: 3 }", "tasks.running_at names groq"],
    ["lease_seconds: 1", "tasks.lease_seconds"],
    ["retries: 3", "tasks.retries"],
  ] as const) {
    test(`with ${section} is a sentence that names it`, () => {
      expect(sentenceOf(() => settings(`tasks: { ${section} }`))).toContain(names);
    });
  }
});
