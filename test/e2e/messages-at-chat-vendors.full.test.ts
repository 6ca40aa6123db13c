import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { chatAnswer, chatStreamAnswer } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { strictChatCompletions } from "../upstream/strict.ts";
import { STRICT, type StrictProfile } from "../upstream/strict-profiles.ts";

// What coding agents send in messages, to every vendor that speaks chat completions, through the gateway. A double that
// refuses what the vendor refuses must refuse none of it.

interface Vendor {
  readonly id: string;
  readonly key: string;
  readonly model: string;
  readonly profile: StrictProfile;
  /** Where the model is no part of the catalogue. */
  readonly upstreamId?: string;
  /** It wants its reasoning back. */
  readonly wantsBack?: true;
}

const VENDORS: readonly Vendor[] = [
  { id: "openai", key: "OPENAI", model: "openai/gpt-5.6-luna", profile: STRICT.openai },
  { id: "xai", key: "XAI", model: "xai/grok-4.7", profile: STRICT.xai },
  {
    id: "deepseek",
    key: "DEEPSEEK",
    model: "deepseek/deepseek-v4-pro",
    profile: STRICT.deepseek,
    wantsBack: true,
  },
  {
    id: "dashscope",
    key: "DASHSCOPE",
    model: "alibaba/qwen3.7-max",
    profile: STRICT.dashscope,
    wantsBack: true,
  },
  { id: "moonshot", key: "MOONSHOT", model: "moonshotai/kimi-k3", profile: STRICT.moonshot, wantsBack: true },
  { id: "zai", key: "ZAI", model: "zhipu/glm-5.2", profile: STRICT.zhipu, wantsBack: true },
  {
    id: "mistral",
    key: "MISTRAL",
    model: "mistral/large",
    upstreamId: "mistral-large-2512",
    profile: STRICT.mistral,
  },
  { id: "groq", key: "GROQ", model: "groq/gpt-oss", upstreamId: "openai/gpt-oss-120b", profile: STRICT.groq },
];

let double: UpstreamDouble;
const gateways = new Map<string, TestGateway>();

beforeAll(async () => {
  double = await startUpstreamDouble();
  for (const { id, key, model, upstreamId } of VENDORS) {
    const listed = `{ id: ${model}, upstream_id: ${upstreamId}, input_modalities: [text, image], prices: { input: 1, output: 2 } }`;
    gateways.set(
      id,
      await startGateway({
        settings: upstreamId === undefined ? "" : `providers:\n  ${id}:\n    models:\n      - ${listed}\n`,
        environment: { [`${key}_API_KEY`]: UPSTREAM_KEY, [`${key}_BASE_URL`]: `${double.url}/v1` },
      }),
    );
  }
});
afterAll(async () => {
  for (const gateway of gateways.values()) await gateway.close();
  await double.close();
});
beforeEach(() => double.reset());

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const image = { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } };
const mark = { cache_control: { type: "ephemeral", ttl: "1h" } };
const tools = [
  {
    name: "Bash",
    description: "Runs.",
    input_schema: { type: "object", properties: { a: { type: "string" } } },
    ...mark,
  },
  { name: "Read", input_schema: { type: "object", properties: {} } },
];
const uses = [
  { type: "tool_use", id: "toolu_01AbCdEfGhIjKlMnOpQrStUvWx", name: "Bash", input: { a: "ls" } },
  { type: "tool_use", id: "toolu_01ZzCdEfGhIjKlMnOpQrStUvWx", name: "Read", input: {} },
];
const result = (i: number, content: Json, more: object = {}) => ({
  type: "tool_result",
  tool_use_id: uses[i]?.id,
  content,
  ...more,
});

/** An agent's session: a system prompt in blocks, marks, two calls at once, an error, and the user's words beside results. */
const SESSION = {
  max_tokens: 1_000,
  system: [
    { type: "text", text: "You are an agent." },
    { type: "text", text: "Be brief.", ...mark },
  ],
  tools,
  metadata: { user_id: `user_${"0".repeat(64)}_account_x_session_y` },
  messages: [
    { role: "user", content: [{ type: "text", text: "Go." }] },
    { role: "assistant", content: [{ type: "text", text: "Looking." }, ...uses] },
    {
      role: "user",
      content: [
        { type: "text", text: "Quick!" },
        result(1, "not found", { is_error: true }),
        result(0, [{ type: "text", text: "a.txt" }]),
      ],
    },
  ],
};

async function ask({ id, model, profile }: Vendor, body: Json) {
  const strict = strictChatCompletions({ ...profile, keys: [UPSTREAM_KEY] });
  const reasoning = ["I ", "think."];
  const toolCalls = [{ id: "call_1", name: "Bash", arguments: ['{"a":', '"ls"}'] }];
  const said = { reasoning, words: ["Done", "."], toolCalls };
  double.handle(
    (request) =>
      strict(request) ??
      ((request.json() as Json).stream === true ? chatStreamAnswer(said) : chatAnswer(said)),
  );
  const gateway = gateways.get(id) as TestGateway;
  const response = await fetch(`${gateway.url}/api/v1/messages`, {
    method: "POST",
    headers: {
      "x-api-key": gateway.key,
      "anthropic-version": "2023-06-01",
      "content-type": "application/json",
    },
    body: JSON.stringify({ model, ...body }),
  });
  const text = await response.text();
  const sent: Json = double.requests.at(-1)?.json();
  return { status: response.status, text, sent, warning: response.headers.get("warning") ?? "" };
}

for (const vendor of VENDORS) {
  describe(`a caller of messages at ${vendor.id}`, () => {
    test("an agent's session keeps its order, its calls with their results, and its errors", async () => {
      const { status, text, sent } = await ask(vendor, SESSION);
      expect([status, status === 200 ? "" : text]).toEqual([200, ""]);
      const roles = sent.messages.map(({ role }: Json) => role).join(" ");
      expect(roles).toBe("system user assistant tool tool user");
      const [system, , answer, first, second, last] = sent.messages;
      expect(system.content).toBe("You are an agent.\n\nBe brief.");
      expect(answer.tool_calls.map((call: Json) => [call.function.name, call.function.arguments])).toEqual([
        ["Bash", '{"a":"ls"}'],
        ["Read", "{}"],
      ]);
      const ids = answer.tool_calls.map((call: Json) => call.id);
      expect(new Set(ids).size).toBe(2);
      expect([first, second].map(({ tool_call_id: of, content }) => [of, content])).toEqual([
        [ids[0], "a.txt"],
        [ids[1], "Error: not found"],
      ]);
      expect(last.content).toBe("Quick!");
      expect(JSON.stringify(sent)).not.toContain("cache_control");
      expect(JSON.parse(text).content.map(({ type }: Json) => type)).toEqual([
        "thinking",
        "text",
        "tool_use",
      ]);
    });

    test("the same is streamed, and ends as it should", async () => {
      const { status, text } = await ask(vendor, { ...SESSION, stream: true });
      expect(status).toBe(200);
      const types = [...text.matchAll(/^event: (\w+)$/gm)].map(([, type]) => type);
      expect(types.filter((type) => type === "content_block_start")).toHaveLength(3);
      expect([types[0], types.filter((type) => type === "message_start").length, types.at(-1)]).toEqual([
        "message_start",
        1,
        "message_stop",
      ]);
      expect(text).toContain('"stop_reason":"tool_use"');
    });

    test("its own thinking goes back where it is wanted, and nowhere as a text", async () => {
      const before = JSON.parse((await ask(vendor, SESSION)).text);
      const { status, sent } = await ask(vendor, {
        ...SESSION,
        messages: [
          { role: "user", content: "Go." },
          { role: "assistant", content: before.content },
          {
            role: "user",
            content: [{ type: "tool_result", tool_use_id: before.content[2].id, content: "ok" }],
          },
        ],
      });
      expect(status).toBe(200);
      const answer = sent.messages.find(({ role }: Json) => role === "assistant");
      expect(answer.reasoning_content).toBe(vendor.wantsBack ? "I think." : undefined);
      expect(answer.content).toBe("Done.");
    });

    test("thinking is switched off or measured, tools are chosen, the answer has a form, or a 400 of ours names the field", async () => {
      const wishes: readonly Json[] = [
        { thinking: { type: "disabled" } },
        { thinking: { type: "enabled", budget_tokens: 1_024 }, max_tokens: 3_000 },
        { thinking: { type: "adaptive" }, output_config: { effort: "high" } },
        { tool_choice: { type: "any" } },
        { tool_choice: { type: "tool", name: "Bash", disable_parallel_tool_use: true } },
        { tool_choice: { type: "none" } },
        { tool_choice: { type: "auto", disable_parallel_tool_use: true } },
        { output_config: { format: { type: "json_schema", schema: { type: "object", properties: {} } } } },
        { temperature: 0.5, top_k: 5, stop_sequences: ["x"] },
        { messages: [{ role: "user", content: [{ type: "text", text: "See." }, image] }] },
        {
          messages: [
            ...SESSION.messages.slice(0, 2),
            { role: "user", content: [result(0, [image]), result(1, "x")] },
          ],
        },
      ];
      for (const wish of wishes)
        for (const stream of [false, true]) {
          const { status, text } = await ask(vendor, { ...SESSION, ...wish, stream });
          const named = status === 400 && /\b(tool_choice|output_config|messages)\b/.test(text);
          expect([wish, status === 200 || named ? "" : text]).toEqual([wish, ""]);
          expect(text).not.toMatch(/response_format|reasoning_effort|tool_call_id/);
        }
    });
  });
}
