import { curl, type Example, type ExampleFacts } from "./example.ts";

const CLIENT = `import OpenAI from "openai";

const client = new OpenAI({ baseURL: \`\${process.env.BASE_URL}/api/v1\`, apiKey: process.env.API_KEY });`;

/** Where embeddings are asked for, under the service's origin. */
export const EMBEDDINGS_PATH = "/api/v1/embeddings";

/** Examples of requests for embeddings, by curl and by the SDK `openai`. */
export function embeddingExamples({ id, embedding }: ExampleFacts): readonly Example[] {
  const list = embedding?.otherDimensions;
  const shorter = list === undefined ? undefined : "from" in list ? Math.min(256, list.to) : list[0];
  return [
    {
      title: "A vector, by curl",
      language: "sh",
      code: curl(EMBEDDINGS_PATH, { model: id, input: "A lighthouse by day." }),
      prints: '{…"data":[{…"embedding":[…]…}]…"usage":{…}…"credit":N}',
    },
    {
      title: "Which text is nearest, by the SDK",
      language: "js",
      code: `${CLIENT}

const texts = ["A lighthouse by day.", "A lighthouse by night.", "The price of copper."];
const result = await client.embeddings.create({ model: "${id}", input: texts });
const [first, ...others] = result.data.map(({ embedding }) => embedding);
const likeness = (a, b) => a.reduce((sum, number, i) => sum + number * b[i], 0);
for (const [i, other] of others.entries()) console.log(texts[i + 1], likeness(first, other).toFixed(3));
console.log("credit:", result.credit);`,
      prints: "A lighthouse by night. …\nThe price of copper. …\ncredit: N",
    },
    ...(shorter === undefined
      ? []
      : [
          {
            title: "A shorter vector, by the SDK",
            language: "js",
            code: `${CLIENT}

const result = await client.embeddings.create({
  model: "${id}",
  input: "A lighthouse by day.",
  dimensions: ${shorter},
});
console.log(result.data[0].embedding.length, "numbers for", result.credit);`,
            prints: "N numbers for N",
          } as const,
        ]),
  ];
}
