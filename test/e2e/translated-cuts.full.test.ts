import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { FORMAT_CLIENTS, type FormatClient, jsonEvents, streamedBody } from "../gateway/format-clients.ts";
import { jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import { chatStreamEvents } from "../upstream/chat-bytes.ts";
import { eventEnds } from "../upstream/cuts.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { geminiChunks } from "../upstream/gemini-bytes.ts";
import { messageStream } from "../upstream/messages-bytes.ts";
import { sse } from "../upstream/sse-bytes.ts";

// Every format of a client with every format of a provider, whose stream ends after each of its events. No client is
// told that an answer is whole which is not, and each is charged what the answer says.

const EVENTS: readonly Json[] = [
  { type: "response.created", response: { id: "resp_1", status: "in_progress", output: [] } },
  {
    type: "response.output_item.added",
    output_index: 0,
    item: { type: "message", id: "msg_1", role: "assistant", status: "in_progress", content: [] },
  },
  ...["Hello", " there."].map((delta) => ({
    type: "response.output_text.delta",
    item_id: "msg_1",
    output_index: 0,
    content_index: 0,
    delta,
  })),
  {
    type: "response.output_item.done",
    output_index: 0,
    item: {
      type: "message",
      id: "msg_1",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "Hello there.", annotations: [] }],
    },
  },
  {
    type: "response.completed",
    response: {
      id: "resp_1",
      object: "response",
      created_at: 1,
      model: "m",
      status: "completed",
      output: [],
      usage: { input_tokens: 5, output_tokens: 2, total_tokens: 7 },
    },
  },
].map((event, i) => ({ ...event, sequence_number: i }));

/** A stream of each format that says the same. */
const UPSTREAM: Readonly<Record<string, Uint8Array>> = {
  chat_completions: sse(chatStreamEvents({ words: ["Hello", " there."] })),
  messages: messageStream({ blocks: [{ type: "text", text: "Hello there." }] }),
  generate_content: sse(geminiChunks({ parts: ["Hello", " there."] })),
  responses: sse(EVENTS, { eventName: (event) => (event as Json).type }),
};

let double: UpstreamDouble;
let gateway: TestGateway;

beforeAll(async () => {
  double = await startUpstreamDouble({ sleep: async () => undefined });
  const providers = Object.keys(UPSTREAM).map((protocol) => [
    `of-${protocol.replace("_", "-")}`,
    {
      protocol,
      base_url: double.url,
      api_key: UPSTREAM_KEY,
      models: [{ id: `a/${protocol}`, upstream_id: "m", max_output: 8_000, prices: { input: 1, output: 5 } }],
    },
  ]);
  gateway = await startGateway({ settings: JSON.stringify({ providers: Object.fromEntries(providers) }) });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});

/** What a client is told of a stream, and what its account is charged. */
async function told(client: FormatClient, model: string) {
  const { balance } = await gateway.account();
  const response = await gateway.post(client.path(model), streamedBody(client, model));
  const text = await response.text();
  await gateway.settled();
  const events = jsonEvents(text);
  const cost = balance - (await gateway.account()).balance;
  return { status: response.status, events: response.status === 200 ? events : [], cost };
}

const creditIn = (event: Json): unknown =>
  event.credit ?? event.response?.credit ?? event.usageMetadata?.credit ?? event.usage?.credit;

for (const [caller, client] of Object.entries(FORMAT_CLIENTS)) {
  for (const [spoken, bytes] of Object.entries(UPSTREAM)) {
    describe(`a client of ${caller}, a provider of ${spoken}`, () => {
      test("a stream that ends early is never whole, and costs what it says", async () => {
        const ends = eventEnds(bytes);
        for (const end of ends) {
          double.handle(() => sseAnswer(bytes.subarray(0, end)));
          const { status, events, cost } = await told(client, `a/${spoken}`);
          if (status !== 200) {
            expect([end, status, cost]).toEqual([end, 502, 0]);
            continue;
          }
          expect([end, client.isWhole(events)]).toEqual([end, !client.hasFailed(events)]);
          // Chat's finish reason is its end: what follows is usage and a mark.
          if (end === ends[0]) expect(client.isWhole(events)).toBe(false);
          if (end === ends.at(-1)) expect(client.isWhole(events)).toBe(true);
          const credit = events.map(creditIn).findLast((said) => said !== undefined);
          expect(Number(credit)).toBeCloseTo(cost, 6);
        }
      });

      test("a provider's refusal is one of the client's format, and free", async () => {
        const refusal = { error: { message: `Too busy for ${UPSTREAM_KEY}.`, type: "overloaded_error" } };
        double.handle(() => jsonAnswer(529, refusal));
        const { status, cost } = await told(client, `a/${spoken}`);
        expect([status, cost]).toEqual([503, 0]);
      });
    });
  }
}
