import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { createFakeClock, type FakeClock } from "../gateway/fake-clock.ts";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import { chatAnswer } from "../upstream/chat-bytes.ts";
import { geminiPlain, geminiStream } from "../upstream/gemini-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { SPEECH } from "./fault-matrix.ts";

// Models that a caller or the operator names in a request's place: what goes up, and what other requests make of them.

let double: UpstreamDouble;
let gateway: TestGateway;
let clock: FakeClock;
/** What fails, by its name at its provider. */
let broken: readonly string[];

const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

beforeAll(async () => {
  double = await startUpstreamDouble();
  clock = createFakeClock();
  gateway = await startGateway({ settings: JSON.stringify(settings()), clock });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});
beforeEach(() => {
  broken = [];
  double.reset();
  double.handle((request) => {
    const body = request.json() as Json;
    if (broken.includes(body.model)) return jsonAnswer(503, {});
    if (request.target.includes("up-own:")) return jsonAnswer(503, {});
    if (request.target.includes("up-gemini:streamGenerateContent")) return geminiStream();
    if (request.target.includes("up-gemini:")) return geminiPlain();
    if (request.target.includes("count_tokens")) return jsonAnswer(200, { input_tokens: 7 });
    if (request.target.includes("/responses/input_tokens"))
      return jsonAnswer(200, { object: "response.input_tokens", input_tokens: 7 });
    if (request.target.endsWith("/responses/compact"))
      return jsonAnswer(200, { ...SPEECH.responses.plain, object: "response.compaction" });
    if (request.target.endsWith("/responses")) return jsonAnswer(200, SPEECH.responses.plain);
    if (request.target.endsWith("/messages")) return jsonAnswer(200, SPEECH.messages.plain);
    return chatAnswer({ words: ["Hello."], usage: USAGE });
  });
});

function settings(): Json {
  const provider = (id: string, protocol = "chat_completions"): Json => ({
    base_url: `${double.url}/${id}`,
    api_key: "sk-0123456789",
    dialect: "native",
    protocol,
    models: [
      {
        id: `t/${id}`,
        upstream_id: `up-${id}`,
        max_output: 100,
        prices: { input: 1, output: 2 },
      },
    ],
  });
  return {
    providers: {
      one: provider("one"),
      two: provider("two"),
      three: provider("three"),
      claude: provider("claude", "messages"),
      gpt: provider("gpt", "responses"),
      own: provider("own", "generate_content"),
      gemini: provider("gemini", "generate_content"),
    },
    routing: {
      breaker_failures: 0,
      models: { "t/three": { fallback: ["t/two"] }, "t/own": { fallback: ["t/gemini"] } },
    },
  };
}

const BODY = { messages: [{ role: "user", content: "Hi" }], max_tokens: 20 };
const models = (): readonly string[] => double.requests.map((request) => (request.json() as Json).model);

describe("a relay with models", () => {
  test("sends the bytes that it would send without them", async () => {
    const text =
      '{"model":"t/one","messages":[{"role":"user","content":"Hi" }],"max_tokens":2e1,"temperature":1.0}';
    const variants = [
      text,
      text.replace('"t/one",', '"t/one","models":["t/two"],'),
      text.replace("{", '{"models":["t/two"],'),
      text.replace(/}$/, ',"models":["t/two","t/one"]}'),
    ];
    for (const variant of variants) expect((await gateway.chat(variant)).status).toBe(200);
    expect(new Set(double.requests.map(({ bodyText }) => bodyText)).size).toBe(1);
    expect(double.requests[0]?.bodyText).toContain('"max_tokens":2e1');
  });

  test("of which one stands there by two names asks it once", async () => {
    broken = ["up-one"];
    const [one, alias] = ["t/one", "one"];
    const asked = { ...BODY, model: one, models: [one, alias, "t/two", "two"] };
    const response = await gateway.chat(asked);
    expect([response.status, models()]).toEqual([200, ["up-one", "up-two"]]);
  });

  describe("has `model` and five more", () => {
    const contents = [{ role: "user", parts: [{ text: "Hi" }] }];
    /** A request in a format whose first model is `first`. */
    const ask = (format: string, first: string, list: readonly string[]): Promise<Response> =>
      format === "chat completions"
        ? gateway.chat({ ...BODY, model: first, models: list })
        : gateway.post(
            `/api/v1/models/${first}:generateContent`,
            { contents },
            { headers: { "x-switchyard-models": list.join(",") } },
          );
    const unknown = ["t/no-1", "t/no-2", "t/no-3", "t/no-4"];

    for (const [format, param] of [
      ["chat completions", "models"],
      ["generateContent", "x-switchyard-models"],
    ] as const) {
      test(`of which the sixth serves where five cannot (${format})`, async () => {
        const response = await ask(format, "t/no-0", [...unknown, "t/two"]);
        const answer: Json = await response.json();
        expect([response.status, answer.model ?? answer.modelVersion]).toEqual([200, "t/two"]);
        const warning = response.headers.get("warning") ?? "";
        for (const name of ["t/no-0", ...unknown]) expect(warning).toContain(`${name} cannot serve`);
        expect(models()).toEqual(["up-two"]);
      });

      test(`and no sixth in the list, though it were \`model\` again (${format})`, async () => {
        const response = await ask(format, "t/two", [...unknown, "t/one", "t/two"]);
        const { error }: Json = await response.json();
        expect([response.status, error.param ?? error.message]).toEqual([
          400,
          expect.stringContaining(param),
        ]);
        expect(models()).toEqual([]);
      });
    }

    test("of which three are asked where each fails", async () => {
      broken = ["up-one", "up-two", "up-three", "up-claude", "up-gpt"];
      const response = await ask("chat completions", "t/three", [
        "t/one",
        "t/two",
        "t/claude",
        "t/gpt",
        "one",
      ]);
      expect([response.status, models()]).toEqual([503, ["up-three", "up-one", "up-two"]]);
    });
  });

  test("whose body is read on a thread goes on with the next one, by the caller's word and by the operator's", async () => {
    const content = "word ".repeat(40_000);
    const messages = [{ role: "user", content }];
    broken = ["up-one", "up-three"];
    const named: Json = await (
      await gateway.chat({ ...BODY, messages, model: "t/one", models: ["t/two"] })
    ).json();
    const fallen: Json = await (await gateway.chat({ ...BODY, messages, model: "t/three" })).json();
    expect([named.model, fallen.model]).toEqual(["t/two", "t/two"]);
    expect(models()).toEqual(["up-one", "up-two", "up-three", "up-two"]);
    for (const request of double.requests)
      expect((request.json() as Json).messages).toEqual([{ role: "user", content }]);
  });
});

describe("an answer of generateContent that is relayed", () => {
  const body = { contents: [{ role: "user", parts: [{ text: "Hi" }] }] };
  for (const [what, model, named, header] of [
    ["was asked for, says what its provider calls it", "t/gemini", "gemini-3.8-flash", undefined],
    ["serves by the operator's word, has its id", "t/own", "t/gemini", undefined],
    ["serves by the caller's word, has its id", "t/own", "t/gemini", "t/gemini"],
    ["serves in place of an unknown name, has its id", "t/no", "t/gemini", "t/gemini"],
    ["was asked for by two names, says what its provider calls it", "gemini", "gemini-3.8-flash", "t/gemini"],
  ] as const)
    for (const method of ["generateContent", "streamGenerateContent"])
      test(`of a model that ${what} (${method})`, async () => {
        const headers = header === undefined ? {} : { "x-switchyard-models": header };
        const response = await gateway.post(`/api/v1/models/${model}:${method}`, body, { headers });
        const text = await response.text();
        const names = text.matchAll(/"modelVersion": ?"([^"]*)"/g).map(([, name]) => name);
        expect([response.status, [...new Set(names)]]).toEqual([200, [named]]);
      });
});

describe("an earlier answer that a request names", () => {
  test("is in what the second model is sent, too", async () => {
    const first: Json = await (
      await gateway.post("/api/v1/responses", { model: "t/one", input: "Who are you?" })
    ).json();
    broken = ["up-one"];
    for (const model of ["t/one", undefined]) {
      const response = await gateway.post("/api/v1/responses", {
        ...(model === undefined ? {} : { model }),
        models: ["t/one", "t/two"],
        previous_response_id: first.id,
        input: "And now?",
      });
      const answer: Json = await response.json();
      expect([model, response.status, answer.model]).toEqual([model, 200, "t/two"]);
      const sent = double.requests.at(-1)?.bodyText ?? "";
      for (const said of ["Who are you?", "Hello.", "And now?"]) expect(sent).toContain(said);
      expect(sent).not.toContain("models");
    }
  });
});

describe("what asks no model for an answer goes by the first name, and sends no list up", () => {
  const input = "Hi";
  for (const [path, body, headers] of [
    ["/api/v1/messages/count_tokens", { ...BODY, models: ["t/claude", "t/two"] }, {}],
    ["/api/v1/messages/count_tokens", { ...BODY, model: "t/claude", models: ["t/two"] }, {}],
    ["/api/v1/responses/input_tokens", { models: ["t/gpt", "t/two"], input }, {}],
    ["/api/v1/responses/input_tokens", { model: "t/gpt", models: ["t/two"], input }, {}],
    ["/api/v1/responses/compact", { model: "t/gpt", models: ["t/two"], input }, {}],
    [
      "/api/v1/models/t/one:countTokens",
      { contents: [{ role: "user", parts: [{ text: "Hi" }] }] },
      { "x-switchyard-models": "t/two" },
    ],
  ] as const)
    test(`${path} ${JSON.stringify(body).slice(0, 40)}`, async () => {
      const response = await gateway.post(path, body, { headers: { ...headers } });
      expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
      for (const request of double.requests) {
        const sent = request.json() as Json;
        expect(sent).not.toHaveProperty("models");
        expect(["up-claude", "up-gpt"]).toContain(sent.model);
      }
    });
});
