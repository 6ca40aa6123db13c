import { Type } from "typebox";
import { TASK_MEMBERS } from "../task-schema.ts";

/** A task. */
export const VideoTaskSchema = Type.Object(
  {
    id: Type.String(),
    ...TASK_MEMBERS,
    output: Type.Optional(
      Type.Object({
        urls: Type.Array(Type.String({ format: "uri", description: "Signed, for an hour" })),
      }),
    ),
    credit: Type.Optional(Type.Number({ description: "Cost in credits" })),
    error: Type.Optional(Type.String({ description: "Why it failed" })),
  },
  { title: "VideoTask" },
);

/** The answer to a cancel. */
export const CancelledVideoSchema = Type.Object(
  { id: Type.String(), status: Type.Literal("cancelled") },
  { title: "CancelledVideoTask" },
);
