import { describe, expect, test } from "bun:test";
import { UPSTREAM_KEY } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer } from "../upstream/answer.ts";
import { finAt, longContentLength, resetAt, stallAt } from "../upstream/faults.ts";
import { openRawClient, postBytes } from "../upstream/raw-client.ts";
import { GEMINI, PATH, SMALL, useEmbeddingStation } from "./embedding-station.ts";

// What becomes of a request for embeddings whose provider fails, or whose client leaves.

const station = useEmbeddingStation();

describe("a failure is free", () => {
  const good = answerOf({
    data: [{ index: 0, embedding: [0.5] }],
    usage: { prompt_tokens: 3, total_tokens: 3 },
  });
  const failures: readonly (readonly [name: string, answer: Answer, status: number, type: string])[] = [
    [
      "a 429",
      jsonAnswer(429, { error: { message: "slow", code: "rate_limit_exceeded" } }),
      503,
      "overloaded_error",
    ],
    ["a 500", jsonAnswer(500, { error: { message: "broke" } }), 502, "upstream_error"],
    [
      "a 401",
      jsonAnswer(401, { error: { message: "Incorrect API key", code: "invalid_api_key" } }),
      502,
      "upstream_error",
    ],
    ["a redirect", { status: 302, headers: [["location", "/x"]] }, 502, "upstream_error"],
    [
      "a web page",
      { status: 200, headers: [["content-type", "text/html"]], body: "<p>" },
      502,
      "upstream_error",
    ],
    ["no data", answerOf({ data: [] }), 502, "upstream_error"],
    [
      "a vector too many",
      answerOf({ data: [{ embedding: [1] }, { embedding: [1] }] }),
      502,
      "upstream_error",
    ],
    ["a body that was cut", finAt(good, 20), 502, "upstream_error"],
    ["a connection that was reset", resetAt(good, "mid-head"), 502, "upstream_error"],
    ["a body that is shorter than was said", longContentLength(good), 502, "upstream_error"],
  ];
  for (const [name, failure, status, type] of failures) {
    test(`${name}: ${status}`, async () => {
      const before = await station.balance();
      station.double.enqueue(failure);
      const { status: got, json } = await station.ask({ model: SMALL, input: "a" });
      expect([got, json.error.type]).toEqual([status, type]);
      expect(JSON.stringify(json)).not.toContain(UPSTREAM_KEY);
      expect(await station.balance()).toBe(before);
    });
  }

  test("of Gemini: its errors are read, too", async () => {
    const before = await station.balance();
    const error = { code: 429, message: "Resource has been exhausted", status: "RESOURCE_EXHAUSTED" };
    station.double.enqueue(jsonAnswer(429, { error }));
    const limited = await station.ask({ model: GEMINI, input: "a" });
    expect([limited.status, limited.json.error.type]).toEqual([503, "overloaded_error"]);
    station.double.enqueue(jsonAnswer(200, { embeddings: [] }));
    const empty = await station.ask({ model: GEMINI, input: "a" });
    expect([empty.status, empty.json.error.type]).toEqual([502, "upstream_error"]);
    expect(await station.balance()).toBe(before);
  });

  test("a 400 of the provider's is the client's, with its field", async () => {
    const error = {
      message: "'$.input' is invalid.",
      type: "invalid_request_error",
      param: "input",
      code: null,
    };
    station.double.enqueue(jsonAnswer(400, { error }));
    const { status, json } = await station.ask({ model: SMALL, input: "a" });
    expect([status, json.error.param]).toEqual([400, "input"]);
    expect(json.error.message).toContain("'$.input' is invalid.");
  });
});

function answerOf(body: object): Answer {
  return jsonAnswer(200, { object: "list", model: "m", ...body });
}

test("an answer without usage is charged by the gateway's estimate, and the request's line says so", async () => {
  const before = await station.balance();
  station.double.enqueue(answerOf({ data: [{ index: 0, embedding: [0.5] }] }));
  const { json } = await station.ask({ model: SMALL, input: "word ".repeat(100) });
  expect(json.usage).toEqual({ prompt_tokens: 125, total_tokens: 125 });
  expect(json.credit).toBe(0.025);
  expect(before - (await station.balance())).toBeCloseTo(0.025, 6);
  expect(station.gateway.logs.findLast(({ path }) => path === PATH)?.usage_flags).toEqual(["estimated"]);
});

test("a client that leaves while the provider works pays for the input, by estimate", async () => {
  const before = await station.balance();
  station.double.handle(() => stallAt(answerOf({ data: [] }), "start"));
  const raw = await openRawClient(station.gateway.url);
  const headers = [`Authorization: Bearer ${station.gateway.key}`];
  raw.send(postBytes(PATH, JSON.stringify({ model: SMALL, input: "word ".repeat(100) }), headers));
  const request = await station.double.waitForRequest(1);
  raw.close();
  await station.double.waitForClientGone(request);
  expect(before - (await station.balance())).toBeCloseTo(0.025, 6);
});
