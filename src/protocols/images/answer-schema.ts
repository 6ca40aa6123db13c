import { Type } from "typebox";
import { TASK_MEMBERS } from "../task-schema.ts";

const RESULT_MEMBERS = {
  data: Type.Array(
    Type.Object({
      url: Type.String({ format: "uri", description: "Signed, for an hour" }),
      b64_json: Type.Optional(
        Type.String({ description: "The image itself, where `response_format` asked for it by name" }),
      ),
    }),
  ),
  usage: Type.Optional(
    Type.Object(
      { input_tokens: Type.Integer(), output_tokens: Type.Integer(), total_tokens: Type.Integer() },
      { description: "On models that are billed by tokens" },
    ),
  ),
  credit: Type.Number({ description: "Cost in credits" }),
};

/** What a plain request is answered with. */
export const ImageResultSchema = Type.Object(
  { created: Type.Integer({ description: "Unix time" }), ...RESULT_MEMBERS },
  { title: "ImageResult" },
);

/** A task: what it came to stands at the top level and, whole, under `result`. */
export const ImageTaskSchema = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal("image_generation.task"),
    ...TASK_MEMBERS,
    ...Type.Partial(Type.Object(RESULT_MEMBERS)).properties,
    result: Type.Optional(ImageResultSchema),
    error: Type.Union([
      Type.Object({ message: Type.String(), type: Type.String({ description: "`generation_error`, …" }) }),
      Type.Null(),
    ]),
  },
  { title: "ImageTask" },
);

/** The answer to a cancel. */
export const CancelledImageSchema = Type.Object(
  { id: Type.String(), object: Type.Literal("image_generation.task"), status: Type.Literal("cancelled") },
  { title: "CancelledImageTask" },
);
