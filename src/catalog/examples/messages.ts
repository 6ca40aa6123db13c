import type { ExampleFacts, LanguagePrograms } from "./example.ts";

/** Messages, by curl and by the SDK `@anthropic-ai/sdk`. */
export const MESSAGES_PROGRAMS: LanguagePrograms = {
  words: (model) => ({ most: String(maxTokens(model)), thinking: thinks(model) }),
  toolShows: (model) => (thinks(model) === "" ? "" : ", with thinking"),
  client: `import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ baseURL: \`\${process.env.BASE_URL}/api\`, apiKey: process.env.API_KEY });`,
  hello: (model) => ({
    model: model.id,
    max_tokens: maxTokens(model),
    messages: [{ role: "user", content: "Say hello." }],
  }),
  answer: {
    curlPrints: '{…"content":[…{"type":"text","text":"…"…}]…"usage":{…}…"credit":N}',
    code: `const message = await client.messages.create({
  model: "{{model}}",
  max_tokens: {{most}},
  messages: [{ role: "user", content: "Say hello." }],
});
for (const block of message.content) if (block.type === "text") console.log(block.text);
console.log("credit:", message.credit);`,
    prints: "…\ncredit: N",
  },
  stream: {
    curlPrints: `event: message_start
data: {…}
…
event: message_delta
data: {…"usage":{…}…}

event: credit
data: {"type":"ping","credit":N}

event: message_stop
data: {"type":"message_stop"}`,
    code: `const stream = await client.messages.create({
  model: "{{model}}",
  max_tokens: {{most}},
  messages: [{ role: "user", content: "Say hello." }],
  stream: true,
});
for await (const event of stream) {
  if (event.type === "content_block_delta" && event.delta.type === "text_delta")
    process.stdout.write(event.delta.text);
  if (event.type === "message_delta") console.log("\\ncredit:", event.credit);
}`,
    prints: "…\ncredit: N",
  },
  tool: `const tools = [
  {
    name: "temperature_in",
    description: "The temperature in a city now, in degrees Celsius",
    input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
];
const messages = [{ role: "user", content: "How warm is it in Oslo? Use the tool." }];
for (;;) {
  const message = await client.messages.create({
    model: "{{model}}",
    max_tokens: {{most}},{{thinking}}
    messages,
    tools,
  });
  messages.push({ role: "assistant", content: message.content }); // whole: thinking blocks with their signatures too
  if (message.stop_reason !== "tool_use") {
    for (const block of message.content) if (block.type === "text") console.log(block.text);
    break;
  }
  const results = [];
  for (const block of message.content) {
    if (block.type !== "tool_use") continue;
    console.log("called:", block.name, block.input.city);
    results.push({ type: "tool_result", tool_use_id: block.id, content: JSON.stringify({ celsius: 3 }) });
  }
  messages.push({ role: "user", content: results });
}`,
  imageIn: `const message = await client.messages.create({
  model: "{{model}}",
  max_tokens: {{most}},
  messages: [
    {
      role: "user",
      content: [
        { type: "image", source: { type: "base64", media_type: "image/png", data: png } },
        { type: "text", text: "Which colour is this?" },
      ],
    },
  ],
});
for (const block of message.content) if (block.type === "text") console.log(block.text);`,
};

/** Enough for the examples, and within what the model gives. */
function maxTokens({ maxOutput }: ExampleFacts): number {
  return Math.min(2_048, maxOutput ?? 2_048);
}

/** How the model is asked to think, as a line of a request; nothing where its data does not say. */
function thinks({ thinking }: ExampleFacts): string {
  if (thinking?.style === "adaptive") return '\n    thinking: { type: "adaptive" },';
  return thinking?.style === "budget" ? '\n    thinking: { type: "enabled", budget_tokens: 1024 },' : "";
}
