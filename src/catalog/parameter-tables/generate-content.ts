import {
  count,
  givesImages,
  listOf,
  number,
  object,
  oneOf,
  text,
  type JsonSchema,
  type Parameter,
  type ParameterFacts,
} from "./parameter.ts";

/** The fields of `POST /api/v1/models/{model}:generateContent`. */
export function generateContentParameters(model: ParameterFacts): readonly Parameter[] {
  const config = (name: string, schema: JsonSchema, does: string): Parameter => ({
    name: `generationConfig.${name}`,
    schema,
    does,
  });
  return [
    {
      name: "contents",
      schema: {
        type: "array",
        minItems: 1,
        items: {
          type: "object",
          required: ["parts"],
          properties: { role: oneOf("user", "model"), parts: { type: "array", items: object } },
        },
      },
      does: "The conversation, oldest first: `{role, parts}`",
      required: true,
    },
    {
      name: "systemInstruction",
      schema: object,
      does: 'The system prompt: `{"parts":[{"text":"…"}]}`',
    },
    { name: "generationConfig", schema: object, does: "How to answer" },
    config("temperature", number(0, 2), "Randomness; lower is more repeatable"),
    config("topP", number(0, 1), "Sample from the likeliest tokens of this total probability"),
    config("topK", { type: "integer", minimum: 0 }, "Sample from this many likeliest tokens"),
    config(
      "maxOutputTokens",
      count(model.maxOutput),
      "The most output tokens, thoughts included; a higher number is lowered to the maximum with a warning",
    ),
    config("stopSequences", { ...listOf(text), maxItems: 5 }, "End the answer before any of these texts"),
    config("presencePenalty", number(-2, 2), "Above 0: away from words that were used"),
    config("frequencyPenalty", number(-2, 2), "Above 0: away from words by how often they were used"),
    config("seed", { type: "integer" }, "The same seed makes the same answer likelier"),
    config("candidateCount", { ...count(8), default: 1 }, "How many answers; each is charged"),
    config("responseMimeType", text, "`application/json` asks for JSON"),
    config("responseJsonSchema", object, "A JSON Schema that the answer keeps to"),
    config(
      "thinkingConfig",
      object,
      "`thinkingLevel` and `includeThoughts`: how much it thinks, and whether it shows it",
    ),
    config(
      "responseModalities",
      {
        ...listOf(oneOf(...model.outputModalities.map((kind) => kind.toUpperCase()))),
        uniqueItems: true,
        default: model.outputModalities.map((kind) => kind.toUpperCase()),
      },
      "What the answer holds",
    ),
    ...(givesImages(model)
      ? [
          config(
            "imageConfig",
            object,
            "What the images are like: `aspectRatio` such as `16:9`, `imageSize` of `1K`, `2K`, `4K`",
          ),
        ]
      : []),
    {
      name: "tools",
      schema: { ...listOf(object), maxItems: 1_024 },
      does: 'Functions that the model may call: `[{"functionDeclarations":[{name, description, parametersJsonSchema}]}]`',
    },
    {
      name: "toolConfig",
      schema: object,
      does: 'Whether it must call one: `{"functionCallingConfig":{"mode":"AUTO"}}`, or `ANY`, `NONE`',
    },
  ];
}
