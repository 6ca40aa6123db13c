import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { type MessageForm, messageAnswer, messageStreamAnswer } from "../upstream/messages-bytes.ts";
import { strictMessages } from "../upstream/strict-messages-format.ts";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";

// The official SDK, unmodified: only its base address and key are set. The upstream is the double, as strict as
// Anthropic is.

const HAIKU = "anthropic/claude-haiku-4.5";
const USAGE = {
  input_tokens: 11,
  output_tokens: 4,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
};
/** 11 × 1 + 4 × 5 USD per million, in credits. */
const CREDIT = 0.31;

let double: UpstreamDouble;
let gateway: TestGateway;
let client: Anthropic;

beforeAll(async () => {
  double = await startUpstreamDouble();
  gateway = await startGateway({ anthropic: double.url });
  client = new Anthropic({ baseURL: `${gateway.url}/api`, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});
beforeEach(() => double.reset());

const strict = strictMessages({
  keys: [UPSTREAM_KEY],
  models: ["claude-haiku-4-5", "claude-sonnet-5-5", "claude-opus-5-5"],
});
const messages = [{ role: "user" as const, content: "Say hello." }];

/** Answers as Anthropic would, plain or streamed as it is asked. */
function answerWith(form: MessageForm): void {
  double.handle((request) => {
    const refused = strict(request);
    if (refused !== undefined) return refused;
    const streamed = (request.json() as { stream?: boolean }).stream === true;
    return streamed ? messageStreamAnswer({ ...form, ping: true }) : messageAnswer(form);
  });
}

const hello: MessageForm = { blocks: [{ type: "text", text: "Hello there." }], usage: USAGE };

for (const [base, more] of [
  ["/api", { apiKey: "key" }],
  ["/api/v1", { apiKey: "key" }],
  ["/api", { authToken: "key" }],
] as const) {
  test(`the SDK with base address ${base} and ${Object.keys(more).join()} gets its answer, plain and streamed`, async () => {
    const credential = "apiKey" in more ? { apiKey: gateway.key } : { authToken: gateway.key, apiKey: null };
    const using = new Anthropic({ baseURL: `${gateway.url}${base}`, maxRetries: 0, ...credential });
    answerWith(hello);
    const plain = await using.messages.create({ model: HAIKU, max_tokens: 50, messages });
    expect(plain.content).toEqual([{ type: "text", text: "Hello there." }] as Json);
    expect(plain).toMatchObject({
      model: HAIKU,
      role: "assistant",
      type: "message",
      stop_reason: "end_turn",
      usage: USAGE,
    });
    expect(plain).toHaveProperty("credit", CREDIT);
    expect(plain._request_id).toStartWith("req_");
    expect(double.requests[0]?.json()).toEqual({ model: "claude-haiku-4-5", max_tokens: 50, messages });
    const final = await using.messages.stream({ model: HAIKU, max_tokens: 50, messages }).finalMessage();
    expect(final).toMatchObject({ model: HAIKU, stop_reason: "end_turn", usage: USAGE });
    expect(final.content).toMatchObject([{ type: "text", text: "Hello there." }]);
  });
}

test("streamed, raw: the official events in their order, and the credit on the delta", async () => {
  answerWith(hello);
  const stream = await client.messages.create({ model: HAIKU, max_tokens: 50, messages, stream: true });
  const types: string[] = [];
  let text = "";
  let credit: unknown;
  for await (const event of stream) {
    types.push(event.type);
    if (event.type === "message_start") expect(event.message.model).toBe(HAIKU);
    if (event.type === "content_block_delta" && event.delta.type === "text_delta") text += event.delta.text;
    if (event.type === "message_delta") credit = (event as Json).credit;
  }
  expect(text).toBe("Hello there.");
  expect(credit).toBe(CREDIT);
  const block = ["content_block_start", ...Array(3).fill("content_block_delta"), "content_block_stop"];
  expect(types).toEqual(["message_start", ...block, "message_delta", "ping", "message_stop"]);
});
