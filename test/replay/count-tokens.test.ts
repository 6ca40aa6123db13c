import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createFakeClock } from "../gateway/fake-clock.ts";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import {
  answerFrom,
  loadRecordings,
  type Recording,
  recordingsFolder,
  recordingsFor,
} from "../upstream/recordings.ts";
import { strictMessages } from "../upstream/strict-messages-format.ts";

// Every recorded count goes through the gateway and comes down as it was, and what agents send to have counted is served.

const HAIKU = "anthropic/claude-haiku-4.5";
const FLASH = "google/gemini-3.8-flash";

let double: UpstreamDouble;
let gateway: TestGateway;
beforeAll(async () => {
  double = await startUpstreamDouble();
  gateway = await startGateway({
    anthropic: double.url,
    environment: { GEMINI_API_KEY: UPSTREAM_KEY, GEMINI_BASE_URL: double.url },
    // No provider is ever too slow, however busy the machine is.
    clock: createFakeClock(),
    credits: 0,
  });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});
beforeEach(() => double.reset());

const isAvailable = recordingsFor("recorded counts");

/** How a client of the format asks for the recorded count, and what goes up then. */
function asked({ provider, request }: Recording) {
  const body = request.body as Json;
  if (provider === "anthropic")
    return {
      path: "/api/v1/messages/count_tokens?beta=true",
      body: { ...body, model: HAIKU },
      target: "/v1/messages/count_tokens",
      sent: { ...body, model: "claude-haiku-4-5" },
    };
  const model = "models/gemini-3.8-flash";
  const whole = body.generateContentRequest ?? (Object.keys(body).length > 1 ? body : undefined);
  return {
    path: `/api/v1/models/${FLASH}:countTokens`,
    body,
    target: `/v1beta/${model}:countTokens`,
    sent: whole === undefined ? body : { generateContentRequest: { ...whole, model } },
  };
}

describe.skipIf(!isAvailable)("a recorded count", () => {
  for (const recording of isAvailable ? loadRecordings("count-tokens") : []) {
    test(recording.path, async () => {
      const { path, body, target, sent } = asked(recording);
      double.handle(() => answerFrom(recording));
      const response = await gateway.post(path, body);
      expect([response.status, response.headers.get("x-switchyard-estimate")]).toEqual([200, null]);
      expect(await response.json()).toEqual(recording.response.body);
      expect(double.requests.map((request) => request.target)).toEqual([target]);
      expect(double.requests[0]?.json()).toEqual(sent);
    });
  }
});

const CLIENTS = join(recordingsFolder(), "../clients");
const ofAgents = existsSync(CLIENTS)
  ? readdirSync(CLIENTS).filter((name) => name.includes("count_tokens"))
  : [];

describe.skipIf(ofAgents.length === 0)(
  "what an agent sends to have counted (skipped where there is none)",
  () => {
    for (const name of ofAgents) {
      test(name, async () => {
        const { path, headers, body }: Json = JSON.parse(readFileSync(join(CLIENTS, name), "utf8"));
        const strict = strictMessages({ keys: [UPSTREAM_KEY] });
        double.handle((request) => strict(request) ?? jsonAnswer(200, { input_tokens: 321 }));
        const response = await gateway.post(path, body, { headers });
        expect(await response.json()).toEqual({ input_tokens: 321 });
        expect([response.status, response.headers.get("x-switchyard-estimate")]).toEqual([200, null]);
        // Nothing that it asks for is left out.
        expect(response.headers.get("warning")).toBeNull();
        const { model: _, ...kept } = double.requests[0]!.json() as Json;
        const { model: __, ...given } = body;
        expect(kept).toEqual(given);
      });
    }
  },
);
