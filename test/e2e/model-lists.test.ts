import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";

// The list of models as each of the official SDKs reads it, unmodified, following its own pages; the sandbox serves all.

const FLASH = "google/gemini-3.8-flash";
const HAIKU = "anthropic/claude-haiku-4.5";
const LUNA = "openai/gpt-5.6-luna";

let gateway: TestGateway;
let openai: OpenAI;
let anthropic: Anthropic;
let google: GoogleGenAI;
/** The ids of all rows, in the order of the catalogue. */
let ids: readonly string[];

beforeAll(async () => {
  gateway = await startGateway();
  openai = new OpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: gateway.key, maxRetries: 0 });
  anthropic = new Anthropic({ baseURL: `${gateway.url}/api`, apiKey: gateway.key, maxRetries: 0 });
  google = new GoogleGenAI({ apiKey: gateway.key, httpOptions: { baseUrl: `${gateway.url}/api` } });
  ids = gateway.services.offer().catalog.models.map(({ id }) => id);
});
afterAll(() => gateway.close());

const get = (path: string): Promise<Response> =>
  fetch(`${gateway.url}/api/v1/models${path}`, { headers: { authorization: `Bearer ${gateway.key}` } });

/** Everything that an SDK gives, page by page. */
async function all<Item>(items: AsyncIterable<Item> | Promise<AsyncIterable<Item>>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of await items) found.push(item);
  return found;
}

/** Counts the requests for lists that the gateway answered meanwhile. */
async function requestsOf<Result>(run: () => Promise<Result>): Promise<readonly [number, Result]> {
  const before = gateway.logs.length;
  const result = await run();
  const lines = gateway.logs.slice(before).filter(({ path }) => path?.endsWith("/models") === true);
  return [lines.length, result];
}

describe("the list of models is read whole", () => {
  test("by OpenAI's SDK", async () => {
    const models = await all(openai.models.list());
    expect(models.map(({ id }) => id)).toEqual([...ids]);
    for (const { id, object, created, owned_by } of models)
      expect([object, created, owned_by]).toEqual(["model", 0, id.split("/")[0] ?? ""]);
    expect(await openai.models.retrieve(LUNA)).toMatchObject({
      id: LUNA,
      object: "model",
      owned_by: "openai",
    });
  });

  test.each([1, 3, 20, 21, 22, 1_000, undefined])("by Anthropic's SDK, %p at a time", async (limit) => {
    const [requests, models] = await requestsOf(() =>
      all(anthropic.models.list(limit === undefined ? {} : { limit })),
    );
    expect(models.map(({ id }) => id)).toEqual([...ids]);
    expect(requests).toBe(Math.ceil(ids.length / (limit ?? ids.length)));
    for (const { type, display_name, created_at } of models)
      expect([type, display_name === "", Date.parse(created_at)]).toEqual(["model", false, 0]);
  });

  test("by Anthropic's SDK from its end, and by its beta", async () => {
    const [, models] = await requestsOf(() =>
      all(anthropic.models.list({ limit: 4, before_id: ids.at(-1)! })),
    );
    expect(models.map(({ id }) => id).toSorted()).toEqual(ids.slice(0, -1).toSorted());
    expect((await all(anthropic.beta.models.list({ limit: 5 }))).map(({ id }) => id)).toEqual([...ids]);
    expect(await anthropic.models.retrieve(HAIKU)).toMatchObject({ id: HAIKU, type: "model" });
  });

  test.each([1, 3, 20, 21, 22, undefined])("by Google's SDK, %p at a time", async (pageSize) => {
    const config = pageSize === undefined ? {} : { pageSize };
    const [requests, models] = await requestsOf(() => all(google.models.list({ config })));
    expect(models.map(({ name }) => name)).toEqual(ids.map((id) => `models/${id}`));
    expect(requests).toBe(Math.ceil(ids.length / (pageSize ?? ids.length)));
    const flash = models.find(({ name }) => name === `models/${FLASH}`);
    expect(flash).toEqual({
      name: `models/${FLASH}`,
      displayName: "Gemini 3.8 Flash",
      inputTokenLimit: 1_048_576,
      outputTokenLimit: 65_536,
      supportedActions: ["generateContent", "countTokens"],
      tunedModelInfo: {},
    });
  });

  test("by Google's SDK for one model, and what it lists can be called by that name", async () => {
    for (const model of [FLASH, `models/${FLASH}`, "gemini-3.8-flash", "models/gemini-3.8-flash"])
      expect((await google.models.get({ model })).name).toBe(`models/${FLASH}`);
    const models = await all(google.models.list());
    const callable = models.filter(({ supportedActions }) => supportedActions?.includes("generateContent"));
    // Every language model answers in the format, and one that makes images.
    expect(callable.length).toBe(14);
    for (const { name } of callable) {
      const answer = await google.models.generateContent({ model: name!, contents: "hi" });
      expect([name, answer.modelVersion]).toEqual([name, name?.replace("models/", "")]);
    }
    const messages = [{ role: "user", content: "hi" }];
    const response = await gateway.chat({ model: `models/${FLASH}`, messages });
    expect(((await response.json()) as Json).model).toBe(FLASH);
  });
});

test("all of them are one body, which says so itself", async () => {
  const body: Json = await (await get("")).json();
  expect(body).toMatchObject({
    object: "list",
    has_more: false,
    first_id: ids[0],
    last_id: ids.at(-1),
  });
  expect(body.nextPageToken).toBeUndefined();
  expect([body.data.length, body.models.length]).toEqual([26, 26]);
});

test("a page that cannot be given is a 400 that names the field", async () => {
  const cases = {
    "?limit=0": "limit",
    "?limit=many": "limit",
    "?pageSize=-1": "pageSize",
    "?after_id=openai/gpt-7": "after_id",
    "?before_id=openai/gpt-7": "before_id",
    "?pageToken=x": "pageToken",
    [`?after_id=${LUNA}&before_id=${HAIKU}`]: "before_id",
  };
  for (const [query, param] of Object.entries(cases)) {
    const response = await get(query);
    const { error }: Json = await response.json();
    expect([query, response.status, error.type, error.param]).toEqual([
      query,
      400,
      "invalid_request_error",
      param,
    ]);
  }
});

test("a query of the client's own changes nothing", async () => {
  const plain = await (await get("")).text();
  for (const query of ["?beta=true", "?filter=x", "?", "?after_id="])
    expect(await (await get(query)).text()).toBe(plain);
});

test("Codex, which asks for a form of its own, is told that there is none", async () => {
  const response = await get("?client_version=0.169.0");
  const { error }: Json = await response.json();
  expect([response.status, error.type]).toEqual([404, "not_found_error"]);
  expect(error.message).toContain("Codex");
});

test("one model is found by any name that requests take, with a warning where another one stands in", async () => {
  const told = async (name: string): Promise<unknown> => {
    const response = await get(`/${name}`);
    const { id, error }: Json = await response.json();
    return [response.status, id ?? error.code, response.headers.get("warning")];
  };
  expect(await told("claude-haiku-4-5-20251001")).toEqual([200, HAIKU, null]);
  expect(await told("gpt-image-2")).toEqual([200, "openai/gpt-image-2", null]);
  expect(await told("claude-haiku-5-5")).toEqual([
    200,
    HAIKU,
    `299 switchyard "model: the name is an alias, and ${HAIKU} serves."`,
  ]);
  expect(await told("claude-haiku-9")).toEqual([404, "model_not_found", null]);
});

describe("a list that the client has already", () => {
  const as = (key: string, path: string, tag?: string): Promise<Response> =>
    fetch(`${gateway.url}/api/v1/models${path}`, {
      headers: { authorization: `Bearer ${key}`, ...(tag === undefined ? {} : { "if-none-match": tag }) },
    });
  const keyFor = async (models?: readonly string[]): Promise<string> => {
    const { json } = await gateway.admin("POST", "/keys", {
      account_id: gateway.accountId,
      name: "k",
      models,
    });
    return json.key;
  };

  test("is a 304 without a body, for as long as it is the same", async () => {
    for (const path of ["", "?category=image", "?limit=3", `?limit=3&after_id=${ids[2]}`]) {
      const whole = await as(gateway.key, path);
      const tag = whole.headers.get("etag") ?? "";
      expect(whole.headers.get("cache-control")).toBe("private, no-cache");
      await whole.body?.cancel();
      const again = await as(gateway.key, path, tag);
      expect([again.status, again.headers.get("etag"), await again.text()]).toEqual([304, tag, ""]);
    }
  });

  test("is another for a key that may use other models, and for another page", async () => {
    const tagOf = async (key: string, path = ""): Promise<string> => {
      const response = await as(key, path);
      await response.body?.cancel();
      return response.headers.get("etag") ?? "";
    };
    const [few, same, other] = [await keyFor([FLASH]), await keyFor([FLASH]), await keyFor([HAIKU])];
    const tags = [
      await tagOf(gateway.key),
      await tagOf(few),
      await tagOf(other),
      await tagOf(gateway.key, "?limit=2"),
    ];
    expect(new Set(tags).size).toBe(4);
    expect(await tagOf(same)).toBe(tags[1] ?? "");
    expect((await as(other, "", tags[1])).status).toBe(200);
    expect(((await (await as(few, "")).json()) as Json).data.map(({ id }: Json) => id)).toEqual([FLASH]);
  });

  test("needs a live key all the same, and a page that there is", async () => {
    const tag = (await as(gateway.key, "")).headers.get("etag") ?? "";
    expect((await as("sk-none", "", tag)).status).toBe(401);
    expect((await as(gateway.key, "?after_id=none", "*")).status).toBe(400);
  });
});
