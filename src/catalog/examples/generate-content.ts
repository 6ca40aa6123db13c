import type { LanguagePrograms } from "./example.ts";

/** generateContent, by curl and by the SDK `@google/genai`. */
export const CONTENT_PROGRAMS: LanguagePrograms = {
  client: `import { GoogleGenAI } from "@google/genai";

const client = new GoogleGenAI({
  apiKey: process.env.API_KEY,
  httpOptions: { baseUrl: \`\${process.env.BASE_URL}/api\`, apiVersion: "v1" },
});`,
  hello: () => ({ contents: [{ role: "user", parts: [{ text: "Say hello." }] }] }),
  answer: {
    curlPrints: '{"candidates":[{…"parts":[…{"text":"…"…}…]…}]…"usageMetadata":{…}…"credit":N}',
    code: `const response = await client.models.generateContent({ model: "{{model}}", contents: "Say hello." });
console.log(response.text);
console.log("tokens:", response.usageMetadata.totalTokenCount);`,
    prints: "…\ntokens: N",
  },
  stream: {
    curlPrints: `data: {"candidates":[{…"parts":[{"text":"…"}]…}]…}

data: {"candidates":[{…"finishReason":"STOP"…}]…"usageMetadata":{…}…"credit":N}`,
    code: `const stream = await client.models.generateContentStream({ model: "{{model}}", contents: "Say hello." });
let usage;
for await (const chunk of stream) {
  process.stdout.write(chunk.text ?? "");
  usage = chunk.usageMetadata ?? usage;
}
console.log("\\ntokens:", usage.totalTokenCount);`,
    prints: "…\ntokens: N",
  },
  tool: `const tools = [
  {
    functionDeclarations: [
      {
        name: "temperature_in",
        description: "The temperature in a city now, in degrees Celsius",
        parametersJsonSchema: {
          type: "object",
          properties: { city: { type: "string" } },
          required: ["city"],
        },
      },
    ],
  },
];
const contents = [{ role: "user", parts: [{ text: "How warm is it in Oslo? Use the tool." }] }];
for (;;) {
  const response = await client.models.generateContent({ model: "{{model}}", contents, config: { tools } });
  const { content } = response.candidates[0];
  contents.push(content); // whole: each part keeps its thoughtSignature
  const calls = content.parts.filter((part) => part.functionCall).map((part) => part.functionCall);
  if (calls.length === 0) {
    console.log(response.text);
    break;
  }
  const parts = calls.map(({ id, name, args }) => {
    console.log("called:", name, args.city);
    return { functionResponse: { id, name, response: { celsius: 3 } } };
  });
  contents.push({ role: "user", parts });
}`,
  imageIn: `const response = await client.models.generateContent({
  model: "{{model}}",
  contents: [
    {
      role: "user",
      parts: [{ inlineData: { mimeType: "image/png", data: png } }, { text: "Which colour is this?" }],
    },
  ],
});
console.log(response.text);`,
  imageOut: {
    code: `const contents = [{ role: "user", parts: [{ text: "Draw a lighthouse by day." }] }];
const draw = async (file) => {
  const response = await client.models.generateContent({
    model: "{{model}}",
    contents,
    config: { responseModalities: ["TEXT", "IMAGE"] },
  });
  const { content } = response.candidates[0];
  const image = content.parts.find((part) => part.inlineData);
  writeFileSync(file, Buffer.from(image.inlineData.data, "base64"));
  console.log("wrote", file);
  contents.push(content); // whole: each part keeps its thoughtSignature
};
await draw("day.png");
contents.push({ role: "user", parts: [{ text: "The same by night." }] });
await draw("night.png");`,
    prints: "wrote day.png\nwrote night.png",
  },
};
