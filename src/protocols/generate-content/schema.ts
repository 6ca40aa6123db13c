import { type Static, Type } from "typebox";
import { countedOf, objectOf, open } from "../../catalog/parameter-tables/field.ts";
import {
  CONTENT,
  CONTENT_CONFIG,
  PartData,
  PartSchema,
} from "../../catalog/parameter-tables/generate-content.ts";
import { createFieldTable, type FieldTable } from "../field-table.ts";
import { fieldName } from "./spelling.ts";

/** The fields of a part that are its data. */
export const PART_DATA = Object.keys(PartData) as readonly (keyof typeof PartData)[];

/** All fields of a part that are known. */
export const PART_FIELDS: ReadonlySet<string> = new Set([
  ...Object.keys(PartSchema.properties),
  "partMetadata",
]);

/** The fields of `generationConfig`, and what is done with them. */
export const CONFIG_FIELDS = createFieldTable({
  format: "generateContent",
  within: "generationConfig",
  canonical: fieldName,
  fields: CONTENT_CONFIG,
  otherNames: {
    "systemInstruction, beside generationConfig": "system_instruction",
    "tools, beside generationConfig": "tools",
    "toolConfig, beside generationConfig": "tool_config",
    "safetySettings, beside generationConfig": "safety_settings",
    "cachedContent, beside generationConfig": "cached_content",
  },
});

const requestFields = createFieldTable({
  format: "generateContent",
  canonical: fieldName,
  fields: CONTENT,
  otherNames: { "generationConfig.responseMimeType": "response_format" },
});

/** The fields of a request. Those of `generationConfig` are meant where a client took them for some of these. */
export const REQUEST_FIELDS: FieldTable = {
  ...requestFields,
  meant(name) {
    const inConfig = CONFIG_FIELDS.meant(name);
    return requestFields.meant(name) ?? (inConfig && `generationConfig.${inConfig}`);
  },
};

/** Of a request that is to be counted, as `generateContentRequest` of https://ai.google.dev/api/tokens has it. */
export const COUNT_FIELDS = createFieldTable({
  format: "counting tokens",
  canonical: fieldName,
  fields: { model: {}, ...countedOf(CONTENT) },
});

/** Body of `POST /api/v1/models/{model}:generateContent`. */
export const GenerateContentRequestSchema = objectOf(CONTENT, { title: "GenerateContentRequest" });

export type GenerateContentBody = Static<typeof GenerateContentRequestSchema>;
export type Part = Static<typeof PartSchema>;

const Candidate = open({
  content: Type.Optional(
    open({ role: Type.Optional(Type.String()), parts: Type.Optional(Type.Array(open({}))) }),
  ),
  finishReason: Type.Optional(Type.String({ description: "STOP, MAX_TOKENS, SAFETY and others" })),
  index: Type.Optional(Type.Integer()),
});

/** Answer of `POST /api/v1/models/{model}:generateContent`. */
export const GenerateContentAnswerSchema = open(
  {
    candidates: Type.Optional(
      Type.Array(Candidate, {
        description: "Absent where the prompt was blocked: `promptFeedback` says why",
      }),
    ),
    usageMetadata: open({
      promptTokenCount: Type.Optional(Type.Integer()),
      candidatesTokenCount: Type.Optional(Type.Integer()),
      totalTokenCount: Type.Optional(Type.Integer()),
    }),
    credit: Type.Number({ description: "Cost in credits, exact to six decimals" }),
  },
  { title: "GenerateContentResponse" },
);

/**
 * Body of `POST /api/v1/models/{model}:countTokens`: a request as it stands, or within `generateContentRequest`, and
 * never both. Which of them it is says `count.ts`; either is checked as a request.
 */
export const CountTokensRequestSchema = open(
  {
    ...Type.Partial(GenerateContentRequestSchema).properties,
    generateContentRequest: Type.Optional(GenerateContentRequestSchema),
  },
  { title: "CountTokensRequest" },
);

/** Answer of `POST /api/v1/models/{model}:countTokens`. */
export const CountTokensAnswerSchema = open(
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
  { title: "CountTokensResponse" },
);
