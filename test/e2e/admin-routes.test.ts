import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { chatAnswer, chatStreamAnswer } from "../upstream/chat-bytes.ts";
import { type UpstreamDouble, startUpstreamDouble } from "../upstream/double.ts";

const MODEL = "openai/gpt-5.6-luna";
const SECOND_KEY = "sk-second-canary-91d20e";

const SETTINGS = `
providers:
  openai:
    credentials:
      - { env: OPENAI_SECOND, concurrency: 3 }
  mirror:
    protocols: [messages, chat_completions]
    base_url: { messages: "http://127.0.0.1:9", chat_completions: "http://127.0.0.1:9/v1" }
    models: [{ id: mirror/own, prices: { input: 1, output: 1 } }]
routing:
  models:
    ${MODEL}:
      by: weight
      sticky: true
      routes:
        - { provider: openai, weight: 3, cost: { input: 1, output: 2 } }
        - { provider: mirror, upstream_id: luna, protocols: [chat_completions] }
      fallback: [openai/gpt-5.6-sol]
`;

describe("GET /admin/v1/routes", () => {
  let double: UpstreamDouble;
  let gateway: TestGateway;
  beforeEach(async () => {
    double = await startUpstreamDouble();
    double.handle(() => chatAnswer({ words: ["a"] }));
    gateway = await startGateway({
      openai: `${double.url}/v1`,
      environment: { OPENAI_SECOND: SECOND_KEY, FAL_KEY: "fal-canary" },
      settings: SETTINGS,
    });
  });
  afterEach(async () => {
    await gateway.close();
    await double.close();
  });

  const list = async (query = ""): Promise<Json[]> =>
    (await gateway.admin("GET", `/routes${query}`)).json.data;

  const unused = {
    state: "healthy",
    until: null,
    failures: 0,
    latency_ms: null,
    plain_ms: null,
    calls: 0,
    failed: 0,
    last_failure: null,
  };
  const ofLuna = {
    model: MODEL,
    category: "language",
    by: "weight",
    sticky: true,
    fallback: ["openai/gpt-5.6-sol"],
    ...unused,
  };

  test("lists each route of a model by each credential of its provider, named by its variable", async () => {
    const openai = {
      ...ofLuna,
      provider: "openai",
      upstream_id: "gpt-5.6-luna",
      weight: 3,
      cost_known: true,
    };
    const formats = ["responses", "chat_completions"];
    expect(
      (await list(`?model=${MODEL}`)).map((row) => ({ ...row, formats: row.formats.toSorted() })),
    ).toEqual([
      { ...openai, credential: "OPENAI_API_KEY", formats: formats.toSorted() },
      { ...openai, credential: "OPENAI_SECOND", formats: formats.toSorted() },
      {
        ...ofLuna,
        provider: "mirror",
        credential: null,
        upstream_id: "luna",
        formats: ["chat_completions"],
        weight: 1,
        cost_known: false,
      },
    ]);
  });

  test("lists models of every kind, all of them well at first", async () => {
    const rows = await list();
    expect(new Set(rows.map(({ category }) => category))).toEqual(
      new Set(["language", "embedding", "image", "video"]),
    );
    const { models } = gateway.services.offer().catalog;
    const cached = new Set(models.filter(({ prices }) => prices.cache_read).map(({ id }) => id));
    expect(new Set(rows.map(({ model }) => model))).toEqual(new Set(models.map(({ id }) => id)));
    for (const { category, formats, by, sticky, fallback, model, ...row } of rows) {
      expect(formats.length > 0).toBe(category === "language");
      if (model !== MODEL) expect([by, sticky, fallback]).toEqual(["order", cached.has(model), []]);
      expect(row).toMatchObject(unused);
    }
  });

  test("has the time of plain answers and that of streams apart", async () => {
    const model = "openai/gpt-5.6-sol";
    const times = async (): Promise<Json[]> =>
      (await list(`?model=${model}`)).slice(0, 1).map(({ latency_ms, plain_ms }) => [latency_ms, plain_ms]);
    const body = { model, messages: [{ role: "user", content: "Hi" }], max_tokens: 20 };
    expect((await gateway.chat(body)).status).toBe(200);
    expect(await times()).toEqual([[null, expect.any(Number)]]);
    const [[, plainMs]] = await times();
    double.handle(() => chatStreamAnswer({ words: ["a"] }));
    await (await gateway.chat({ ...body, stream: true })).text();
    expect(await times()).toEqual([[expect.any(Number), plainMs]]);
  });

  test("can be asked for by model and provider, and refuses names that there are not", async () => {
    expect(await list(`?model=${MODEL}&provider=mirror`)).toHaveLength(1);
    expect((await list("?provider=openai")).every(({ provider }) => provider === "openai")).toBe(true);
    for (const [name, says] of [
      ["model", "there is no model of that id"],
      ["provider", "There are anthropic, "],
    ] as const) {
      const { status, json } = await gateway.admin("GET", `/routes?${name}=none`);
      expect([status, json.error.param]).toEqual([400, name]);
      expect(json.error.message).toContain(says);
    }
  });

  test("shows the offer of the moment: a change of the settings is in it at once", async () => {
    const settings = SETTINGS.replace("by: weight", "by: cost").replace(/ +- \{ provider: mirror.*\n/, "");
    writeFileSync(join(gateway.home, "..", "switchyard.yaml"), settings);
    gateway.services.reload();
    const rows = await list(`?model=${MODEL}`);
    expect(rows.map(({ provider, by }) => [provider, by])).toEqual([
      ["openai", "cost"],
      ["openai", "cost"],
    ]);
  });

  test("knows nothing of a route that was taken away and is back", async () => {
    const file = join(gateway.home, "..", "switchyard.yaml");
    const own = SETTINGS.replaceAll("http://127.0.0.1:9", double.url);
    const change = (settings: string): void => {
      writeFileSync(file, settings);
      gateway.services.reload();
    };
    const calls = async (): Promise<Json[]> => (await list("?model=mirror/own")).map(({ calls }) => calls);
    change(own);
    const messages = [{ role: "user", content: "Hello." }];
    expect((await gateway.chat({ model: "mirror/own", messages, max_tokens: 20 })).status).toBe(200);
    expect(await calls()).toEqual([1]);
    // What stays keeps what was learned.
    change(`${own}timeouts: {}\n`);
    expect(await calls()).toEqual([1]);
    change("{}");
    change(own);
    expect(await calls()).toEqual([0]);
  });

  test("of a provider that goes while it serves, what it served is counted under its name", async () => {
    const file = join(gateway.home, "..", "switchyard.yaml");
    const own = SETTINGS.replaceAll("http://127.0.0.1:9", double.url);
    writeFileSync(file, own);
    gateway.services.reload();
    double.handle(() => {
      writeFileSync(file, "{}");
      gateway.services.reload();
      return chatAnswer({ words: ["a"] });
    });
    const body = { model: "mirror/own", messages: [{ role: "user", content: "Hi" }], max_tokens: 20 };
    expect((await gateway.chat(body)).status).toBe(200);
    await gateway.settled();
    const counted = (await gateway.services.metrics.text()).match(/switchyard_requests_total\{.*mirror.*/g);
    expect(counted).toEqual([
      'switchyard_requests_total{endpoint="/api/v1/chat/completions",model="mirror/own",provider="mirror",outcome="completed"} 1',
    ]);
  });

  test("shows no credential, and is for the admin token alone", async () => {
    const text = JSON.stringify(await list());
    for (const secret of [UPSTREAM_KEY, SECOND_KEY, "fal-canary"]) expect(text).not.toContain(secret);
    for (const authorization of [`Bearer ${gateway.key}`, "Bearer adm-wrong", undefined]) {
      const headers = authorization === undefined ? {} : { authorization };
      expect((await fetch(`${gateway.url}/admin/v1/routes`, { headers })).status).toBe(401);
    }
  });
});
