import { Type, type Static } from "typebox";
import { CHAT, LinkSchema, ReasoningDetailSchema } from "../../catalog/parameter-tables/chat-completions.ts";
import type { JsonObject } from "../../core/json/json-value.ts";
import { objectOf } from "../../catalog/parameter-tables/field.ts";
import { createFieldTable } from "../field-table.ts";

/** The fields of a request, and what is done with them. */
export const CHAT_FIELDS = createFieldTable({
  format: "chat completions",
  fields: CHAT,
  otherNames: {
    "a message of the role system": "system system_prompt system_instruction instructions preamble",
    "its members, each by itself": "generation_config config options parameters",
  },
});

/** Body of `POST /api/v1/chat/completions`; a field that is null counts as left out. */
export const ChatRequestSchema = objectOf(CHAT, { title: "ChatCompletionRequest" });

export type ChatRequestBody = Static<typeof ChatRequestSchema>;

/** An object with the members that its schema leaves open. */
export type Open<T> = T & Readonly<JsonObject>;
export type ChatMessage = Open<ChatRequestBody["messages"][number]>;
export type MessagePart = Extract<NonNullable<ChatMessage["content"]>, readonly unknown[]>[number];

const OPEN = { additionalProperties: true };

const AnswerMessage = Type.Object(
  {
    role: Type.String(),
    content: Type.Union([Type.String(), Type.Null()]),
    images: Type.Optional(
      Type.Array(Type.Object({ type: Type.Literal("image_url"), image_url: LinkSchema })),
    ),
    reasoning_details: Type.Optional(Type.Array(ReasoningDetailSchema)),
  },
  OPEN,
);
const Choice = Type.Object(
  {
    index: Type.Integer(),
    message: AnswerMessage,
    finish_reason: Type.String({ description: "stop, length, content_filter, tool_calls or error" }),
  },
  OPEN,
);
const Usage = Type.Object(
  { prompt_tokens: Type.Integer(), completion_tokens: Type.Integer(), total_tokens: Type.Integer() },
  OPEN,
);

/** Answer of `POST /api/v1/chat/completions` without streaming. */
export const ChatAnswerSchema = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal("chat.completion"),
    created: Type.Integer({ description: "Unix time in seconds" }),
    model: Type.String(),
    choices: Type.Array(Choice),
    usage: Usage,
    credit: Type.Number({ description: "Cost in credits, exact to six decimals" }),
  },
  { title: "ChatCompletion", ...OPEN },
);
