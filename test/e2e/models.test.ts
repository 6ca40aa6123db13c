import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { loadModelFiles } from "../../src/catalog/catalog.ts";
import { PublicModelSchema } from "../../src/catalog/schema.ts";
import { compileSchema } from "../../src/core/schema.ts";
import { startWholeCatalogue, type WholeCatalogue } from "../docs/whole-catalogue.ts";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";

// The catalogue as its readers see it: the list, one model, and the pages, from a gateway whose providers are all live.

let catalogue: WholeCatalogue;
beforeAll(async () => {
  catalogue = await startWholeCatalogue({ OPENROUTER: "/v1" });
});
afterAll(() => catalogue.close());

const get = (path: string, key: string = catalogue.gateway.key, headers: Record<string, string> = {}) =>
  fetch(`${catalogue.gateway.url}${path}`, { headers: { authorization: `Bearer ${key}`, ...headers } });
const list = async (key?: string): Promise<Json[]> => {
  const response = await get("/api/v1/models", key);
  expect(response.status).toBe(200);
  const body: Json = await response.json();
  expect(Object.keys(body)).toEqual(["object", "data", "has_more", "first_id", "last_id", "models"]);
  expect(body.object).toBe("list");
  return body.data;
};

const all = loadModelFiles("models");
const files = all.filter(({ category }) => category === "language");
const ID = "openai/gpt-5.6-luna";

describe("the catalogue as data", () => {
  const categories = { language: 13, image: 5, video: 3 } as const;
  for (const [category, count] of Object.entries(categories)) {
    test(`${count} models are of category ${category}`, () =>
      expect(all.filter((file) => file.category === category).length).toBe(count));
  }
  test("one id stands in two categories", () =>
    expect([all.length, new Set(all.map(({ id }) => id)).size]).toEqual([26, 25]));

  const counts = { compat_chat_completions: 13, compat_messages: 3, compat_generate_content: 2 } as const;
  for (const [protocol, count] of Object.entries(counts)) {
    test(`${count} models are of ${protocol}`, () =>
      expect(
        files.filter(({ supportedProtocols }) => supportedProtocols.some((id) => id === protocol)).length,
      ).toBe(count));
  }
});

const model = compileSchema(PublicModelSchema);

describe("the list", () => {
  test("has every enabled model, each row whole, in one order", async () => {
    const every = await list();
    expect(await list()).toEqual(every);
    const rows = every.filter((row) => row.category === "language");
    expect(rows.map((row) => row.id)).toEqual(files.map(({ id }) => id));
    expect(every.slice(0, rows.length)).toEqual(rows);
    for (const row of rows) {
      expect(model.accepts(row) ? "" : `${row.id}: ${model.faultOf(row).path}`).toBe("");
      expect(Object.keys(row)).toEqual(Object.keys(PublicModelSchema.properties));
      expect(row.unique_id).toBe(`${row.category}/${row.id}`);
      expect(row.vendor).toBe(row.id.split("/")[0]);
      expect(row.supported_protocols.length).toBeGreaterThan(0);
      expect(row.input_modalities).toContain("text");
      expect(row.output_modalities).toContain("text");
      expect(row.max_output).toBeGreaterThan(0);
      expect(row.total_context).toBeGreaterThan(0);
      expect(row.parameter_schema).toMatchObject({
        type: "object",
        "x-protocol": row.supported_protocols[0],
      });
      expect(Object.keys(row.parameter_schema["x-protocols"] ?? {})).toEqual(
        row.supported_protocols.slice(1),
      );
    }
  });

  test("each row is what the model's own address answers, and its page is there", async () => {
    const { data: rows, models }: Json = await (await get("/api/v1/models")).json();
    const googleRow = (id: string): Json => models.find(({ name }: Json) => name === `models/${id}`);
    for (const row of rows) {
      // Of an id in two categories the one of text is meant where none is named, which stands first.
      const isMeant = rows.find(({ id }: Json) => id === row.id) === row;
      for (const path of [...(isMeant ? [row.id] : []), `${row.id}?category=${row.category}`]) {
        const response = await get(`/api/v1/models/${path}`);
        expect([response.status, await response.json()]).toEqual([200, { ...row, ...googleRow(row.id) }]);
      }
      const page = await fetch(row.documentation_url);
      expect(page.status).toBe(200);
      expect(await page.text()).toContain(`\`${row.id}\``);
    }
  });

  test("a key that is restricted to some models is shown those only", async () => {
    const { gateway } = catalogue;
    const { json } = await gateway.admin("POST", "/keys", {
      account_id: gateway.accountId,
      name: "one",
      models: [ID],
    });
    expect((await list(json.key)).map((row) => row.id)).toEqual([ID]);
    expect((await get(`/api/v1/models/${ID}`, json.key)).status).toBe(200);
    const other = await get("/api/v1/models/openai/gpt-6-astra", json.key);
    expect([other.status, ((await other.json()) as Json).error.code]).toEqual([404, "model_not_allowed"]);
    const unknown = await get("/api/v1/models/openai/gpt-6-astrb", json.key);
    const { error }: Json = await unknown.json();
    expect([unknown.status, error.code]).toEqual([404, "model_not_found"]);
    expect(error.message).not.toContain("gpt-6-astra");
  });

  test("without a key, or with a wrong one, there is none", async () => {
    for (const path of ["/api/v1/models", `/api/v1/models/${ID}`])
      expect((await get(path, "sk-nobody")).status).toBe(401);
  });
});

const encoded = ID.replace("/", "%2F");
const GOOD = [
  ID,
  encoded,
  encoded.toLowerCase(),
  `${ID}?category=language`,
  `${ID}/`,
  `/${ID}`,
  "openai/gpt%2D5.6-luna",
  "gpt-5.6-luna",
  "gpt-5.6-luna-2026-07-09",
  "gpt-5.6-luna?category=language",
];
const MISSING = [
  ID.toUpperCase(),
  "openai/GPT-5.6-luna",
  `${ID}/x`,
  `${ID}%20`,
  `${ID};x=1`,
  "openai",
  "openai/",
  "gpt-5.6",
  `language/${ID}`,
  "openai%252Fgpt-5.6-luna",
  "..%2f..%2fetc%2fpasswd",
  "openai%2F..%2Fopenai%2Fgpt-5.6-luna",
  "__proto__",
  "constructor",
  "no/such",
  "openai/%F0%9F%98%80",
  `a/${"b".repeat(6_000)}`,
  `${ID}?category=image`,
  `${ID}?category=text`,
  `${ID}?category=Language`,
  `${ID}?category=`,
  `${ID}?category=__proto__`,
];
const BAD = ["a%00b", `${ID}%00`, "%ff", "%E0%A4%A", "%ED%A0%80", `${ID}?category=language&category=image`];

/** What an error is, without its text. */
async function errorOf(response: Response): Promise<readonly [number, string]> {
  const { error }: Json = await response.json();
  expect(typeof error.message).toBe("string");
  expect(error.message.length).toBeLessThan(500);
  return [response.status, error.type];
}

describe("one model by its path", () => {
  test.each(GOOD)("%s is found", async (path) => {
    const response = await get(`/api/v1/models/${path}`);
    expect([response.status, ((await response.json()) as Json).id]).toEqual([200, ID]);
  });
  test.each(MISSING)("%.60s is not found", async (path) =>
    expect(await errorOf(await get(`/api/v1/models/${path}`))).toEqual([404, "not_found_error"]),
  );
  test.each(BAD)("%s is no valid target", async (path) =>
    expect(await errorOf(await get(`/api/v1/models/${path}`))).toEqual([400, "invalid_request_error"]),
  );
  test("a trailing slash of the list is the list", async () =>
    expect(((await (await get("/api/v1/models/")).json()) as Json).object).toBe("list"));
});

describe("a model's page by its path", () => {
  const page = (path: string, headers: Record<string, string> = {}) =>
    fetch(`${catalogue.gateway.url}/docs/${path}`, { headers });

  test.each([ID, encoded, encoded.toLowerCase()])("%s is found, without a key", async (id) => {
    const response = await page(`language/${id}/llms.txt`);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/markdown; charset=utf-8");
    expect(await response.text()).toStartWith("# GPT-5.6 Luna\n");
  });
  test.each(
    [`image/${ID}`, `Language/${ID}`, `text/${ID}`, `__proto__/${ID}`, `language/${ID}/x`, "language/no/such"]
      .map((path) => `${path}/llms.txt`)
      .concat([
        "language/openai%252Fgpt-5.6-luna/llms.txt",
        "language%2Fopenai%2Fgpt-5.6-luna/llms.txt",
        "language/..%2f..%2f..%2fetc%2fpasswd/llms.txt",
        `language/${ID}/llms.txt/`,
        `language/${ID}/LLMS.txt`,
        `language/${ID}`,
        "language/llms.txt",
        "language//llms.txt",
        "",
      ]),
  )("%s is not found", async (path) =>
    expect(await errorOf(await page(path))).toEqual([404, "not_found_error"]),
  );
  test.each(["language/a%00b/llms.txt", "language/%ff/llms.txt"])("%s is no valid target", async (path) =>
    expect(await errorOf(await page(path))).toEqual([400, "invalid_request_error"]),
  );

  test("a page may be kept for a minute, and one that is known is not sent again", async () => {
    for (const path of ["/llms.txt", `/docs/language/${ID}/llms.txt`]) {
      const url = `${catalogue.gateway.url}${path}`;
      const first = await fetch(url);
      expect(first.headers.get("cache-control")).toBe("public, max-age=60");
      const etag = first.headers.get("etag") ?? "";
      expect(etag).toMatch(/^"[0-9a-f]{32}"$/);
      for (const known of [etag, `W/${etag}`, `"x", ${etag}`, "*"]) {
        const again = await fetch(url, { headers: { "if-none-match": known } });
        expect([known, again.status, await again.text()]).toEqual([known, 304, ""]);
        expect(again.headers.get("etag")).toBe(etag);
      }
      expect((await fetch(url, { headers: { "if-none-match": '"x"' } })).status).toBe(200);
      const head = await fetch(url, { method: "HEAD" });
      expect([head.status, await head.text(), head.headers.get("etag")]).toEqual([200, "", etag]);
      expect((await fetch(url, { method: "POST" })).status).toBe(405);
    }
  });

  test("the index leads to every page", async () => {
    const index = await (await fetch(`${catalogue.gateway.url}/llms.txt`)).text();
    const links = [...index.matchAll(/\]\((\S+)\)/g)].map(([, link = ""]) => link);
    for (const { unique_id } of await list())
      expect(links).toContain(`${catalogue.gateway.url}/docs/${unique_id}/llms.txt`);
    for (const link of links) expect([link, (await fetch(link)).status]).toEqual([link, 200]);
  });
});

test("a model is shown in its vendor's format and in chat completions, on its page too", async () => {
  const native = await startWholeCatalogue();
  try {
    const ask = async (path: string): Promise<Response> =>
      fetch(`${native.gateway.url}${path}`, { headers: { authorization: `Bearer ${native.gateway.key}` } });
    const all: Json[] = ((await (await ask("/api/v1/models")).json()) as Json).data;
    const rows = all.filter(({ category }) => category === "language");
    const served = Object.fromEntries(rows.map((row) => [row.id, row.supported_protocols]));
    for (const { id, vendor } of files) {
      const format = { anthropic: "compat_messages", google: "compat_generate_content" }[vendor];
      const formats = ["compat_chat_completions", ...(format === undefined ? [] : [format])];
      expect([id, served[id]]).toEqual([id, formats]);
    }
    const claude = rows.find((row) => row.id === "anthropic/claude-opus-5.5");
    expect(claude.parameter_schema.properties).toHaveProperty("max_completion_tokens");
    const own = claude.parameter_schema["x-protocols"].compat_messages;
    expect(own.properties).toHaveProperty("stop_sequences");
    const page = await (await fetch(claude.documentation_url)).text();
    expect(page).toContain("## Parameters: Messages");
    expect(page).toContain("/api/v1/chat/completions");
  } finally {
    await native.close();
  }
});

describe("image and video models, of a gateway that serves all in its sandbox", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway.close());
  const ask = async (path: string): Promise<{ readonly status: number; readonly json: Json }> => {
    const response = await fetch(`${gateway.url}${path}`, {
      headers: { authorization: `Bearer ${gateway.key}` },
    });
    return { status: response.status, json: await response.json() };
  };
  const media = async (): Promise<Json[]> =>
    (await ask("/api/v1/models")).json.data.filter(({ category }: Json) =>
      ["image", "video"].includes(category),
    );

  test("stand behind those of text, in the order of the catalogue", async () => {
    const { data } = (await ask("/api/v1/models")).json;
    expect(data.map((row: Json) => row.unique_id)).toEqual(all.map(({ uniqueId }) => uniqueId));
    expect([data.length, new Set(data.map((row: Json) => row.id)).size]).toEqual([26, 25]);
  });

  test("have every field of a model, no format, and a schema of their parameters", async () => {
    const rows = await media();
    expect(rows.length).toBe(8);
    for (const row of rows) {
      expect(model.accepts(row) ? "" : `${row.id}: ${model.faultOf(row).path}`).toBe("");
      expect(row.supported_protocols).toEqual([]);
      expect(row.output_modalities).toEqual([row.category]);
      expect(row.parameter_schema).toMatchObject({ type: "object" });
      expect(Object.keys(row.parameter_schema.properties)).toContain("prompt");
      expect(row.parameter_schema["x-ignored"]).not.toContain("prompt");
    }
  });

  test("are found by id and category, the one of three segments too", async () => {
    const { models }: Json = (await ask("/api/v1/models")).json;
    for (const row of await media()) {
      const google = models.find(({ name }: Json) => name === `models/${row.id}`);
      for (const id of [row.id, encodeURIComponent(row.id)]) {
        const { status, json } = await ask(`/api/v1/models/${id}?category=${row.category}`);
        expect([status, json]).toEqual([200, { ...row, ...google }]);
      }
      expect((await fetch(row.documentation_url)).status).toBe(200);
    }
    const edit = "openai/gpt-image-2/edit";
    expect((await ask(`/api/v1/models/${edit}`)).json.unique_id).toBe(`image/${edit}`);
    expect((await fetch(`${gateway.url}/docs/image/${edit}/llms.txt`)).status).toBe(200);
  });

  test("an id in two categories is the one of text unless the category says otherwise", async () => {
    const id = "google/gemini-3-pro-image";
    const unique = async (query: string): Promise<string> =>
      (await ask(`/api/v1/models/${id}${query}`)).json.unique_id;
    expect(await unique("")).toBe(`language/${id}`);
    expect(await unique("?category=language")).toBe(`language/${id}`);
    expect(await unique("?category=image")).toBe(`image/${id}`);
    expect((await ask(`/api/v1/models/${id}?category=video`)).status).toBe(404);
  });
});

test("a model whose providers are all away is not shown, and has no page", async () => {
  const gateway = await startGateway({ environment: { SWITCHYARD_SANDBOX: "off" } });
  const response = await fetch(`${gateway.url}/docs/language/${ID}/llms.txt`);
  expect(await errorOf(response)).toEqual([404, "not_found_error"]);
  expect(await (await fetch(`${gateway.url}/llms.txt`)).text()).toContain("None is served now");
  await gateway.close();
});
