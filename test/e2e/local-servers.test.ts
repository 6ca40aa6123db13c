import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { startGateway, streamEvents, type Json, type TestGateway } from "../gateway/gateway.ts";
import { jsonAnswer, sseAnswer, type Answer } from "../upstream/answer.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import type { SeenRequest } from "../upstream/seen-request.ts";
import { strictChatCompletions } from "../upstream/strict.ts";
import { STRICT, type StrictProfile } from "../upstream/strict-profiles.ts";

// The settings of the documentation, as they stand there. Only the addresses are those of the double, which answers as
// each kind of server does and refuses what it refuses.

const docs = readFileSync(join(import.meta.dirname, "../../docs/configuration.md"), "utf8");
const snippet = [...docs.matchAll(/```yaml\n([\s\S]*?)```/g)]
  .map((match) => match[1] ?? "")
  .find((text) => text.includes("like: lm-studio"));

interface Server {
  readonly name: string;
  readonly model: string;
  readonly upstreamId: string;
  readonly profile: StrictProfile;
  /** Members of the answer as this server writes them. */
  readonly message: object;
  readonly deltas: readonly object[];
}

const CALL = { name: "weather", arguments: '{"city":"Oslo"}' };
const whole = (id: string, more: object = {}) => [{ id, type: "function", function: CALL, ...more }];

const SERVERS: readonly Server[] = [
  {
    name: "Ollama: reasoning in `reasoning`, calls whole in one chunk, a finish of stop beside them",
    model: "ollama/qwen3",
    upstreamId: "qwen3:8b",
    profile: STRICT.local,
    message: { role: "assistant", content: "", reasoning: "Hm.", tool_calls: whole("call_x", { index: 0 }) },
    deltas: [
      { role: "assistant", content: "", reasoning: "Hm." },
      { role: "assistant", content: "", tool_calls: whole("call_x", { index: 0 }) },
      { role: "assistant", content: "" },
    ],
  },
  {
    name: "vLLM: reasoning_content, and calls without a type in their fragments",
    model: "vllm/qwen3",
    upstreamId: "Qwen/Qwen3-8B",
    profile: STRICT.local,
    message: {
      role: "assistant",
      content: null,
      reasoning_content: "Hm.",
      tool_calls: whole("chatcmpl-tool-1"),
    },
    deltas: [
      { role: "assistant", content: "" },
      { reasoning_content: "Hm." },
      { tool_calls: [{ index: 0, id: "chatcmpl-tool-1", function: { name: "weather" } }] },
      { tool_calls: [{ index: 0, function: { arguments: CALL.arguments } }] },
      { content: "" },
    ],
  },
  {
    name: "llama.cpp: null content in the first chunk, and an empty finish",
    model: "llama-cpp/local",
    upstreamId: "default",
    profile: STRICT.local,
    message: { role: "assistant", content: null, reasoning_content: "Hm.", tool_calls: whole("abc") },
    deltas: [
      { role: "assistant", content: null },
      { reasoning_content: "Hm." },
      { tool_calls: whole("abc", { index: 0 }) },
      {},
    ],
  },
  {
    name: "LM Studio: calls whose first fragments have empty names beside them",
    model: "lm-studio/local",
    upstreamId: "qwen3-8b",
    profile: STRICT["lm-studio"],
    message: { role: "assistant", content: "", reasoning_content: "Hm.", tool_calls: whole("365174485") },
    deltas: [
      { role: "assistant", reasoning_content: "Hm." },
      {
        role: "assistant",
        tool_calls: [
          { index: 0, id: "365174485", type: "function", function: { name: "weather", arguments: "" } },
        ],
      },
      {
        role: "assistant",
        tool_calls: [{ index: 0, type: "function", function: { name: "", arguments: CALL.arguments } }],
      },
      {},
    ],
  },
];

const USAGE = { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 };

function answerOf({ message, deltas, upstreamId }: Server, request: SeenRequest): Answer {
  const asked = request.json() as Json;
  const head = { id: "chatcmpl-1", created: 1, model: upstreamId };
  if (asked.stream !== true) {
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    return jsonAnswer(200, { ...head, object: "chat.completion", choices, usage: USAGE });
  }
  const chunks = deltas.map((delta, i) => {
    const choice = { index: 0, delta, finish_reason: i === deltas.length - 1 ? "stop" : null };
    return { ...head, object: "chat.completion.chunk", choices: [choice] };
  });
  const told = asked.stream_options?.include_usage === true;
  const last = { ...head, object: "chat.completion.chunk", choices: [], usage: USAGE };
  const lines = [...chunks, ...(told ? [last] : [])].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
  return sseAnswer(`${lines.join("")}data: [DONE]\n\n`);
}

let double: UpstreamDouble;
let gateway: TestGateway;

beforeAll(async () => {
  double = await startUpstreamDouble();
  if (snippet === undefined) throw new Error("The documentation has no settings of local servers.");
  gateway = await startGateway({
    settings: snippet.replace(/http:\/\/127\.0\.0\.1:\d+\/v1/g, `${double.url}/v1`),
  });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});

const REQUEST = {
  messages: [
    { role: "developer", content: "Be short." },
    { role: "user", content: "Weather?" },
    {
      role: "assistant",
      content: "Cold.",
      refusal: null,
      reasoning_details: [{ type: "thinking", thinking: "a", signature: "s" }],
    },
    { role: "user", content: "And in Oslo?" },
  ],
  tools: [{ type: "function", function: { name: "weather", parameters: { type: "object" } } }],
  tool_choice: "required",
  reasoning: { effort: "low" },
  user: "u1",
  seed: 7,
};

for (const server of SERVERS) {
  describe(server.name, () => {
    const ask = (body: object) => {
      // Servers of one's own need no key; the double wants one.
      const strict = strictChatCompletions(server.profile);
      double.reset();
      double.handle((request) => {
        const refused = strict({
          ...request,
          header: (name) => (name === "authorization" ? "Bearer k" : request.header(name)),
        });
        return refused ?? answerOf(server, request);
      });
      return gateway.chat({ model: server.model, ...body });
    };

    test("plain: an awkward request is taken, and the call arrives", async () => {
      const response = await ask(REQUEST);
      const json: Json = await response.json();
      expect([response.status, json.error]).toEqual([200, undefined]);
      const [choice] = json.choices;
      expect(choice.finish_reason).toBe("tool_calls");
      expect(choice.message.tool_calls[0]).toMatchObject({ type: "function", function: CALL });
      expect(choice.message.reasoning_content ?? choice.message.reasoning).toBe("Hm.");
      expect([json.usage, json.credit]).toEqual([USAGE, 0]);
      const sent = double.requests[0]?.json() as Json;
      expect([sent.model, sent.messages[0].role]).toEqual([server.upstreamId, "system"]);
      expect(sent.messages[2]).not.toHaveProperty("reasoning_details");
    });

    test("streamed: the call arrives once and whole, and usage once", async () => {
      const response = await ask({ ...REQUEST, stream: true });
      expect(response.status).toBe(200);
      const events = streamEvents(await response.text());
      const fragments = events.flatMap((event) => event.choices?.[0]?.delta?.tool_calls ?? []);
      expect(fragments.map((fragment) => fragment.function?.arguments ?? "").join("")).toBe(CALL.arguments);
      expect(fragments.filter((fragment) => fragment.id !== undefined).length).toBe(1);
      expect(fragments.filter((fragment) => fragment.function?.name !== undefined).length).toBe(1);
      const reasons = events
        .map((event) => event.choices?.[0]?.finish_reason)
        .filter((reason) => typeof reason === "string");
      expect(reasons).toEqual(["tool_calls"]);
      expect(events.at(-2)).toMatchObject({ usage: USAGE, credit: 0 });
    });
  });
}

test("LM Studio cannot be asked for json_object, nor for a tool by name: a 400 that says so", async () => {
  for (const [body, param] of [
    [{ response_format: { type: "json_object" } }, "response_format"],
    [
      { tools: REQUEST.tools, tool_choice: { type: "function", function: { name: "weather" } } },
      "tool_choice",
    ],
  ] as const) {
    const response = await gateway.chat({
      model: "lm-studio/local",
      messages: [REQUEST.messages[1]],
      ...body,
    });
    expect([response.status, ((await response.json()) as Json).error.param]).toEqual([400, param]);
  }
});
