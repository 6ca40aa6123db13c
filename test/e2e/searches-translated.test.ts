import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import { chatAnswer } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { geminiAnswer } from "../upstream/gemini-bytes.ts";
import { message, messageStream } from "../upstream/messages-bytes.ts";
import { sse } from "../upstream/sse-bytes.ts";

// A search of the web that a caller asks for in its own format, where the model's provider searches and has a price for
// it: Claude and Gemini. What was found comes back as the caller's format has it, and each search is charged.

let double: UpstreamDouble;
let gateway: TestGateway;

beforeAll(async () => {
  double = await startUpstreamDouble();
  gateway = await startGateway({
    anthropic: double.url,
    openai: `${double.url}/v1`,
    environment: { GEMINI_API_KEY: UPSTREAM_KEY, GEMINI_BASE_URL: double.url },
  });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});
beforeEach(() => double.reset());

const CLAUDE = "anthropic/claude-haiku-4.5";
const GEMINI = "google/gemini-3.8-flash";
const GPT = "openai/gpt-5.6-luna";
const PAGE = { url: "https://example.com/oslo", title: "Oslo" };

const found = [
  { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "oslo" } },
  {
    type: "web_search_tool_result",
    tool_use_id: "srvtoolu_1",
    content: [{ type: "web_search_result", ...PAGE, encrypted_content: "Eo8K", page_age: null }],
  },
  { type: "text", text: "I looked. " },
  {
    type: "text",
    text: "It rains.",
    citations: [{ type: "web_search_result_location", ...PAGE, cited_text: "rain", encrypted_index: "Eo8B" }],
  },
];
const claude = {
  blocks: found,
  usage: { input_tokens: 11, output_tokens: 4, server_tool_use: { web_search_requests: 1 } },
};
const gemini = {
  ...geminiAnswer({
    parts: ["It rains."],
    usage: { promptTokenCount: 11, candidatesTokenCount: 4, totalTokenCount: 15 },
  }),
} as Json;
gemini.candidates[0].groundingMetadata = {
  webSearchQueries: ["oslo"],
  groundingChunks: [{ web: { uri: PAGE.url, title: PAGE.title } }],
  groundingSupports: [
    { segment: { startIndex: 0, endIndex: 9, text: "It rains." }, groundingChunkIndices: [0] },
  ],
};

/** The vendors, the tool that each is sent, and what a search and the tokens beside it cost. */
const VENDORS = {
  Claude: {
    model: CLAUDE,
    credit: 100 + 11 * 0.01 + 4 * 0.05,
    plain: (): Answer => jsonAnswer(200, message(claude)),
    stream: (): Answer => sseAnswer(messageStream(claude)),
    toolsOf: (body: Json): Json => body.tools,
    tool: { type: "web_search_20250305", name: "web_search", max_uses: 10 },
  },
  Gemini: {
    model: GEMINI,
    credit: 140 + 11 * 0.0075 + 4 * 0.0375,
    plain: (): Answer => jsonAnswer(200, gemini),
    stream: (): Answer => sseAnswer(sse([gemini])),
    toolsOf: (body: Json): Json => body.tools,
    tool: { googleSearch: {} },
  },
};

const asked = [{ role: "user", content: "Weather in Oslo?" }];
/** The formats of callers: what each sends, and where its plain answer has what was cited. */
const CALLERS: Readonly<
  Record<
    string,
    {
      send(model: string): [path: string, body: Json];
      cited(answer: Json): Json;
      own: string;
      /** The most searches that it may ask for. */
      most?: number;
    }
  >
> = {
  "chat completions": {
    send: (model) => ["/api/v1/chat/completions", { model, messages: asked, web_search_options: {} }],
    cited: ({ choices: [{ message: said }] }) =>
      said.annotations.map(({ url_citation: { url, title } }: Json) => ({ url, title })),
    own: "web_search_options",
  },
  Responses: {
    send: (model) => ["/api/v1/responses", { model, input: asked, tools: [{ type: "web_search" }] }],
    cited: ({ output }) =>
      output.flatMap(({ content = [] }: Json) =>
        content.flatMap(({ annotations }: Json) =>
          annotations.map(({ url, title }: Json) => ({ url, title })),
        ),
      ),
    own: "web_search",
  },
  generateContent: {
    send: (model) => [
      `/api/v1beta/models/${model}:generateContent`,
      { contents: [{ role: "user", parts: [{ text: "Weather in Oslo?" }] }], tools: [{ googleSearch: {} }] },
    ],
    cited: ({ candidates: [{ groundingMetadata }] }) =>
      groundingMetadata.groundingChunks.map(({ web: { uri: url, title } }: Json) => ({ url, title })),
    own: "googleSearch",
  },
};

describe.each(Object.entries(CALLERS))("asked for in %s", (format, { send, cited, own }) => {
  for (const [name, vendor] of Object.entries(VENDORS)) {
    if (format === "generateContent" && name === "Gemini") continue;
    test(`${name} searches: the pages come back, and the search is charged`, async () => {
      double.handle(() => vendor.plain());
      const response = await gateway.post(...send(vendor.model));
      const answer: Json = await response.json();
      expect(response.status).toBe(200);
      expect(vendor.toolsOf(double.requests.at(-1)?.json())).toEqual([vendor.tool]);
      expect(cited(answer)).toEqual([PAGE]);
      expect(answer.credit).toBeCloseTo(vendor.credit, 6);
      expect(JSON.stringify(answer)).toContain("It rains.");
    });
  }

  test("a model whose search has no price is not asked, and where it is the only tool that is a 400", async () => {
    const response = await gateway.post(...send(GPT));
    const { error }: Json = await response.json();
    expect([response.status, double.requests.length]).toEqual([400, 0]);
    expect(error.message).toContain(own);
    expect(error.message).toMatch(/has no price|cannot be asked to search the web/);
  });
});

test("streamed, each search is charged as well, and the pages come with the text", async () => {
  for (const vendor of Object.values(VENDORS)) {
    double.handle(() => vendor.stream());
    const [path, body] = CALLERS.Responses!.send(vendor.model);
    const text = await (await gateway.post(path, { ...body, stream: true })).text();
    const end = JSON.parse(text.split("data: ").at(-1) ?? "").response;
    expect(CALLERS.Responses!.cited(end)).toEqual([PAGE]);
    expect(end.credit).toBeCloseTo(vendor.credit, 6);
    expect(text).toContain("response.output_text.annotation.added");
  }
});

describe("a search in messages", () => {
  const search = { type: "web_search_20250305", name: "web_search", max_uses: 2 };
  const tool = { name: "f", input_schema: { type: "object", properties: {} } };
  const ask = (model: string, tools: readonly object[], more: object = {}) =>
    gateway.post("/api/v1/messages", { model, max_tokens: 50, messages: asked, tools, ...more });

  test("Gemini searches for it, though not within a bound, and that is told", async () => {
    double.handle(() => VENDORS.Gemini.plain());
    const response = await ask(GEMINI, [search]);
    const answer: Json = await response.json();
    expect(double.requests.at(-1)?.json()).toMatchObject({ tools: [{ googleSearch: {} }] });
    expect(answer).toMatchObject({ usage: { server_tool_use: { web_search_requests: 1 } } });
    expect(answer.credit).toBeCloseTo(VENDORS.Gemini.credit, 6);
    expect(response.headers.get("warning")).toContain("the bound on the number of searches of tools[0]");
  });

  test("beside functions Gemini is not sent it, and that is told; chosen it is a 400", async () => {
    double.handle(() => VENDORS.Gemini.plain());
    const response = await ask(GEMINI, [tool, search]);
    expect(response.status).toBe(200);
    expect(response.headers.get("warning")).toContain("tools[1] (web_search_20250305) was left out");
    expect(double.requests.at(-1)?.json()).toMatchObject({
      tools: [{ functionDeclarations: [{ name: "f" }] }],
    });
    const chosen = await ask(GEMINI, [tool, search], { tool_choice: { type: "tool", name: "web_search" } });
    expect(chosen.status).toBe(400);
  });

  test("beside functions a model without a price for it goes on without, and nothing is held for it", async () => {
    double.handle(() => chatAnswer({ words: ["Hi."] }));
    const response = await ask(GPT, [tool, search]);
    expect(response.status).toBe(200);
    expect(response.headers.get("warning")).toContain("tools[1] (web_search_20250305) was left out");
    expect(JSON.stringify(double.requests.at(-1)?.json())).not.toContain("search");
  });
});

test("what a search may cost at most is held: who cannot pay ten of them is refused", async () => {
  const [path, body] = CALLERS.Responses!.send("anthropic/claude-opus-5.5");
  const { json: account } = await gateway.admin("POST", "/accounts", { name: "poor" });
  await gateway.admin("POST", `/accounts/${account.id}/credits`, { amount: 900, reason: "test" });
  const { json: key } = await gateway.admin("POST", "/keys", { account_id: account.id, name: "poor" });
  const headers = { authorization: `Bearer ${key.key}` };
  const ask = (more: Json): Promise<Response> =>
    gateway.post(path, { ...body, max_output_tokens: 16, ...more }, { headers });
  expect([(await ask({})).status, double.requests.length]).toEqual([402, 0]);
  double.handle(() => VENDORS.Claude.plain());
  expect((await ask({ tools: [] })).status).toBe(200);
});
