import { cancelScript, curl, type Example, type ExampleFacts, pollScript, RED_IMAGE } from "./example.ts";

const CLIENT = `import { writeFileSync } from "node:fs";
import OpenAI from "openai";

const client = new OpenAI({ baseURL: \`\${process.env.BASE_URL}/api/v1\`, apiKey: process.env.API_KEY });`;

const PATH = "/api/v1/images/generations";
const GIVEN = `data:image/png;base64,${RED_IMAGE}`;

/** Examples of requests for images, by curl and by the SDK `openai`. */
export function imageExamples(model: ExampleFacts): readonly Example[] {
  const needsImage = model.media?.parameters.image?.required === true;
  const body = {
    model: model.id,
    prompt: needsImage ? "Put a white lighthouse before it." : "A lighthouse by day.",
    ...(needsImage ? { image: [GIVEN] } : {}),
  };
  return [
    {
      title: "Images, by curl",
      language: "sh",
      code: curl(PATH, body),
      prints: '{…"data":[{…"url":"http…"…}…]…"credit":N…}',
    },
    {
      title: "A task that is polled, by curl",
      language: "sh",
      code: pollScript(PATH, { ...body, async: true }),
      prints: '{…"status":"completed"…"data":[{…"url":"http…"…}…]…"credit":N…}',
    },
    {
      title: "A task that is cancelled before it has begun, by curl",
      language: "sh",
      code: cancelScript(PATH, { ...body, async: true }),
      prints: '{"id":"img_…"…"status":"cancelled"}',
    },
    ...(needsImage ? [] : [fileExample(model)]),
    ...(model.media?.parameters.image === undefined ? [] : [givenExample(model)]),
  ];
}

function fileExample({ id }: ExampleFacts): Example {
  return {
    title: "Images as files, by the SDK",
    language: "js",
    code: `${CLIENT}

const result = await client.images.generate({
  model: "${id}",
  prompt: "A lighthouse by day.",
  response_format: "b64_json", // beside the links, which every answer has
});
for (const [i, { b64_json }] of result.data.entries())
  writeFileSync(\`image-\${i}.png\`, Buffer.from(b64_json, "base64"));
console.log("wrote", result.data.length, "for", result.credit);`,
    prints: "wrote N for N",
  };
}

function givenExample({ id }: ExampleFacts): Example {
  return {
    title: "A given image, by the SDK",
    language: "js",
    code: `${CLIENT}

const png = "${RED_IMAGE}";
writeFileSync("red.png", Buffer.from(png, "base64"));
const result = await client.images.generate({
  model: "${id}",
  prompt: "Put a white lighthouse before it.",
  image: [\`data:image/png;base64,\${png}\`], // or a link
});
console.log(result.data[0].url);
console.log("credit:", result.credit);`,
    prints: "http…\ncredit: N",
  };
}
