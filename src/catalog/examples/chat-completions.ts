import type { LanguagePrograms } from "./example.ts";

/** Chat completions, by curl and by the SDK `openai`. */
export const CHAT_PROGRAMS: LanguagePrograms = {
  client: `import OpenAI from "openai";

const client = new OpenAI({ baseURL: \`\${process.env.BASE_URL}/api/v1\`, apiKey: process.env.API_KEY });`,
  hello: ({ id }) => ({ model: id, messages: [{ role: "user", content: "Say hello." }] }),
  answer: {
    curlPrints: '{…"choices":[{…"message":{…"content":"…"…}…}]…"usage":{…}…"credit":N}',
    code: `const completion = await client.chat.completions.create({
  model: "{{model}}",
  messages: [{ role: "user", content: "Say hello." }],
});
console.log(completion.choices[0].message.content);
console.log("credit:", completion.credit);`,
    prints: "…\ncredit: N",
  },
  stream: {
    curlPrints: `data: {…"choices":[{…"delta":{…"content":"…"}…}]…}
…
data: {…"choices":[]…"usage":{…}…}

data: {…"choices":[]…"usage":{…}…"credit":N}

data: [DONE]`,
    code: `const stream = await client.chat.completions.create({
  model: "{{model}}",
  messages: [{ role: "user", content: "Say hello." }],
  stream: true,
});
let credit;
for await (const chunk of stream) {
  process.stdout.write(chunk.choices[0]?.delta?.content ?? "");
  credit = chunk.credit ?? credit;
}
console.log("\\ncredit:", credit);`,
    prints: "…\ncredit: N",
  },
  tool: `const tools = [
  {
    type: "function",
    function: {
      name: "temperature_in",
      description: "The temperature in a city now, in degrees Celsius",
      parameters: {
        type: "object",
        properties: { city: { type: "string" } },
        required: ["city"],
      },
    },
  },
];
const messages = [{ role: "user", content: "How warm is it in Oslo? Use the tool." }];
for (;;) {
  const completion = await client.chat.completions.create({ model: "{{model}}", messages, tools });
  const { message } = completion.choices[0];
  messages.push(message); // whole and unchanged: what it holds besides text is needed in the next turn
  if (!message.tool_calls?.length) {
    console.log(message.content);
    break;
  }
  for (const call of message.tool_calls) {
    const { city } = JSON.parse(call.function.arguments);
    console.log("called:", call.function.name, city);
    messages.push({ role: "tool", tool_call_id: call.id, content: JSON.stringify({ celsius: 3 }) });
  }
}`,
  imageIn: `const completion = await client.chat.completions.create({
  model: "{{model}}",
  messages: [
    {
      role: "user",
      content: [
        { type: "text", text: "Which colour is this?" },
        { type: "image_url", image_url: { url: \`data:image/png;base64,\${png}\` } },
      ],
    },
  ],
});
console.log(completion.choices[0].message.content);`,
  imageOut: {
    code: `const messages = [{ role: "user", content: "Draw a lighthouse by day." }];
const draw = async (file) => {
  const completion = await client.chat.completions.create({
    model: "{{model}}",
    messages,
    modalities: ["text", "image"],
  });
  const { message } = completion.choices[0];
  const { url } = message.images[0].image_url; // data:image/png;base64,…
  writeFileSync(file, Buffer.from(url.slice(url.indexOf(",") + 1), "base64"));
  console.log("wrote", file, "for", completion.credit);
  messages.push(message); // its URL goes back byte for byte: it may hold a signature that the next turn needs
};
await draw("day.png");
messages.push({ role: "user", content: "The same by night." });
await draw("night.png");`,
    prints: "wrote day.png for N\nwrote night.png for N",
  },
};
