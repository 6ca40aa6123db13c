import { Type } from "typebox";
import { type Fields, objectOf, open } from "./field.ts";
import { givesImages, object, oneOf } from "./parameter.ts";
import { boundedByModel, SHARED } from "./shared-fields.ts";

const text = Type.String({ minLength: 1 });
const free = open({});

const ADDRESS = "https, gs:// or a file of the provider";

const MediaData = {
  inlineData: Type.Optional(
    Type.Object({ mimeType: Type.String({ minLength: 1, maxLength: 256 }), data: text }),
  ),
  fileData: Type.Optional(
    Type.Object({
      mimeType: Type.Optional(Type.String({ maxLength: 256 })),
      fileUri: Type.String({ minLength: 1, maxLength: 65_536, description: ADDRESS }),
    }),
  ),
};

/** What a part is: one of these, as is checked where parts are read. */
export const PartData = {
  text: Type.Optional(Type.String()),
  ...MediaData,
  functionCall: Type.Optional(Type.Object({ name: text, args: Type.Optional(free) })),
  functionResponse: Type.Optional(
    Type.Object({
      name: text,
      response: Type.Optional(free),
      parts: Type.Optional(Type.Array(Type.Object(MediaData))),
    }),
  ),
  executableCode: Type.Optional(free),
  codeExecutionResult: Type.Optional(free),
  toolCall: Type.Optional(free),
  toolResponse: Type.Optional(free),
};

/** What is said of it. */
export const PartNotes = {
  thought: Type.Optional(Type.Boolean()),
  thoughtSignature: Type.Optional(Type.String()),
  videoMetadata: Type.Optional(free),
  mediaResolution: Type.Optional(Type.Union([Type.String(), free])),
};

export const PartSchema = open({ ...PartData, ...PartNotes });

/** So many turns a request can have, and so many parts each of them. */
export const MOST_ITEMS = 10_000;

/** Answers to one request, and texts that may end one: https://ai.google.dev/api/generate-content#generationconfig */
export const MOST_CANDIDATES = 8;
export const MOST_CONTENT_STOPS = 5;

/** A turn without parts is one that the model was cut off in before it said anything: recorded, and accepted. */
const Parts = Type.Optional(Type.Array(PartSchema, { maxItems: MOST_ITEMS }));

/**
 * Source: GenerationConfig of https://ai.google.dev/api/generate-content as of @google/genai 3.1. What would choose another
 * model (`routingConfig`) is not among them.
 */
export const CONTENT_CONFIG = {
  temperature: SHARED.temperature,
  topP: SHARED.topP,
  topK: SHARED.topK,
  maxOutputTokens: {
    schema: Type.Integer({ minimum: 1, description: "Thinking included" }),
    place: "maxOutputTokens",
    otherNames: "max_tokens max_completion_tokens max_new_tokens max_tokens_to_sample max_length",
    does: "The most output tokens, thoughts included; a higher number is lowered to the maximum with a warning",
    shown: boundedByModel,
  },
  stopSequences: {
    ...SHARED.stop,
    schema: Type.Array(Type.String(), { maxItems: MOST_CONTENT_STOPS }),
  },
  presencePenalty: SHARED.presencePenalty,
  frequencyPenalty: SHARED.frequencyPenalty,
  seed: { schema: Type.Integer(), place: "seed", does: "The same seed makes the same answer likelier" },
  candidateCount: {
    schema: Type.Integer({ minimum: 1, maximum: MOST_CANDIDATES }),
    place: "choices",
    otherNames: "n num_choices num_generations",
    does: "How many answers; each is charged",
    shown: (schema) => ({ ...schema, default: 1 }),
  },
  responseMimeType: { schema: Type.String(), does: "`application/json` asks for JSON" },
  responseSchema: { schema: free },
  responseJsonSchema: {
    otherNames: "json_schema output_format",
    does: "A JSON Schema that the answer keeps to",
    shown: () => object,
  },
  // It can ask for images, audio and videos beside what responseModalities says.
  responseFormat: { rule: "priced", freeValues: [null] },
  thinkingConfig: {
    schema: Type.Object({
      includeThoughts: Type.Optional(Type.Boolean()),
      thinkingBudget: Type.Optional(Type.Integer({ minimum: -1 })),
      thinkingLevel: Type.Optional(Type.String()),
    }),
    place: "thinking",
    otherNames: "thinking reasoning",
    does: "`thinkingLevel` and `includeThoughts`: how much it thinks, and whether it shows it",
    members: {
      thinkingBudget: { otherNames: "thinking_budget budget_tokens" },
      thinkingLevel: { otherNames: "thinking_level reasoning_effort" },
      includeThoughts: { otherNames: "include_thoughts" },
    },
  },
  responseModalities: {
    schema: Type.Array(Type.Enum(["TEXT", "IMAGE", "AUDIO"]), { maxItems: 3, uniqueItems: true }),
    place: "outputModalities",
    otherNames: "modalities",
    does: "What the answer holds",
    shown: (_, { outputModalities }) => {
      const kinds = outputModalities.map((kind) => kind.toUpperCase());
      return { type: "array", items: oneOf(...kinds), uniqueItems: true, default: kinds };
    },
  },
  responseLogprobs: { schema: Type.Boolean(), place: "logprobs" },
  logprobs: { schema: Type.Integer({ minimum: 0, maximum: 20 }), place: "logprobs" },
  // What it asks for is output, and output has its bound.
  imageConfig: {
    schema: free,
    place: "image",
    does: (model) =>
      givesImages(model)
        ? "What the images are like: `aspectRatio` such as `16:9`, `imageSize` of `1K`, `2K`, `4K`"
        : undefined,
    members: { aspectRatio: { otherNames: "aspect_ratio" }, imageSize: { otherNames: "image_size" } },
  },
  speechConfig: { schema: free },
  mediaResolution: { schema: Type.String() },
  audioTimestamp: {},
  enableEnhancedCivicAnswers: {},
  enableAffectiveDialog: {},
  continuationToken: {},
} satisfies Fields;

/** Source: GenerateContentRequest of the same. */
export const CONTENT = {
  contents: {
    required: true,
    schema: Type.Array(
      Type.Object({ role: Type.Optional(Type.Enum(["user", "model", "function"])), parts: Parts }),
      { minItems: 1, maxItems: MOST_ITEMS },
    ),
    counted: true,
    otherNames: "messages prompt input history conversation",
    does: "The conversation, oldest first: `{role, parts}`",
    shown: () => ({
      type: "array",
      minItems: 1,
      items: {
        type: "object",
        required: ["parts"],
        properties: { role: oneOf("user", "model"), parts: { type: "array", items: object } },
      },
    }),
  },
  systemInstruction: {
    schema: Type.Object({ role: Type.Optional(Type.String()), parts: Parts }),
    counted: true,
    otherNames: "system system_prompt instructions preamble",
    does: 'The system prompt: `{"parts":[{"text":"…"}]}`',
  },
  generationConfig: {
    schema: objectOf(CONTENT_CONFIG),
    counted: true,
    otherNames: "config options parameters",
    does: "How to answer",
    members: CONTENT_CONFIG,
  },
  tools: {
    schema: Type.Array(open({ functionDeclarations: Type.Optional(Type.Array(open({ name: text }))) }), {
      maxItems: 1_024,
    }),
    counted: true,
    place: "tools",
    otherNames: "functions function_declarations",
    does: 'Functions that the model may call: `[{"functionDeclarations":[{name, description, parametersJsonSchema}]}]`',
  },
  toolConfig: {
    schema: free,
    counted: true,
    place: "toolChoice",
    otherNames: "tool_choice function_call",
    does: 'Whether it must call one: `{"functionCallingConfig":{"mode":"AUTO"}}`, or `ANY`, `NONE`',
  },
  safetySettings: { schema: Type.Array(free), counted: true },
  // Its tokens are input that the body does not show; they are held for.
  cachedContent: { schema: text, counted: true },
  labels: {},
  store: {},
  serviceTier: { rule: "priced", freeValues: [null, "standard", "unspecified", "STANDARD", "UNSPECIFIED"] },
} satisfies Fields;
