import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer } from "../upstream/answer.ts";
import {
  type ScriptedVendors,
  signatureOf,
  startScriptedVendors,
  type VendorName,
} from "../upstream/scripted-vendors.ts";
import { type Caller, CALLERS } from "./loops/callers.ts";

// Providers that refuse what an earlier answer was signed with, in their own words. The conversation goes on without
// it, by one call more, whatever format the caller speaks.

const TOOL = "look_up";
const ALONE = "openai/gpt-alone";

let vendors: ScriptedVendors;
let gateway: TestGateway;
/** What the vendors say to a request; `undefined` is nothing. */
let refuse: (vendor: VendorName, body: Json) => Answer | undefined;
let refused: number;

beforeAll(async () => {
  vendors = await startScriptedVendors(
    (_, results) =>
      results === 0
        ? { thinking: "Hm, which?", calls: [{ tool: TOOL, input: { word: "a" } }] }
        : { text: "It is done." },
    (vendor, body) => refuse(vendor, body),
  );
  gateway = await startGateway({ environment: vendors.environment, settings: JSON.stringify(settings()) });
});
beforeEach(() => {
  refused = 0;
  refuse = () => undefined;
});
afterAll(async () => {
  await gateway.close();
  await vendors.close();
});

/** Routing as it is by itself, but that no test meets what another has done to it: each request earns a retry. */
function settings(): Json {
  const model = { upstream_id: "gpt", prices: { input: 1, output: 2 } };
  const other = (protocol: string, address: string | undefined): Json => ({
    protocol,
    dialect: "native",
    base_url: address,
    api_key: vendors.environment.OPENAI_API_KEY,
  });
  const { OPENAI_BASE_URL: openai, ANTHROPIC_BASE_URL: anthropic } = vendors.environment;
  return {
    providers: {
      alone: { ...other("responses", openai), models: [{ id: ALONE, ...model }] },
      elsewhere: {
        ...other("messages", anthropic),
        models: [{ id: "elsewhere/claude", upstream_id: "claude-haiku-4-5", prices: model.prices }],
      },
    },
    routing: { breaker_failures: 0, retry_budget: 1 },
  };
}

/** The vendors' sentences, as they were seen; each model's by its provider. */
const SENTENCES: readonly (readonly [name: string, model: string, answer: Answer])[] = [
  [
    "Anthropic",
    "anthropic/claude-haiku-4.5",
    jsonAnswer(400, {
      type: "error",
      error: {
        type: "invalid_request_error",
        message: "messages.1.content.0: Invalid `signature` in `thinking` block",
      },
    }),
  ],
  [
    "Gemini",
    "google/gemini-3.8-flash",
    jsonAnswer(400, {
      error: { code: 400, message: "Corrupted thought signature.", status: "INVALID_ARGUMENT" },
    }),
  ],
  [
    "Vertex",
    "google/gemini-3.8-flash",
    jsonAnswer(400, {
      error: {
        code: 400,
        message:
          "Unable to submit request because function call `look_up` in the 2. content block is missing a `thought_signature`.",
        status: "INVALID_ARGUMENT",
      },
    }),
  ],
  [
    "OpenAI",
    ALONE,
    jsonAnswer(400, {
      error: {
        message: "The encrypted content could not be verified.",
        type: "invalid_request_error",
        param: null,
        code: "invalid_encrypted_content",
      },
    }),
  ],
];

const isSigned = (body: Json): boolean => JSON.stringify(body).includes(signatureOf(0));

/** A question, a call of a tool, and what is said to its result. */
async function converse(caller: Caller, model: string, streamed: boolean): Promise<string> {
  const asked = { model, tools: [TOOL], streamed };
  const history = caller.begin("Look it up.");
  const { calls, kept } = await caller.ask(gateway, { ...asked, history });
  history.push(
    ...kept,
    ...caller.results(
      calls,
      calls.map(() => "found"),
    ),
  );
  const { text } = await caller.ask(gateway, { ...asked, history });
  return text;
}

async function lastRow(): Promise<Json> {
  await gateway.settled();
  return (await gateway.admin("GET", "/requests?limit=1")).json.data[0];
}

for (const [name, model, answer] of SENTENCES)
  describe(name, () => {
    for (const caller of CALLERS)
      for (const streamed of [false, true])
        test(`${caller.name}, ${streamed ? "streamed" : "plain"}: answered by the second call`, async () => {
          let sent = 0;
          refuse = (_vendor, body) => {
            sent += 1;
            if (!isSigned(body)) return undefined;
            refused += 1;
            return answer;
          };
          expect(await converse(caller, model, streamed)).toBe("It is done.");
          // A client that gives no signature back has none refused.
          expect([refused <= 1, sent]).toEqual([true, 2 + refused]);
          const row = await lastRow();
          expect([row.outcome, row.attempts.map(({ status }: Json) => status)]).toEqual([
            "completed",
            refused === 1 ? [400, 200] : [200],
          ]);
          expect(isSigned(vendors.received.at(-1)?.body)).toBe(false);
          seen.add(`${name} ${caller.name} ${refused}`);
        });
  });

/** Which clients' signatures came to be refused. */
const seen = new Set<string>();

test("each vendor has refused what its own format's client gave back", () => {
  for (const who of [
    "Anthropic messages",
    "Gemini generateContent",
    "Vertex generateContent",
    "OpenAI Responses",
  ])
    expect([...seen].filter((one) => one.startsWith(who) && one.endsWith("1"))).toHaveLength(1);
});

const THOUGHT = { type: "thinking", thinking: "Hm.", signature: signatureOf(0) };
const CONVERSATION: readonly Json[] = [
  { role: "user", content: "Hi" },
  { role: "assistant", content: [THOUGHT, { type: "text", text: "Yo" }] },
  { role: "user", content: "And?" },
];
const askClaude = (more: Json = {}): Promise<Response> =>
  gateway.post("/api/v1/messages", {
    model: "anthropic/claude-haiku-4.5",
    max_tokens: 100,
    messages: CONVERSATION,
    ...more,
  });

describe("a request with signatures", () => {
  const [[, , answer]] = SENTENCES as [(typeof SENTENCES)[number]];

  test("is told what was left out", async () => {
    refuse = (_vendor, body) => (isSigned(body) ? answer : undefined);
    const response = await askClaude();
    expect([response.status, response.headers.get("warning")]).toEqual([
      200,
      expect.stringContaining("what earlier answers were signed with was left out"),
    ]);
  });

  test("that is refused without them, too, is told so and is not sent again", async () => {
    refuse = () => {
      refused += 1;
      return answer;
    };
    const response = await askClaude();
    expect([response.status, ((await response.json()) as Json).error.type, refused]).toEqual([
      400,
      "invalid_request_error",
      2,
    ]);
    expect((await lastRow()).credit).toBe(0);
  });

  test("that is refused for anything else is not sent again", async () => {
    refuse = () => {
      refused += 1;
      return jsonAnswer(400, {
        error: { type: "invalid_request_error", message: "messages.1: too odd, says a `signature`" },
      });
    };
    expect([(await askClaude()).status, refused]).toEqual([400, 1]);
  });

  test("without any signature there is nothing to leave out: the refusal is told", async () => {
    refuse = () => {
      refused += 1;
      return answer;
    };
    const response = await askClaude({ messages: [{ role: "user", content: "Hi" }] });
    expect([response.status, refused]).toEqual([400, 1]);
  });

  test("takes none of them to another provider of its format", async () => {
    const sent: Json[] = [];
    refuse = (_vendor, body) => {
      sent.push(body);
      return sent.length === 1 ? jsonAnswer(529, { error: { type: "overloaded_error" } }) : undefined;
    };
    const response = await askClaude({ models: ["elsewhere/claude"] });
    expect([response.status, ((await response.json()) as Json).model]).toEqual([200, "elsewhere/claude"]);
    expect(sent.map(isSigned)).toEqual([true, false]);
    expect(sent[1].messages).toEqual([
      CONVERSATION[0],
      { role: "assistant", content: [{ type: "text", text: "Yo" }] },
      CONVERSATION[2],
    ]);
  });
});
