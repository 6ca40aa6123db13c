import type { LanguagePrograms } from "./example.ts";

/** Responses, by curl and by the SDK `openai`. */
export const RESPONSES_PROGRAMS: LanguagePrograms = {
  client: `import OpenAI from "openai";

const client = new OpenAI({ baseURL: \`\${process.env.BASE_URL}/api/v1\`, apiKey: process.env.API_KEY });`,
  hello: ({ id }) => ({ model: id, input: "Say hello." }),
  answer: {
    curlPrints: '{…"output":[…{"type":"output_text"…"text":"…"…}]…"usage":{…}…"credit":N}',
    code: `const response = await client.responses.create({ model: "{{model}}", input: "Say hello." });
console.log(response.output_text);
console.log("credit:", response.credit);`,
    prints: "…\ncredit: N",
  },
  stream: {
    curlPrints: `event: response.created
data: {…}
…
event: response.completed
data: {…"usage":{…}…"credit":N}}`,
    code: `const stream = await client.responses.create({ model: "{{model}}", input: "Say hello.", stream: true });
for await (const event of stream) {
  if (event.type === "response.output_text.delta") process.stdout.write(event.delta);
  if (event.type === "response.completed") console.log("\\ncredit:", event.response.credit);
}`,
    prints: "…\ncredit: N",
  },
  tool: `const tools = [
  {
    type: "function",
    name: "temperature_in",
    description: "The temperature in a city now, in degrees Celsius",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    strict: false,
  },
];
const input = [{ role: "user", content: "How warm is it in Oslo? Use the tool." }];
for (;;) {
  const response = await client.responses.create({ model: "{{model}}", input, tools });
  input.push(...response.output);
  const calls = response.output.filter((item) => item.type === "function_call");
  if (calls.length === 0) {
    console.log(response.output_text);
    break;
  }
  for (const call of calls) {
    console.log("called for", JSON.parse(call.arguments).city);
    input.push({ type: "function_call_output", call_id: call.call_id, output: "4" });
  }
}`,
  imageIn: `const response = await client.responses.create({
  model: "{{model}}",
  input: [
    {
      role: "user",
      content: [
        { type: "input_text", text: "Which colour is this?" },
        { type: "input_image", image_url: \`data:image/png;base64,\${png}\`, detail: "auto" },
      ],
    },
  ],
});
console.log(response.output_text);`,
};
