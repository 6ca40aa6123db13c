import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer } from "../upstream/answer.ts";
import { chatAnswer } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { geminiPlain } from "../upstream/gemini-bytes.ts";
import { messageAnswer } from "../upstream/messages-bytes.ts";
import type { SeenRequest } from "../upstream/seen-request.ts";
import { strictGenerateContent } from "../upstream/strict-gemini.ts";
import { strictMessages } from "../upstream/strict-messages-format.ts";
import { STRICT } from "../upstream/strict-profiles.ts";
import { strictResponses } from "../upstream/strict-responses.ts";
import { strictChatCompletions, type StrictCheck } from "../upstream/strict.ts";

// Odd items and fields of Responses, on every way that such a request takes. It is relayed to a server that knows all
// of the format, or that knows functions alone, or translated to each of the other formats. The upstream is as strict
// as these are.

const KEYS = { keys: [UPSTREAM_KEY] };
const RESPONSE = {
  id: "resp_1",
  object: "response",
  created_at: 1,
  status: "completed",
  model: "up",
  output: [],
  metadata: {},
  usage: { input_tokens: 5, output_tokens: 0, total_tokens: 5 },
};

interface Way {
  readonly model: string;
  readonly strict: StrictCheck;
  readonly answer: () => Answer;
}
const told = (): Answer => jsonAnswer(200, RESPONSE);
const WAYS: Readonly<Record<string, Way>> = {
  "relayed to OpenAI": { model: "openai/gpt-5.6-luna", strict: strictResponses(KEYS), answer: told },
  "relayed to xAI": {
    model: "xai/grok-4.7",
    strict: strictResponses({ ...KEYS, functionsOnly: true }),
    answer: told,
  },
  "translated to chat completions": {
    model: "deepseek/deepseek-v4-pro",
    strict: strictChatCompletions({ ...STRICT.deepseek, ...KEYS }),
    answer: () => chatAnswer(),
  },
  "translated to messages": {
    model: "anthropic/claude-haiku-4.5",
    strict: strictMessages(KEYS),
    answer: () => messageAnswer(),
  },
  "translated to generateContent": {
    model: "google/gemini-3.8-flash",
    strict: strictGenerateContent(KEYS),
    answer: () => geminiPlain(),
  },
};

let double: UpstreamDouble;
let gateway: TestGateway;

beforeAll(async () => {
  double = await startUpstreamDouble();
  const [own, v1] = [double.url, `${double.url}/v1`];
  gateway = await startGateway({
    environment: {
      OPENAI_API_KEY: UPSTREAM_KEY,
      OPENAI_BASE_URL: v1,
      XAI_API_KEY: UPSTREAM_KEY,
      XAI_BASE_URL: v1,
      DEEPSEEK_API_KEY: UPSTREAM_KEY,
      DEEPSEEK_BASE_URL: v1,
      ANTHROPIC_API_KEY: UPSTREAM_KEY,
      ANTHROPIC_BASE_URL: own,
      GEMINI_API_KEY: UPSTREAM_KEY,
      GEMINI_BASE_URL: own,
    },
  });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});

describe.each(Object.entries(WAYS))("%s", (_name, { model, strict, answer }) => {
  const ask = async (body: Json): Promise<{ status: number; json: Json; warning: string; sent: string }> => {
    double.reset();
    double.handle((request: SeenRequest) => strict(request) ?? answer());
    const response = await gateway.post("/api/v1/responses", { model, ...body });
    const sent = double.requests.at(-1)?.bodyText ?? "";
    const warning = response.headers.get("warning") ?? "";
    return { status: response.status, json: await response.json(), warning, sent };
  };
  const user = { role: "user", content: "Go on." };
  const call = { type: "function_call", call_id: "call_1", name: "f", arguments: "{}" };
  const output = { type: "function_call_output", call_id: "call_1", output: "found" };

  test("an item whose type is null is a message where it has a role", async () => {
    const { status, sent } = await ask({ input: [{ type: null, ...user }] });
    expect([status, sent.includes('"type":null'), sent.includes("Go on.")]).toEqual([200, false, true]);
  });

  test("an item that its members do not name is refused by its place, before anything is sent", async () => {
    for (const item of [
      { type: null, call_id: "call_1", output: "found" },
      { call_id: "call_1", output: "found" },
      { type: null, role: null, id: null },
      {},
    ]) {
      const { status, json, sent } = await ask({ input: [user, item] });
      expect([status, json.error.param, sent]).toEqual([400, "input[1].type", ""]);
    }
  });

  test("an output that names no call is sent as the user's, and the answer says so", async () => {
    for (const callId of [{}, { call_id: null }, { call_id: "" }]) {
      const nameless = { type: "function_call_output", ...callId, output: "told apart" };
      const { status, warning, sent } = await ask({ input: [user, call, output, nameless] });
      expect([status, sent.includes("told apart")]).toEqual([200, true]);
      expect(warning).toContain("input[3] has no call_id: it was sent as the user's");
      const empty = await ask({ input: [user, call, output, { ...nameless, output: "" }, user] });
      expect([empty.status, empty.sent.match(/Go on\./g)]).toEqual([200, ["Go on.", "Go on."]]);
    }
  });

  const pairs = (count: number): Json =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, "v"]));

  test("metadata comes back with the answer, and its limits are refusals that name it", async () => {
    const metadata = { ...pairs(15), ["k".repeat(64)]: "v".repeat(512) };
    const { status, json, sent } = await ask({ input: "Hi.", metadata });
    expect([status, json.metadata]).toEqual([200, metadata]);
    expect(sent).not.toContain("metadata");
    for (const [wrong, param] of [
      [pairs(17), "metadata"],
      [{ ["k".repeat(65)]: "v" }, "metadata"],
      [{ ["k".repeat(100_000)]: "v" }, "metadata"],
      [{ a: "v".repeat(513) }, "metadata.a"],
      [{ a: 3 }, "metadata.a"],
      [{ a: null }, "metadata.a"],
      ["v", "metadata"],
    ] as const) {
      const refused = await ask({ input: "Hi.", metadata: wrong });
      expect([refused.status, refused.json.error.param, refused.sent]).toEqual([400, param, ""]);
      expect(refused.json.error.message.length).toBeLessThan(200);
    }
  });
});
