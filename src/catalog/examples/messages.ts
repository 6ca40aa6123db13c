import { curl, type Example, type ExampleFacts, RED_SQUARE } from "./example.ts";

const CLIENT = `import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ baseURL: \`\${process.env.BASE_URL}/api\`, apiKey: process.env.API_KEY });`;

const SAY_HELLO = [{ role: "user", content: "Say hello." }];

/** Examples of messages, by curl and by the SDK \`@anthropic-ai/sdk\`. */
export function messagesExamples(model: ExampleFacts): readonly Example[] {
  return [
    ...plainExamples(model),
    ...streamExamples(model),
    toolExample(model),
    ...(model.inputModalities.includes("image") ? [imageInExample(model)] : []),
  ];
}

/** Enough for the examples, and within what the model gives. */
function maxTokens({ maxOutput }: ExampleFacts): number {
  return Math.min(2_048, maxOutput ?? 2_048);
}

function plainExamples(model: ExampleFacts): readonly Example[] {
  return [
    {
      title: "An answer, by curl",
      language: "sh",
      code: curl("/api/v1/messages", { model: model.id, max_tokens: maxTokens(model), messages: SAY_HELLO }),
      prints: '{…"content":[…{"type":"text","text":"…"…}]…"usage":{…}…"credit":N}',
    },
    {
      title: "An answer, by the SDK",
      language: "js",
      code: `${CLIENT}

const message = await client.messages.create({
  model: "${model.id}",
  max_tokens: ${maxTokens(model)},
  messages: [{ role: "user", content: "Say hello." }],
});
for (const block of message.content) if (block.type === "text") console.log(block.text);
console.log("credit:", message.credit);`,
      prints: "…\ncredit: N",
    },
  ];
}

function streamExamples(model: ExampleFacts): readonly Example[] {
  return [
    {
      title: "A stream, by curl",
      language: "sh",
      code: curl(
        "/api/v1/messages",
        { model: model.id, max_tokens: maxTokens(model), messages: SAY_HELLO, stream: true },
        true,
      ),
      prints: `event: message_start
data: {…}
…
event: message_delta
data: {…"usage":{…}…}

event: credit
data: {"type":"ping","credit":N}

event: message_stop
data: {"type":"message_stop"}`,
    },
    {
      title: "A stream, by the SDK",
      language: "js",
      code: `${CLIENT}

const stream = await client.messages.create({
  model: "${model.id}",
  max_tokens: ${maxTokens(model)},
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
  ];
}

function toolExample(model: ExampleFacts): Example {
  return {
    title: "A tool, called and answered, by the SDK",
    language: "js",
    code: `${CLIENT}

const tools = [
  {
    name: "temperature_in",
    description: "The temperature in a city now, in degrees Celsius",
    input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
];
const messages = [{ role: "user", content: "How warm is it in Oslo? Use the tool." }];
for (;;) {
  const message = await client.messages.create({
    model: "${model.id}",
    max_tokens: ${maxTokens(model)},
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
    prints: "called: temperature_in …\n…",
  };
}

function imageInExample(model: ExampleFacts): Example {
  return {
    title: "An image in, by the SDK",
    language: "js",
    code: `${CLIENT}

const png = "${RED_SQUARE}";
const message = await client.messages.create({
  model: "${model.id}",
  max_tokens: ${maxTokens(model)},
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
    prints: "…",
  };
}
