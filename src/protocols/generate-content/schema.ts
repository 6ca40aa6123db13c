import { Type, type Static } from "typebox";

const text = Type.String({ minLength: 1 });
const free = Type.Object({}, { additionalProperties: true });

const Blob = Type.Object({ mimeType: Type.String({ minLength: 1, maxLength: 256 }), data: text });
const FileData = Type.Object({
  mimeType: Type.Optional(Type.String({ maxLength: 256 })),
  fileUri: Type.String({
    minLength: 1,
    maxLength: 65_536,
    description: "https, gs:// or a file of the provider",
  }),
});

/** One data field each; which of them is checked in `request.ts`. */
const PartFields = {
  text: Type.Optional(Type.String()),
  inlineData: Type.Optional(Blob),
  fileData: Type.Optional(FileData),
  functionCall: Type.Optional(Type.Object({ name: text, args: Type.Optional(free) })),
  functionResponse: Type.Optional(
    Type.Object({
      name: text,
      response: Type.Optional(free),
      parts: Type.Optional(
        Type.Array(Type.Object({ inlineData: Type.Optional(Blob), fileData: Type.Optional(FileData) })),
      ),
    }),
  ),
  executableCode: Type.Optional(free),
  codeExecutionResult: Type.Optional(free),
  toolCall: Type.Optional(free),
  toolResponse: Type.Optional(free),
  thought: Type.Optional(Type.Boolean()),
  thoughtSignature: Type.Optional(Type.String()),
  videoMetadata: Type.Optional(free),
  mediaResolution: Type.Optional(Type.Union([Type.String(), free])),
};

/** The fields of a part that are its data. */
export const PART_DATA = [
  "text",
  "inlineData",
  "fileData",
  "functionCall",
  "functionResponse",
  "executableCode",
  "codeExecutionResult",
  "toolCall",
  "toolResponse",
] as const;

/** All fields of a part that are known. */
export const PART_FIELDS: ReadonlySet<string> = new Set([...Object.keys(PartFields), "partMetadata"]);

const Part = Type.Object(PartFields, { additionalProperties: true });
/** So many turns a request can have, and so many parts each of them. */
export const MOST_ITEMS = 10_000;

/** A turn without parts is one that the model was cut off in before it said anything: recorded, and accepted. */
const Parts = Type.Optional(Type.Array(Part, { maxItems: MOST_ITEMS }));

const GenerationConfig = Type.Object(
  {
    temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
    topP: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
    topK: Type.Optional(Type.Integer({ minimum: 0 })),
    candidateCount: Type.Optional(Type.Integer({ minimum: 1, maximum: 8 })),
    maxOutputTokens: Type.Optional(Type.Integer({ minimum: 1, description: "Thinking included" })),
    stopSequences: Type.Optional(Type.Array(Type.String(), { maxItems: 5 })),
    presencePenalty: Type.Optional(Type.Number({ minimum: -2, maximum: 2 })),
    frequencyPenalty: Type.Optional(Type.Number({ minimum: -2, maximum: 2 })),
    seed: Type.Optional(Type.Integer()),
    responseMimeType: Type.Optional(Type.String()),
    responseSchema: Type.Optional(free),
    responseModalities: Type.Optional(
      Type.Array(Type.Enum(["TEXT", "IMAGE", "AUDIO"]), { maxItems: 3, uniqueItems: true }),
    ),
    responseLogprobs: Type.Optional(Type.Boolean()),
    logprobs: Type.Optional(Type.Integer({ minimum: 0, maximum: 20 })),
    thinkingConfig: Type.Optional(
      Type.Object({
        includeThoughts: Type.Optional(Type.Boolean()),
        thinkingBudget: Type.Optional(Type.Integer({ minimum: -1 })),
        thinkingLevel: Type.Optional(Type.String()),
      }),
    ),
    imageConfig: Type.Optional(free),
    speechConfig: Type.Optional(free),
    mediaResolution: Type.Optional(Type.String()),
  },
  { additionalProperties: true },
);

/** Body of `POST /api/v1/models/{model}:generateContent`. Fields that it does not name are looked up in `fields.ts`. */
export const GenerateContentRequestSchema = Type.Object(
  {
    contents: Type.Array(
      Type.Object({ role: Type.Optional(Type.Enum(["user", "model", "function"])), parts: Parts }),
      { minItems: 1, maxItems: MOST_ITEMS },
    ),
    systemInstruction: Type.Optional(Type.Object({ role: Type.Optional(Type.String()), parts: Parts })),
    generationConfig: Type.Optional(GenerationConfig),
    tools: Type.Optional(
      Type.Array(
        Type.Object(
          {
            functionDeclarations: Type.Optional(
              Type.Array(Type.Object({ name: text }, { additionalProperties: true })),
            ),
          },
          { additionalProperties: true },
        ),
        { maxItems: 1_024 },
      ),
    ),
    toolConfig: Type.Optional(free),
    safetySettings: Type.Optional(Type.Array(free)),
    cachedContent: Type.Optional(text),
  },
  { title: "GenerateContentRequest", additionalProperties: true },
);

export type GenerateContentBody = Static<typeof GenerateContentRequestSchema>;
export type Part = Static<typeof Part>;

/** Answer of `POST /api/v1/models/{model}:generateContent`. */
export const GenerateContentAnswerSchema = Type.Object(
  {
    candidates: Type.Optional(
      Type.Array(
        Type.Object(
          {
            content: Type.Optional(
              Type.Object(
                { role: Type.Optional(Type.String()), parts: Type.Optional(Type.Array(free)) },
                { additionalProperties: true },
              ),
            ),
            finishReason: Type.Optional(Type.String({ description: "STOP, MAX_TOKENS, SAFETY and others" })),
            index: Type.Optional(Type.Integer()),
          },
          { additionalProperties: true },
        ),
        { description: "Absent where the prompt was blocked: `promptFeedback` says why" },
      ),
    ),
    usageMetadata: Type.Object(
      {
        promptTokenCount: Type.Optional(Type.Integer()),
        candidatesTokenCount: Type.Optional(Type.Integer()),
        totalTokenCount: Type.Optional(Type.Integer()),
      },
      { additionalProperties: true },
    ),
    credit: Type.Number({ description: "Cost in credits, exact to six decimals" }),
  },
  { title: "GenerateContentResponse", additionalProperties: true },
);

/**
 * Body of `POST /api/v1/models/{model}:countTokens`: a request as it stands, or within `generateContentRequest`, and
 * never both. Which of them it is says `count.ts`; either is checked as a request.
 */
export const CountTokensRequestSchema = Type.Object(
  {
    ...Type.Partial(GenerateContentRequestSchema).properties,
    generateContentRequest: Type.Optional(GenerateContentRequestSchema),
  },
  { title: "CountTokensRequest", additionalProperties: true },
);

/** Answer of `POST /api/v1/models/{model}:countTokens`. */
export const CountTokensAnswerSchema = Type.Object(
  {
    totalTokens: Type.Integer({ minimum: 1 }),
    promptTokensDetails: Type.Optional(
      Type.Array(
        Type.Object({
          modality: Type.String({ description: "TEXT, IMAGE, AUDIO, VIDEO or DOCUMENT" }),
          tokenCount: Type.Integer(),
        }),
      ),
    ),
    cachedContentTokenCount: Type.Optional(Type.Integer()),
  },
  { title: "CountTokensResponse", additionalProperties: true },
);
