import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startGateway } from "../test/gateway/gateway.ts";
import { type Environment, readConfig, readSettings } from "./config.ts";
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

const CREDENTIALS = { AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "hush" };

describe("a bucket for result files", () => {
  const read = (url: string, more: Environment = {}) =>
    readConfig({ ...CREDENTIALS, ASSETS_URL: url, ...more }, "/x").assets;

  test("is read from a URL and the usual variables", () => {
    const credentials = { accessKeyId: "id", secretAccessKey: "hush" };
    expect(readConfig({}, "/x").assets).toBeUndefined();
    expect(read("s3://my-bucket")).toEqual({
      bucket: "my-bucket",
      prefix: "",
      region: "us-east-1",
      ...credentials,
    });
    expect(read("s3://b.c-d/one/two/?region=eu-west-1&endpoint=http%3A%2F%2F127.0.0.1%3A9000/")).toEqual({
      bucket: "b.c-d",
      prefix: "one/two/",
      region: "eu-west-1",
      endpoint: "http://127.0.0.1:9000",
      ...credentials,
    });
    expect(read("s3://bucket/", { AWS_REGION: "eu-north-1", AWS_SESSION_TOKEN: "t" })).toEqual({
      bucket: "bucket",
      prefix: "",
      region: "eu-north-1",
      ...credentials,
      sessionToken: "t",
    });
  });

  for (const name of Object.keys(CREDENTIALS)) {
    test(`needs ${name}`, () => {
      expect(sentenceOf(() => read("s3://bucket", { [name]: " " }))).toBe(
        `ASSETS_URL is set, but ${name} is not.`,
      );
    });
  }
});

describe("a variable at fault is one sentence that names it", () => {
  const cases = [
    { PORT: "x" },
    { PORT: "-1" },
    { PORT: "65536" },
    { PORT: "80.5" },
    { DATABASE_URL: "mysql://x" },
    { REDIS_URL: "redis://x" },
    { ASSETS_URL: "s3://x" },
    { ASSETS_URL: "https://bucket.s3.amazonaws.com/" },
    { ASSETS_URL: "bucket/prefix" },
    { ASSETS_URL: "s3://" },
    { ASSETS_URL: "s3://Bucket" },
    { ASSETS_URL: "s3://bucket:9000/prefix" },
    { ASSETS_URL: "s3://key:hush@bucket/prefix" },
    { ASSETS_URL: "s3://bucket/a//b" },
    { ASSETS_URL: "s3://bucket/a/%2e%2e%2fb" },
    { ASSETS_URL: "s3://bucket/a b" },
    { ASSETS_URL: "s3://bucket/.hidden" },
    { ASSETS_URL: "s3://bucket?region=a&region=b" },
    { ASSETS_URL: "s3://bucket?region=Mars!" },
    { ASSETS_URL: "s3://bucket?endpoint=storage:9000" },
    { ASSETS_URL: "s3://bucket?endpoint=http://storage:9000/path" },
    { ASSETS_URL: "s3://bucket?endpoint=http://key:hush@storage:9000" },
    { ASSETS_URL: "s3://bucket?secret=hush" },
    { ASSETS_URL: "s3://bucket#x" },
    { PUBLIC_URL: "example.com" },
    { PUBLIC_URL: "ftp://example.com" },
    { SWITCHYARD_ADMIN_TOKEN: "short" },
  ];
  for (const environment of cases) {
    const [[name, value]] = Object.entries(environment) as [[string, string]];
    test(`${name}=${value}`, () => {
      const sentence = sentenceOf(() => readConfig({ ...CREDENTIALS, ...environment }, "/x"));
      expect(sentence).toContain(name);
      expect(sentence).toMatch(/^[A-Z][^\n]*\.$/);
      expect(sentence).not.toContain("hush");
    });
  }

  test("OPENAI_BASE_URL that is no URL", () => {
    expect(sentenceOf(() => settings("", { OPENAI_API_KEY: "k", OPENAI_BASE_URL: "nope" }))).toContain(
      "OPENAI_BASE_URL",
    );
  });

  const wrong = [
    {
      name: "OPENAI_BASE_URL",
      run: () => settings("", { OPENAI_API_KEY: "k", OPENAI_BASE_URL: "localhost:8080/v1" }),
    },
    { name: "PUBLIC_URL", run: () => readConfig({ PUBLIC_URL: "http://a b" }, "/x") },
    { name: "SWITCHYARD_FAILPOINT", run: () => readConfig({ SWITCHYARD_FAILPOINT: "nonsense" }, "/x") },
    {
      name: "SWITCHYARD_WRITER_FAILPOINT",
      run: () => readConfig({ SWITCHYARD_WRITER_FAILPOINT: "nonsense" }, "/x"),
    },
  ];
  for (const { name, run } of wrong) {
    test(`${name} of the wrong kind`, () => expect(sentenceOf(run)).toContain(name));
  }

  test("white space around a value, and an empty value, are nothing", () => {
    const config = readConfig(
      { PORT: " 81 ", HOST: "", PUBLIC_URL: " https://a/b// ", SWITCHYARD_ADMIN_TOKEN: " " },
      "/x",
    );
    expect(config).toMatchObject({
      port: 81,
      host: "127.0.0.1",
      publicUrl: "https://a/b",
      adminToken: undefined,
      home: "/x/data",
    });
    expect(Object.isFrozen(config)).toBe(true);
  });
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
    expect(providers.get("local")).toMatchObject({
      baseUrl: "http://127.0.0.1:11434/v1",
      headers: {},
      dialect: { kind: "compatible", unknownFields: "remove" },
    });
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

  test("takes a credential from the file or from the environment it names", () => {
    expect(settings(key("api_key: abc")).providers.get("local")?.headers).toEqual({
      authorization: "Bearer abc",
    });
    const { headers, secrets } = settings(key("api_key_env: K"), { K: "xyz" }).providers.get("local") ?? {};
    expect([headers, secrets]).toEqual([{ authorization: "Bearer xyz" }, ["xyz"]]);
  });

  test("reads seconds as milliseconds", () => {
    expect(settings("timeouts: { idle_seconds: 1.5, plain_seconds: 3 }").timeouts).toMatchObject({
      idleMs: 1_500,
      plainMs: 3_000,
      streamMs: 600_000,
    });
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
    expect(groq).toMatchObject({ baseUrl: "https://api.groq.com/openai/v1", secrets: ["k"] });
    expect(groq?.dialect.chat).toMatchObject({ developerRole: true, manyChoices: false, toolIds: "any" });
    expect(models[0]).toMatchObject({
      routes: [{ provider: "groq", upstreamId: "openai/gpt-oss-120b" }],
      thinking: { efforts: ["low", "high"], canBeOff: true },
    });
  });

  test("takes the quirks of a vendor for a server that is like it, but for those that are set", () => {
    const lines = "like: mistral\n    stream_usage_option: true\n    quirks: { tool_ids: forty }";
    const { dialect } = settings(key(lines)).providers.get("local") ?? {};
    expect(dialect).toMatchObject({ kind: "compatible", streamUsageOption: true, padding: ["p"] });
    expect(dialect?.chat).toMatchObject({ toolIds: "forty", renames: { seed: "random_seed" } });
  });

  test("every built-in provider is live by its key alone, at its public address", () => {
    const environment = Object.fromEntries(PROVIDERS.map(({ keyVariable }) => [keyVariable, "k"]));
    const own = "https://proxy.example";
    const { providers, mediaProviders } = settings("", { ...environment, MIDJOURNEY_PROXY_BASE_URL: own });
    const having = (part: "language" | "media"): string[] =>
      PROVIDERS.filter((definition) => definition[part] !== undefined).map(({ id }) => id);
    expect([...providers.keys()]).toEqual(having("language"));
    expect([...mediaProviders.keys()]).toEqual(having("media"));
    for (const { id, keyVariable, baseUrlVariable, defaultBaseUrl = own, media } of PROVIDERS) {
      expect(baseUrlVariable).toBe(keyVariable.replace(/_((API_)?KEY|SECRET)$/, "_BASE_URL"));
      expect(providers.get(id)?.baseUrl ?? defaultBaseUrl).toBe(defaultBaseUrl);
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

  const bad = [
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
      says: "providers.openai is built in and takes models and quirks only, not base_url: set OPENAI_API_KEY and OPENAI_BASE_URL",
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
  expect(providers.get("openai")).toMatchObject({
    baseUrl: "http://a/v1",
    headers: { authorization: "Bearer k" },
  });
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
