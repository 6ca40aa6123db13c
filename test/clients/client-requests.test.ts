import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Json, startGateway, streamEvents, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { startStrictVendors, type StrictVendors } from "../upstream/strict-vendors.ts";
import {
  type ClientEndpoint,
  type ClientRequest,
  filledBody,
  recordedClientRequests,
  type Signed,
} from "./client-request.ts";
import { OWN_CLIENT_REQUESTS } from "./own-client-requests.ts";

// What agents and libraries send is served, by the sandbox and by doubles as strict as the vendors.

let vendors: StrictVendors;
const gateways = new Map<string, TestGateway>();
const signatures = new Map<string, Signed>();

/** The models that the recorded requests call `test/…`. */
const settingsFor = (urls: StrictVendors["urls"]): string => `providers:
  test-chat:
    base_url: ${urls.dashscope}
    api_key: ${UPSTREAM_KEY}
    models: [{ id: test/chat, upstream_id: qwen3.7-max, prices: { input: 1, output: 2 } }]
  test-claude:
    protocol: messages
    base_url: ${urls.anthropic}
    api_key: ${UPSTREAM_KEY}
    models: [{ id: test/claude, upstream_id: claude-opus-5-5, prices: { input: 1, output: 2 } }]
  test-gemini:
    protocol: generate_content
    base_url: ${urls.google}
    api_key: ${UPSTREAM_KEY}
    models: [{ id: test/gemini, upstream_id: gemini-3.8-flash, prices: { input: 1, output: 2 } }]
`;

const SERVERS = ["the sandbox", "strict vendors"] as const;

beforeAll(async () => {
  vendors = await startStrictVendors();
  const settings = settingsFor(vendors.urls);
  const sandbox = await startGateway({ settings, environment: { SWITCHYARD_SANDBOX: "on" } });
  gateways.set("the sandbox", sandbox);
  gateways.set("strict vendors", await startGateway({ settings, environment: vendors.environment }));
  signatures.set("the sandbox", await signedBy(sandbox));
  signatures.set("strict vendors", {
    thinking: { thinking: "Hm.", signature: "EqQBCgIYAhIM" },
    thoughtSignature: "EsQBCsEBAdHtim9z",
  });
});
afterAll(async () => {
  for (const gateway of gateways.values()) await gateway.close();
  await vendors.close();
});

/** Thinking and a signature of this gateway's sandbox, which takes no other. */
async function signedBy(gateway: TestGateway): Promise<Signed> {
  const claude = await gateway.post("/api/v1/messages", {
    model: "anthropic/claude-opus-5.5",
    max_tokens: 1_000,
    thinking: { type: "adaptive" },
    messages: [{ role: "user", content: "hi" }],
  });
  const [{ thinking, signature }] = ((await claude.json()) as Json).content;
  const gemini = await gateway.post("/api/v1/models/google/gemini-3.8-flash:generateContent", {
    contents: [{ role: "user", parts: [{ text: "hi" }] }],
    generationConfig: { thinkingConfig: { includeThoughts: true } },
  });
  const { parts } = ((await gemini.json()) as Json).candidates[0].content;
  return { thinking: { thinking, signature }, thoughtSignature: parts.at(-1).thoughtSignature };
}

/** How a whole answer looks, plain and streamed; throws what is missing of it. */
const JUDGES: Readonly<Record<ClientEndpoint, (body: Json, text: string) => void>> = {
  "chat-completions": ({ stream }, text) => {
    if (stream !== true) return expectChat(JSON.parse(text));
    const events = streamEvents(text);
    expect(events.at(-1)).toBe("[DONE]");
    const chunks = events.slice(0, -1);
    const reasons = chunks.flatMap(({ choices }) => choices.map((choice: Json) => choice.finish_reason));
    expect(reasons.filter((reason) => reason !== null)).toEqual([
      expect.stringMatching(/^(stop|tool_calls)$/),
    ]);
    expect(chunks.at(-1).credit).toBeNumber();
    expect(chunks.at(-1).usage.completion_tokens).toBePositive();
  },
  messages: ({ stream }, text) => {
    if (stream !== true) return expectMessage(JSON.parse(text));
    const types = [...text.matchAll(/^event: (\w+)$/gm)].map(([, type]) => type);
    expect([types[0], types.at(-1)]).toEqual(["message_start", "message_stop"]);
    expect(types).toContain("content_block_delta");
    const { delta, usage, credit } = streamEventsOf(text).find(({ type }) => type === "message_delta");
    expect(delta.stop_reason).toMatch(/^(end_turn|tool_use)$/);
    expect(usage.output_tokens).toBePositive();
    expect(credit).toBeNumber();
  },
  "messages-count_tokens": (_body, text) => expect(JSON.parse(text).input_tokens).toBePositive(),
  generateContent: (_body, text) => expectGemini([JSON.parse(text)]),
  streamGenerateContent: (_body, text) => expectGemini(streamEvents(text)),
  responses({ stream }, text) {
    const events = stream === true ? streamEventsOf(text) : [];
    const { status, output, usage, credit } = stream === true ? events.at(-1).response : JSON.parse(text);
    expect([status, output.at(-1).type]).toEqual([
      "completed",
      expect.stringMatching(/^(message|function_call|custom_tool_call)$/),
    ]);
    expect(usage.output_tokens).toBePositive();
    expect(credit).toBeNumber();
  },
};

function streamEventsOf(text: string): Json[] {
  return [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(data ?? ""));
}

function expectChat({ choices, usage, credit }: Json): void {
  expect(choices.map((choice: Json) => choice.finish_reason)).toEqual(["stop"]);
  expect(choices[0].message.content).not.toBeEmpty();
  expect(usage.completion_tokens).toBePositive();
  expect(credit).toBeNumber();
}

function expectMessage({ content, stop_reason: reason, credit }: Json): void {
  expect(content.length).toBePositive();
  // Some ask for one token, to see whether they may.
  expect(reason).toMatch(/^(end_turn|tool_use|max_tokens)$/);
  expect(credit).toBeNumber();
}

function expectGemini(chunks: readonly Json[]): void {
  const parts = chunks.flatMap(({ candidates }) => candidates[0].content.parts);
  expect(
    parts.some(({ text, functionCall }: Json) => (text ?? "") !== "" || functionCall !== undefined),
  ).toBe(true);
  const last = chunks.at(-1);
  expect(last.candidates[0].finishReason).toBe("STOP");
  expect(last.usageMetadata.totalTokenCount).toBePositive();
  expect(last.credit).toBeNumber();
}

/** `served`; throws anything else. */
async function outcomeOf(server: string, request: ClientRequest): Promise<"served"> {
  const gateway = gateways.get(server)!;
  const filled = filledBody(request.body, signatures.get(server)!);
  // The double of OpenAI speaks chat completions: what is relayed to it in Responses is translated for Claude instead.
  const isRelayed = request.endpoint === "responses" && server === "strict vendors";
  const body = isRelayed ? { ...filled, model: "test/claude" } : filled;
  const response = await gateway.post(request.path, body, { headers: sentHeaders(request) });
  const text = await response.text();
  expect([response.status, text.slice(0, 500)]).toEqual([200, expect.any(String)]);
  JUDGES[request.endpoint](body, text);
  return "served";
}

/** A length in place of a header's text stands for nothing, and the client's transport has its own. */
function sentHeaders({ headers }: ClientRequest): Record<string, string> {
  const own = Object.entries(headers).filter(
    ([name, value]) => name !== "accept-encoding" && !value.startsWith("…"),
  );
  return Object.fromEntries(own);
}

/** Requests by client and endpoint, and by how they came out. */
const table = new Map<string, Map<string, number>>();

function note({ client, endpoint }: ClientRequest, outcome: string): void {
  const row = table.get(`${client} × ${endpoint}`) ?? new Map<string, number>();
  table.set(`${client} × ${endpoint}`, row.set(outcome, (row.get(outcome) ?? 0) + 1));
}

const recorded = recordedClientRequests();
if (recorded.length === 0) console.log("recorded requests of clients are skipped: there are none here");

describe.each([...SERVERS])("by %s", (server) => {
  for (const request of [...recorded, ...OWN_CLIENT_REQUESTS])
    test(request.name, async () => note(request, `${await outcomeOf(server, request)} by ${server}`));
});

afterAll(() => {
  const lines = [...table].map(([row, outcomes]) => {
    const counts = [...outcomes].map(([outcome, count]) => `${count} ${outcome}`);
    return `  ${row.padEnd(70)}${counts.join(", ")}`;
  });
  console.log(["Requests of clients, by client and endpoint:", ...lines].join("\n"));
});
