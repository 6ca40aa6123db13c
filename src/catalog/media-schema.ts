import { Type, type Static } from "typebox";

const closed = { additionalProperties: false };

const Words = Type.Union([
  Type.String({ minLength: 1 }),
  Type.Array(Type.String({ minLength: 1 }), { minItems: 1, uniqueItems: true }),
]);

const count = (description: string) => Type.Optional(Type.Integer({ minimum: 1, description }));

const LimitsSchema = Type.Object(
  {
    values: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        minItems: 1,
        uniqueItems: true,
        description: "Of the interface's values those that it knows; left out: all",
      }),
    ),
    default: Type.Optional(
      Type.String({ description: "Its own default, where the interface's is no value of it" }),
    ),
    required: Type.Optional(Type.Boolean({ description: "It does not work without" })),
    max_length: count("The most characters"),
    max_items: count("The most items of a list"),
    max_bytes: count("The most bytes of a medium that stands in the request itself"),
    links_only: Type.Optional(Type.Boolean({ description: "Media come by link: no data URI is taken" })),
  },
  closed,
);

/** What is said of an image or video model in its file. */
export const MediaSchema = Type.Object(
  {
    parameters: Type.Record(Type.String(), LimitsSchema, {
      description:
        "The fields of the interface that it takes, beside those that the gateway sees to, and how it narrows them",
    }),
    output_tokens: Type.Optional(
      Type.Array(
        Type.Object(
          {
            when: Type.Optional(
              Type.Object(
                {
                  resolution: Type.Optional(Words),
                  size: Type.Optional(Words),
                  quality: Type.Optional(Words),
                },
                closed,
              ),
            ),
            tokens: Type.Integer({ minimum: 1 }),
          },
          closed,
        ),
        {
          minItems: 1,
          description:
            "Output tokens of an image, or of a second of video; the first rule that holds counts, and the last holds always",
        },
      ),
    ),
    text_tokens: count("The most output tokens of one call beside its images: thoughts and text"),
    images_per_job: count("How many images each job makes, where that cannot be asked for"),
    prompt_switches: Type.Optional(
      Type.Boolean({ description: "The prompt is a command line, in which switches can be set" }),
    ),
    input_video_seconds: count("The most seconds of reference videos that are charged for"),
    most_references: count("The most references of all kinds in one request"),
    most_seconds_with_references: count("The longest video that it makes from references"),
    multi_shot_expands: Type.Optional(
      Type.Boolean({ description: "Several shots come of an expanded prompt only, except with references" }),
    ),
    expands_with_references: Type.Optional(
      Type.Boolean({
        description: "The prompt can be expanded beside reference images and videos; left out: yes",
      }),
    ),
    audio_beside_references: Type.Optional(
      Type.Enum(["may", "must", "never"], {
        description: "Whether reference audio can stand beside reference images and videos; left out: may",
      }),
    ),
  },
  closed,
);

export type MediaData = Static<typeof MediaSchema>;
