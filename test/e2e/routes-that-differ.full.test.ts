import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { ROUTE_ORDERS } from "../../src/core/model.ts";
import { createFakeClock, type FakeClock } from "../gateway/fake-clock.ts";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import { chatAnswer } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { messageAnswer } from "../upstream/messages-bytes.ts";

// A model with two routes, of which the second cannot be asked for all that the first can. A request that needs the first
// is never wrong because that one takes no calls for a while.

const PAUSE_SEC = 30;
const LIMITED = jsonAnswer(429, {}, { headers: [["retry-after", String(PAUSE_SEC)]] });
/** OpenAI alone reads its tokens. */
const VECTORS_MODEL = "openai/text-embedding-3-small";
const VECTORS = {
  object: "list",
  model: "e",
  data: [{ object: "embedding", index: 0, embedding: Array(1_536).fill(1) }],
  usage: { prompt_tokens: 3, total_tokens: 3 },
};

let first: UpstreamDouble;
let second: UpstreamDouble;
let gateway: TestGateway;
let clock: FakeClock;

beforeAll(async () => {
  first = await startUpstreamDouble();
  second = await startUpstreamDouble();
});
afterAll(async () => {
  await first.close();
  await second.close();
});
beforeEach(async () => {
  first.reset();
  second.reset();
  clock = createFakeClock();
  const model = { upstream_id: "up", prices: { input: 1, output: 2 } };
  gateway = await startGateway({
    openai: `${first.url}/v1`,
    settings: JSON.stringify({
      providers: {
        native: {
          base_url: first.url,
          protocol: "messages",
          api_key: "sk-0123456789",
          dialect: "native",
          models: [{ ...model, id: "t/model" }],
        },
        other: {
          base_url: `${second.url}/v1`,
          models: [{ ...model, id: "t/other" }],
        },
      },
      routing: {
        models: {
          "t/model": { routes: [{ provider: "native" }, { provider: "other", upstream_id: "up" }] },
          [VECTORS_MODEL]: { routes: [{ provider: "openai" }, { provider: "other", upstream_id: "up" }] },
        },
      },
    }),
    clock,
  });
});
afterEach(() => gateway.close());

const MESSAGES = { model: "t/model", max_tokens: 20, messages: [{ role: "user", content: "Hi" }] };
/** A tool that Anthropic defines, which the model must call: no other format has it. */
const SHELL = {
  tools: [{ type: "bash_20250124", name: "bash" }],
  tool_choice: { type: "tool", name: "bash" },
};
/** Is read on a thread. */
const LONG = { messages: [{ role: "user", content: "word ".repeat(40_000) }] };

async function statuses(path: string, body: Json): Promise<readonly (number | string | null)[]> {
  const response = await gateway.post(path, body);
  await response.text();
  return [response.status, response.headers.get("retry-after")];
}

const CASES = [
  ["a tool that the second provider does not have", "/api/v1/messages", { ...MESSAGES, ...SHELL }, MESSAGES],
  ["the same, and long", "/api/v1/messages", { ...MESSAGES, ...SHELL, ...LONG }, { ...MESSAGES, ...LONG }],
  [
    "tokens that the second provider does not read",
    "/api/v1/embeddings",
    { model: VECTORS_MODEL, input: [1, 2, 3] },
    { model: VECTORS_MODEL, input: "Hi" },
  ],
] as const;

describe("while the first provider cools", () => {
  for (const [name, path, needing, plain] of CASES)
    test(`a request for ${name} is to wait, and is well afterwards`, async () => {
      const good = path.endsWith("embeddings") ? jsonAnswer(200, VECTORS) : messageAnswer();
      first.handle(() => LIMITED);
      second.handle(() => (path.endsWith("embeddings") ? jsonAnswer(200, VECTORS) : chatAnswer()));
      const wait = [503, String(PAUSE_SEC)];
      expect([await statuses(path, needing), await statuses(path, needing)]).toEqual([wait, wait]);
      expect([first.requests.length, second.requests.length]).toEqual([1, 0]);
      expect(await statuses(path, plain)).toEqual([200, null]);
      await clock.advance(PAUSE_SEC * 1_000);
      first.handle(() => good);
      expect(await statuses(path, needing)).toEqual([200, null]);
      expect([first.requests.length, second.requests.length]).toEqual([2, 1]);
      expect(await gateway.account()).toMatchObject({ held: 0 });
    });

  test("what no provider of the model takes is a 400", async () => {
    first.handle(() => LIMITED);
    await statuses("/api/v1/messages", { ...MESSAGES, ...SHELL });
    const asked = { ...MESSAGES, messages: [{ role: "user", content: [{ type: "image", source: {} }] }] };
    expect((await statuses("/api/v1/messages", asked))[0]).toBe(400);
    expect((await statuses("/api/v1/embeddings", { model: VECTORS_MODEL, input: [] }))[0]).toBe(400);
  });
});

describe("what one provider does not take goes to the other, whichever comes first:", () => {
  const key = { name: "orders", routes: true };
  for (const by of ROUTE_ORDERS) {
    test(`by ${by}`, async () => {
      const { json } = await gateway.admin("POST", "/keys", { ...key, account_id: gateway.accountId });
      const headers = { authorization: `Bearer ${json.key}`, "x-switchyard-route": by };
      const ask = async (path: string, body: Json) => {
        const response = await gateway.post(path, body, { headers });
        return [response.status, ((await response.json()) as Json).error?.param];
      };
      first.handle(() => jsonAnswer(200, VECTORS));
      for (let i = 0; i < 4; i += 1)
        expect(await ask("/api/v1/embeddings", { model: VECTORS_MODEL, input: [1, 2, 3] })).toEqual([
          200,
          undefined,
        ]);
      expect([first.requests.length, second.requests.length]).toEqual([4, 0]);
      first.handle(() => messageAnswer());
      second.handle(() => chatAnswer());
      for (let i = 0; i < 4; i += 1) {
        expect(await ask("/api/v1/chat/completions", { ...MESSAGES, logprobs: true })).toEqual([
          200,
          undefined,
        ]);
        expect(await ask("/api/v1/messages", { ...MESSAGES, ...SHELL })).toEqual([200, undefined]);
      }
      expect([first.requests.length, second.requests.length]).toEqual([8, 4]);
      // Of what neither takes, the one that is listed first has the word.
      const body = {
        ...MESSAGES,
        logprobs: true,
        modalities: ["audio"],
        audio: { voice: "a", format: "mp3" },
      };
      const refused = await ask("/api/v1/chat/completions", body);
      expect(refused[0]).toBe(400);
      for (let i = 0; i < 4; i += 1) expect(await ask("/api/v1/chat/completions", body)).toEqual(refused);
    });
  }
});
