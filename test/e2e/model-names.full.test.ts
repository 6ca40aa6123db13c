import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";

// The names that clients send for models, through a gateway whose sandbox serves the whole catalogue.

const LUNA = "openai/gpt-5.6-luna";
const SOL = "openai/gpt-5.6-sol";
const OPUS = "anthropic/claude-opus-5.5";
const SONNET = "anthropic/claude-sonnet-5.5";
const HAIKU = "anthropic/claude-haiku-4.5";
const FLASH = "google/gemini-3.8-flash";
const QWEN = "alibaba/qwen3.7-max";

type Format = "chat" | "messages" | "generateContent";

/** Who sends which name where, what answers, and whether the answer has to say so. */
const SENT: readonly (readonly [
  client: string,
  Format,
  name: string,
  id: string,
  how: "itself" | "stands in",
])[] = [
  ["Claude Code", "messages", "claude-opus-4-8", OPUS, "stands in"],
  ["Claude Code", "messages", "claude-opus-5-5", OPUS, "itself"],
  ["Claude Code", "messages", "claude-sonnet-5", SONNET, "stands in"],
  ["Claude Code", "messages", "claude-sonnet-4-6", SONNET, "stands in"],
  ["Claude Code", "messages", "claude-haiku-4-5-20251001", HAIKU, "itself"],
  ["Claude Code, set to an id", "messages", OPUS, OPUS, "itself"],
  ["Claude Code, an older one", "messages", "claude-sonnet-4-5-20250929", SONNET, "stands in"],
  ["Claude Code, an older one", "messages", "claude-opus-4-1-20250805", OPUS, "stands in"],
  ["Claude Code, an older one", "messages", "claude-3-5-haiku-20241022", HAIKU, "stands in"],
  ["Anthropic's SDK, its examples", "messages", "claude-sonnet-5-5", SONNET, "itself"],
  ["Anthropic's SDK, its examples", "messages", "claude-opus-5", OPUS, "stands in"],
  ["Anthropic's SDK, its examples", "messages", "claude-sonnet-4-20250514", SONNET, "stands in"],
  ["Anthropic's SDK, its examples", "messages", "claude-3-5-sonnet-latest", SONNET, "stands in"],
  ["Gemini CLI", "generateContent", "gemini-3.1-pro-preview", FLASH, "stands in"],
  ["Gemini CLI", "generateContent", "gemini-3.1-pro-preview-customtools", FLASH, "stands in"],
  ["Gemini CLI", "generateContent", "gemini-3.5-flash-lite", FLASH, "stands in"],
  ["Gemini CLI", "generateContent", "gemini-3-flash-preview", FLASH, "stands in"],
  ["Gemini CLI, an older one", "generateContent", "gemini-2.5-pro", FLASH, "stands in"],
  ["Gemini CLI, an older one", "generateContent", "gemini-2.5-flash-lite", FLASH, "stands in"],
  ["Gemini CLI, set to an id", "generateContent", FLASH, FLASH, "itself"],
  ["Google's SDK, its examples", "generateContent", "gemini-3.8-flash", FLASH, "itself"],
  ["Google's SDK, its examples", "generateContent", "gemini-2.0-flash-001", FLASH, "stands in"],
  ["Google's SDK, its examples", "generateContent", "gemini-flash-latest", FLASH, "stands in"],
  ["LangChain's Google package", "generateContent", FLASH, FLASH, "itself"],
  ["OpenAI's SDK, its examples", "chat", "gpt-5.5", SOL, "stands in"],
  ["OpenAI's SDK, its examples", "chat", "gpt-6-astra", "openai/gpt-6-astra", "itself"],
  ["OpenAI's SDK, its examples", "chat", "gpt-4o-2024-08-06", SOL, "stands in"],
  ["llm, by itself", "chat", "gpt-4o-mini", LUNA, "stands in"],
  ["llm, aider, Cline, opencode, Codex", "chat", LUNA, LUNA, "itself"],
  ["aider", "messages", HAIKU, HAIKU, "itself"],
  ["Cline", "chat", "anthropic/claude-haiku-4-5", HAIKU, "itself"],
  ["opencode, for titles", "chat", "gpt-5-nano", LUNA, "stands in"],
  ["opencode", "messages", "claude-haiku-4-5", HAIKU, "itself"],
  ["Qwen Code", "chat", QWEN, QWEN, "itself"],
  ["Qwen Code", "chat", "qwen3.7-max", QWEN, "itself"],
  ["Qwen Code, by itself", "chat", "coder-model", QWEN, "stands in"],
  ["Google's clients in chat completions", "chat", "models/gemini-3.8-flash", FLASH, "itself"],
  ["clients of OpenRouter", "chat", "x-ai/grok-4.7", "xai/grok-4.7", "itself"],
];

const SAYS = (id: string): string => `299 switchyard "model: the name is an alias, and ${id} serves."`;

function ask(gateway: TestGateway, format: Format, name: string, stream = false): Promise<Response> {
  const messages = [{ role: "user", content: "hi" }];
  const more = stream ? { stream } : {};
  if (format === "chat") return gateway.chat({ model: name, messages, ...more });
  if (format === "messages")
    return gateway.post("/api/v1/messages", { model: name, max_tokens: 64, messages, ...more });
  return gateway.post(`/api/v1/models/${name}:${stream ? "streamGenerateContent" : "generateContent"}`, {
    contents: [{ parts: [{ text: "hi" }] }],
  });
}

/** The model that an answer or an event names. */
const modelOf = (json: Json): unknown => json.model ?? json.message?.model ?? json.modelVersion;

/** The first model of a stream. */
const streamedModel = (text: string): unknown =>
  text
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => modelOf(JSON.parse(line.slice(6))))
    .find((model) => model !== undefined);

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

/** The model of the newest row of requests. */
async function newestRow(of: TestGateway): Promise<unknown> {
  await of.settled();
  return (await of.admin("GET", "/requests?limit=1")).json.data[0].model;
}

/** The model of the newest task. */
async function newestTask(of: TestGateway): Promise<unknown> {
  return (await of.admin("GET", "/tasks?limit=1")).json.data[0].model;
}

describe("a name that clients send is answered by the model that it stands for", () => {
  test.each(SENT)("%s, %s: %s", async (_, format, name, id, how) => {
    const response = await ask(gateway, format, name);
    const warning = response.headers.get("warning") ?? "";
    expect([response.status, modelOf(await response.json())]).toEqual([200, id]);
    expect(warning.includes(SAYS(id))).toBe(how === "stands in");
    expect(await newestRow(gateway)).toBe(id);
  });

  const streamed: readonly (readonly [Format, string, string])[] = [
    ["chat", "gpt-4o-mini", LUNA],
    ["messages", "claude-opus-4-8", OPUS],
    ["generateContent", "gemini-3.5-flash-lite", FLASH],
    // Through a translation.
    ["chat", "claude-opus-4-8", OPUS],
  ];
  test.each(streamed)("streamed: %s, %s", async (format, name, id) => {
    const response = await ask(gateway, format, name, true);
    expect([response.status, response.headers.get("warning")]).toEqual([200, SAYS(id)]);
    expect(streamedModel(await response.text())).toBe(id);
  });
});

describe("images and videos are asked for by the same names", () => {
  test("an image by its vendor's name, plain and as a task", async () => {
    const body = { model: "gpt-image-2", prompt: "A red fox", size: "1024*1024", quality: "low" };
    const image = await gateway.post("/api/v1/images/generations", body);
    expect([image.status, image.headers.get("warning")]).toEqual([200, null]);
    const task = await gateway.post("/api/v1/images/generations", { ...body, async: true });
    expect([task.status, task.headers.get("warning")]).toEqual([202, null]);
    expect(await newestTask(gateway)).toBe("openai/gpt-image-2");
  });

  test("a video by its provider's name", async () => {
    const video = await gateway.post("/api/v1/videos", { model: "wan2.6-t2v", prompt: "A red fox runs" });
    expect([video.status, video.headers.get("warning")]).toEqual([202, null]);
    expect(await newestTask(gateway)).toBe("alibaba/wan-2.6");
  });

  test("an alias is told of in the header and in the task", async () => {
    const own = await startGateway({
      settings: "aliases: { film: alibaba/wan-2.6, dall-e-*: openai/gpt-image-2 }",
    });
    try {
      const says = "model: the name is an alias, and alibaba/wan-2.6 serves.";
      const video = await own.post("/api/v1/videos", { model: "film", prompt: "A red fox runs" });
      expect([video.status, video.headers.get("warning")]).toEqual([202, `299 switchyard "${says}"`]);
      expect(await video.json()).toMatchObject({ warnings: [says] });
      expect(await newestTask(own)).toBe("alibaba/wan-2.6");
      const body = { model: "dall-e-3", prompt: "A red fox", size: "1024*1024", quality: "low" };
      const image = await own.post("/api/v1/images/generations", body);
      expect([image.status, image.headers.get("warning")]).toEqual([200, SAYS("openai/gpt-image-2")]);
    } finally {
      await own.close();
    }
  });
});

/** What a refused request is told. */
async function refusal(response: Response): Promise<Json> {
  const { error }: Json = await response.json();
  return { ...error, status: response.status };
}

describe("a name that cannot be served", () => {
  const FORMATS: readonly Format[] = ["chat", "messages", "generateContent"];
  test.each(FORMATS)("is a 400 in the words of %s, with the names that are like it", async (format) => {
    const names: Readonly<Record<Format, string>> = {
      chat: "gpt-5.6-lunar",
      messages: "claude-sonet-5-5",
      generateContent: "gemini-3.8-flsh",
    };
    const near = { chat: LUNA, messages: SONNET, generateContent: FLASH };
    const { status, message, code } = await refusal(await ask(gateway, format, names[format]));
    expect(status).toBe(400);
    expect(message).toStartWith(`There is no model "${names[format]}". Did you mean ${near[format]}`);
    // Google's clients read the status as a number there.
    if (format !== "generateContent") expect(code).toBe("model_not_found");
  });

  test("for images and videos is the same", async () => {
    const image = await gateway.post("/api/v1/images/generations", { model: "gpt-imag-2", prompt: "x" });
    expect(await refusal(image)).toMatchObject({ status: 400, param: "model", code: "model_not_found" });
    const video = await gateway.post("/api/v1/videos", { model: "wan-2.7", prompt: "x" });
    expect(await refusal(video)).toMatchObject({ status: 400, param: "model", code: "model_not_found" });
  });

  test("is told of by what is wrong: elsewhere, not for this key, nobody's now", async () => {
    expect(
      await refusal(await gateway.chat({ model: "wan-2.6", messages: [{ role: "user", content: "x" }] })),
    ).toEqual(
      expect.objectContaining({
        status: 400,
        code: "model_not_served_here",
        message:
          "The model alibaba/wan-2.6 is not served at /api/v1/chat/completions. It is served at /api/v1/videos.",
      }),
    );
    const body = { account_id: gateway.accountId, name: "one", models: [LUNA] };
    const { json: one } = await gateway.admin("POST", "/keys", body);
    const asked = (name: string) =>
      gateway.post(
        "/api/v1/chat/completions",
        { model: name, messages: [{ role: "user", content: "hi" }] },
        { headers: { authorization: `Bearer ${one.key}` } },
      );
    expect(await refusal(await asked("gpt-4o"))).toMatchObject({ status: 400, code: "model_not_allowed" });
    expect((await asked("gpt-4o-mini")).status).toBe(200);
    expect((await asked("gpt-5.6-luna-2026-07-09")).status).toBe(200);
    const { message } = await refusal(await asked("gpt-5.6"));
    expect(message).toContain(`Did you mean ${LUNA}? `);
  });

  test("for want of a provider: what the operator must set is in the log, not in the answer", async () => {
    const off = await startGateway({ environment: { SWITCHYARD_SANDBOX: "off" } });
    try {
      const response = await off.chat({ model: "gpt-4o-mini", messages: [{ role: "user", content: "hi" }] });
      const text = await response.text();
      expect([response.status, JSON.parse(text).error.code]).toEqual([400, "no_live_provider"]);
      expect(text).toContain(LUNA);
      expect(text).not.toContain("OPENAI_API_KEY");
      const line = off.logs.find(({ operator_hint }) => operator_hint !== undefined);
      expect(line?.operator_hint).toBe(`Set OPENAI_API_KEY to have ${LUNA} served, then start anew.`);
    } finally {
      await off.close();
    }
  });
});

describe("aliases of switchyard.yaml", () => {
  let own: TestGateway;
  const file = (): string => join(own.home, "..", "switchyard.yaml");
  beforeAll(async () => {
    own = await startGateway({ settings: "aliases: { fast: openai/gpt-5.6-luna }" });
  });
  afterAll(() => own.close());
  const answered = async (name: string): Promise<unknown> => {
    const response = await ask(own, "chat", name);
    return response.status === 200 ? modelOf(await response.json()) : (await refusal(response)).code;
  };

  test("are in force from the next request on when the file is read again", async () => {
    expect([await answered("fast"), await answered("gpt-4-turbo")]).toEqual([LUNA, "model_not_found"]);
    writeFileSync(file(), `aliases: { fast: ${SOL}, "gpt-*": ${LUNA}, "gpt-4-*": ${SOL} }`);
    own.services.reload();
    expect([await answered("fast"), await answered("gpt-4-turbo"), await answered("gpt-3.5-turbo")]).toEqual([
      SOL,
      SOL,
      LUNA,
    ]);
    // The operator's come before the names that models have by themselves, and never before an id.
    expect([await answered("gpt-6-astra"), await answered("openai/gpt-6-astra")]).toEqual([
      LUNA,
      "openai/gpt-6-astra",
    ]);
  });

  test.each([
    [
      `aliases: { "${SOL}": ${LUNA} }`,
      `The alias "${SOL}" is the id of a model, which an alias may not hide.`,
    ],
    [
      "aliases: { fast: openai/gpt-7 }",
      'The alias "fast" leads to "openai/gpt-7", which is the id of no model.',
    ],
  ])("that cannot be are refused by name, and the ones before stay: %s", async (settings, says) => {
    writeFileSync(file(), `aliases: { fast: ${HAIKU} }`);
    own.services.reload();
    writeFileSync(file(), settings);
    expect(() => own.services.reload()).toThrow(says);
    expect(await answered("fast")).toBe(HAIKU);
  });

  test("default_aliases: false leaves those of the catalogue out, not the models' own names", async () => {
    writeFileSync(file(), "default_aliases: false");
    own.services.reload();
    expect([await answered("gpt-4o-mini"), await answered("claude-opus-4-8")]).toEqual([
      "model_not_found",
      "model_not_found",
    ]);
    expect([await answered("gpt-5.6-luna"), await answered("claude-haiku-4-5-20251001")]).toEqual([
      LUNA,
      HAIKU,
    ]);
  });
});

test("a name that two models of the operator have is a 400 that lists both", async () => {
  const server = (id: string) =>
    `  ${id}: { base_url: "http://127.0.0.1:9/v1", models: [{ id: ${id}/qwen, upstream_id: qwen, prices: { input: 0, output: 0 } }] }`;
  const own = await startGateway({ settings: `providers:\n${server("ollama")}\n${server("vllm")}\n` });
  try {
    expect(await refusal(await ask(own, "chat", "qwen"))).toMatchObject({
      status: 400,
      code: "model_ambiguous",
      message: 'The name "qwen" could be ollama/qwen or vllm/qwen. Say which of them is meant.',
    });
  } finally {
    await own.close();
  }
});

const CLIENTS = join(import.meta.dir, "../../../shared/clients");
describe.skipIf(!existsSync(CLIENTS))("what agents sent (skipped where ../shared/clients is absent)", () => {
  const sent = (): readonly (readonly [string, string])[] =>
    readdirSync(CLIENTS)
      .filter((file) => file.endsWith(".json"))
      .map((file): readonly [string, string] => {
        const { path, body }: Json = JSON.parse(readFileSync(join(CLIENTS, file), "utf8"));
        const [, inPath] =
          /^.*?\/(?:models\/|v1beta\/(?!models\/)|v1\/(?=test\/))([^:]+):\w+/.exec(path) ?? [];
        return [file, inPath ?? body.model];
      });

  test("leads to a model, but for those of a test", () => {
    const { catalog } = gateway.services.offer();
    const names = sent().filter(([, name]) => !name.startsWith("test/"));
    expect(names.length).toBeGreaterThan(30);
    const served = names.map(([file, name]) => [file, name, catalog.names.find(name)?.ids.length]);
    expect(served.filter(([, , ids]) => ids !== 1)).toEqual([]);
  });
});
