import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { createFakeClock } from "../gateway/fake-clock.ts";
import { startGateway, type TestGateway } from "../gateway/gateway.ts";
import { jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import { chatAnswer, chatStreamAnswer } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { gateAt, resetAt, stallAt } from "../upstream/faults.ts";
import { createGate, type Gate } from "../upstream/gate.ts";
import type { SeenRequest } from "../upstream/seen-request.ts";
import { seeded } from "./money.ts";

// Two credentials of one provider that may make two calls and one at a time, and more requests than that at once.

const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const BODY = { model: "t/model", messages: [{ role: "user", content: "Hi" }], max_tokens: 20 };
const MOST = { "sk-first": 2, "sk-second": 1 } as const;

let double: UpstreamDouble;
let gateway: TestGateway;

beforeAll(async () => {
  double = await startUpstreamDouble();
});
afterAll(() => double.close());
beforeEach(async () => {
  double.reset();
  gateway = await startGateway({
    clock: createFakeClock(),
    environment: { FIRST_KEY: "sk-first", SECOND_KEY: "sk-second" },
    settings: `
providers:
  one:
    base_url: "${double.url}/v1"
    api_key_env: FIRST_KEY
    credentials:
      - { env: FIRST_KEY, concurrency: ${MOST["sk-first"]} }
      - { env: SECOND_KEY, concurrency: ${MOST["sk-second"]} }
    models: [{ id: t/model, upstream_id: up, prices: { input: 1, output: 2 } }]
routing: { breaker_failures: 0, retry_budget: 1 }
`,
  });
});
afterEach(() => gateway.close());

const keyOf = (request: SeenRequest): string => request.header("authorization")?.replace("Bearer ", "") ?? "";
const isStream = (request: SeenRequest): boolean => request.bodyText.includes('"stream":true');
const good = (request: SeenRequest) =>
  isStream(request)
    ? chatStreamAnswer({ words: ["Hello."], usage: USAGE })
    : chatAnswer({ words: ["Hello."], usage: USAGE });

/** Sends 20 requests at once. Returns how many reach the provider by each credential; the gateway refuses the others. */
async function atOnce(gate: Gate): Promise<Readonly<Record<string, number>>> {
  double.reset();
  double.handle((request) => gateAt(good(request), "start", gate));
  let refused = 0;
  const all = Array.from({ length: 20 }, async (_, i) => {
    const response = await gateway.chat({ ...BODY, stream: i % 2 === 0 });
    if (response.status === 503) refused += 1;
    await response.text();
    return response.status;
  });
  await double.waitForRequest(3);
  while (refused < 17) await new Promise((resolve) => setImmediate(resolve));
  gate.release();
  const statuses = await Promise.all(all);
  await gateway.settled();
  expect(statuses.filter((status) => status === 200)).toHaveLength(3);
  const used: Record<string, number> = {};
  for (const request of double.requests) used[keyOf(request)] = (used[keyOf(request)] ?? 0) + 1;
  return used;
}

test("of a crowd as many calls are made as the credentials may make, and so it is after calls of every end", async () => {
  expect(await atOnce(createGate())).toEqual(MOST);
  const random = seeded("calls of every end");
  for (let round = 0; round < 15; round += 1) {
    double.reset();
    double.handle((request) => {
      const answers = [
        good(request),
        jsonAnswer(401, {}),
        jsonAnswer(500, {}),
        resetAt(good(request), "start"),
        stallAt(good(request), "start"),
        sseAnswer("data: {\n\n"),
      ];
      return answers[random(answers.length)];
    });
    const clients = Array.from({ length: 10 }, (_, i) => {
      const client = new AbortController();
      const asked = gateway
        .chat({ ...BODY, stream: i % 2 === 0 }, { signal: client.signal })
        .then((response) => response.text())
        .catch(() => "");
      return { client, asked };
    });
    await double.waitForRequest(1);
    for (let turns = random(20); turns > 0; turns -= 1) await new Promise((resolve) => setImmediate(resolve));
    for (const { client } of clients) client.abort();
    await Promise.all(clients.map(({ asked }) => asked));
    await gateway.settled();
  }
  expect(await atOnce(createGate())).toEqual(MOST);
  expect(await gateway.admin("GET", "/audit")).toMatchObject({ json: { ok: true } });
});
