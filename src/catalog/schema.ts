import { Type, type Static } from "typebox";
import { CATEGORIES, EFFORTS, MODALITIES, LISTED_PROTOCOLS, PROTOCOLS } from "../core/model.ts";
import { TOKEN_BUCKETS, UNIT_BUCKETS } from "../core/money/price.ts";
import { EmbeddingSchema } from "./embedding-facts.ts";
import { MediaSchema } from "./media-schema.ts";

const closed = { additionalProperties: false };

const Words = (description: string) =>
  Type.Union(
    [
      Type.String({ minLength: 1 }),
      Type.Array(Type.String({ minLength: 1 }), { minItems: 1, uniqueItems: true }),
    ],
    { description },
  );

const PriceCondition = Type.Object(
  {
    from: Type.Optional(Type.String({ description: "Date or time in ISO 8601 from which the price holds" })),
    utc_hours: Type.Optional(
      Type.Array(Type.Array(Type.Integer({ minimum: 0, maximum: 24 }), { minItems: 2, maxItems: 2 }), {
        minItems: 1,
      }),
    ),
    input_over: Type.Optional(
      Type.Integer({ minimum: 0, description: "More input tokens than this, cached ones included" }),
    ),
    resolution: Type.Optional(Words("The resolution that is asked for, or several; case does not matter")),
    size: Type.Optional(Words("The size that is asked for, or several; case does not matter")),
    quality: Type.Optional(Words("The quality that is asked for, or several; case does not matter")),
    has_video: Type.Optional(Type.Boolean({ description: "Whether a video is among the inputs" })),
  },
  closed,
);

const PriceRules = (description: string) => {
  const price = Type.Number({ minimum: 0, description });
  const rule = Type.Object({ when: Type.Optional(PriceCondition), price }, closed);
  return Type.Union([price, Type.Array(rule, { minItems: 1 })]);
};

type OptionalRules = ReturnType<typeof Type.Optional<ReturnType<typeof PriceRules>>>;

const TokenRules = PriceRules("USD per million tokens");
const UnitRules = PriceRules("USD per second of video, per image, or per web search");

/** Prices by bucket: one number, or rules of which the first that holds counts. */
export const PricesSchema = Type.Object(
  {
    ...(Object.fromEntries(TOKEN_BUCKETS.map((bucket) => [bucket, Type.Optional(TokenRules)])) as Record<
      (typeof TOKEN_BUCKETS)[number],
      OptionalRules
    >),
    ...(Object.fromEntries(UNIT_BUCKETS.map((bucket) => [bucket, Type.Optional(UnitRules)])) as Record<
      (typeof UNIT_BUCKETS)[number],
      OptionalRules
    >),
  },
  closed,
);

const ImageTokensSchema = Type.Object(
  {
    patch: Type.Integer({ minimum: 1, description: "Side in pixels of the squares that cover an image" }),
    per_patch: Type.Optional(Type.Number({ exclusiveMinimum: 0, description: "Tokens of a square" })),
    base: Type.Optional(Type.Integer({ minimum: 0, description: "Tokens of any image" })),
    low: Type.Optional(Type.Integer({ minimum: 1, description: "Tokens of an image of low detail" })),
    high: Type.Optional(Type.Integer({ minimum: 1, description: "The most of an image of high detail" })),
  },
  closed,
);

const ThinkingSchema = Type.Object(
  {
    style: Type.Optional(
      Type.Enum(["budget", "adaptive"], { description: "How it is asked to think: by tokens or by effort" }),
    ),
    efforts: Type.Optional(
      Type.Array(Type.Enum([...EFFORTS]), { uniqueItems: true, description: "Efforts that the model takes" }),
    ),
    always: Type.Optional(Type.Boolean({ description: "It cannot be kept from thinking" })),
    streamed_only: Type.Optional(Type.Boolean({ description: "Whether it thinks in streams only" })),
    reasoning_back_always: Type.Optional(
      Type.Boolean({ description: "Whether every earlier answer must carry its reasoning beside tools" }),
    ),
  },
  closed,
);

const SamplingSchema = Type.Object(
  {
    max_temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
    temperature_or_top_p: Type.Optional(Type.Boolean({ description: "It takes one of the two, not both" })),
    fixed_while_thinking: Type.Optional(
      Type.Boolean({ description: "It takes none while it thinks by a budget" }),
    ),
  },
  closed,
);

const Modalities = Type.Array(Type.Enum([...MODALITIES]), { minItems: 1, uniqueItems: true });

/** What is said of a model wherever it is said: in a file of the catalogue or in switchyard.yaml. */
export const ModelFactsSchema = Type.Object(
  {
    display_name: Type.Optional(Type.String({ minLength: 1 })),
    summary: Type.Optional(Type.String({ minLength: 1, description: "What it is, in one line" })),
    notes: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), { description: "What its users must know; a sentence each" }),
    ),
    input_modalities: Type.Optional(Modalities),
    output_modalities: Type.Optional(Modalities),
    total_context: Type.Optional(Type.Integer({ minimum: 1 })),
    max_output: Type.Optional(Type.Integer({ minimum: 1 })),
    ignored_parameters: Type.Optional(Type.Array(Type.String(), { uniqueItems: true })),
    max_tokens_field: Type.Optional(Type.Enum(["max_completion_tokens", "max_tokens"])),
    media_token_ceiling: Type.Optional(
      Type.Object(
        Object.fromEntries(
          MODALITIES.map((name) => [name, Type.Optional(Type.Integer({ minimum: 1 }))]),
        ) as Record<
          (typeof MODALITIES)[number],
          ReturnType<typeof Type.Optional<ReturnType<typeof Type.Integer>>>
        >,
        closed,
      ),
    ),
    image_tokens: Type.Optional(ImageTokensSchema),
    system_turns: Type.Optional(
      Type.Boolean({ description: "Whether it takes system messages amid a conversation (messages only)" }),
    ),
    thinking: Type.Optional(ThinkingSchema),
    sampling: Type.Optional(SamplingSchema),
    embedding: Type.Optional(EmbeddingSchema),
    prices: PricesSchema,
  },
  closed,
);

/** A file of the catalogue; its path under `models/` is the model's unique id. */
export const ModelFileSchema = Type.Object(
  {
    ...ModelFactsSchema.properties,
    display_name: Type.String({ minLength: 1 }),
    supported_protocols: Type.Array(Type.Enum([...LISTED_PROTOCOLS]), { uniqueItems: true }),
    media: Type.Optional(MediaSchema),
    routes: Type.Array(
      Type.Object(
        {
          provider: Type.String(),
          upstream_id: Type.String({
            minLength: 1,
            description:
              "Of images and videos it may have a part in braces that differs by how they are asked for: {from text alone|from images|from references}",
          }),
          protocols: Type.Optional(
            Type.Array(Type.Enum([...PROTOCOLS]), {
              minItems: 1,
              uniqueItems: true,
              description: "The formats in which the provider serves this model; absent: all that it speaks",
            }),
          ),
        },
        closed,
      ),
      { minItems: 1 },
    ),
  },
  closed,
);

export type ModelFacts = Static<typeof ModelFactsSchema>;
export type ModelFile = Static<typeof ModelFileSchema>;

/** A model as the interface shows it. */
export const PublicModelSchema = Type.Object(
  {
    id: Type.String({ description: "<vendor>/<model-name>" }),
    unique_id: Type.String({ description: "<category>/<vendor>/<model-name>" }),
    object: Type.Literal("model"),
    category: Type.Enum([...CATEGORIES]),
    display_name: Type.String(),
    vendor: Type.String(),
    supported_protocols: Type.Array(Type.Enum([...LISTED_PROTOCOLS])),
    formats: Type.Object(
      Object.fromEntries(
        PROTOCOLS.map((id) => [id, Type.Optional(Type.Enum(["relay", "translation"]))] as const),
      ),
      {
        description:
          "Every format that answers for it: `relay` where its provider speaks the format, `translation` where requests and answers are put into another one",
      },
    ),
    input_modalities: Type.Array(Type.Enum([...MODALITIES])),
    output_modalities: Type.Array(Type.Enum([...MODALITIES])),
    total_context: Type.Union([Type.Integer(), Type.Null()]),
    max_output: Type.Union([Type.Integer(), Type.Null()]),
    parameter_schema: Type.Object({}, { additionalProperties: true }),
    documentation_url: Type.String({ format: "uri" }),
    created: Type.Integer({ description: "For OpenAI's SDK; 0, as the time is not known" }),
    owned_by: Type.String({ description: "For OpenAI's SDK; the vendor" }),
    type: Type.Literal("model", { description: "For Anthropic's SDK" }),
    created_at: Type.String({ format: "date-time", description: "For Anthropic's SDK; `created` as a date" }),
  },
  { title: "Model" },
);

export type PublicModel = Static<typeof PublicModelSchema>;

/** A model as Google's SDK reads it. */
const GoogleModelSchema = Type.Object(
  {
    name: Type.String({ description: "models/<id>" }),
    displayName: Type.String(),
    inputTokenLimit: Type.Optional(Type.Integer()),
    outputTokenLimit: Type.Optional(Type.Integer()),
    supportedGenerationMethods: Type.Array(Type.String()),
  },
  { title: "GoogleModel" },
);

export type GoogleModel = Static<typeof GoogleModelSchema>;

/** One model by its address: its row of the list, and what Google's SDK reads. */
export const ModelAnswerSchema = Type.Object(
  { ...PublicModelSchema.properties, ...GoogleModelSchema.properties },
  { title: "ModelAnswer" },
);

export type ModelAnswer = Static<typeof ModelAnswerSchema>;

/** The list of models in one body that the three SDKs read, each its own members. */
export const ModelListSchema = Type.Object(
  {
    object: Type.Literal("list"),
    data: Type.Array(PublicModelSchema),
    has_more: Type.Boolean(),
    first_id: Type.Union([Type.String(), Type.Null()], {
      description: "Where this page begins, for `before_id`",
    }),
    last_id: Type.Union([Type.String(), Type.Null()], {
      description: "Where this page ends, for `after_id`",
    }),
    models: Type.Array(GoogleModelSchema, { description: "The same models, for Google's SDK" }),
    nextPageToken: Type.Optional(Type.String({ description: "For `pageToken`; absent on the last page" })),
  },
  { title: "ModelList" },
);

export type ModelList = Static<typeof ModelListSchema>;
