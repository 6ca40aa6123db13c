import { Type, type Static } from "typebox";
import { countedOf, objectOf, open } from "../../catalog/parameter-tables/field.ts";
import { type BlockSchema, MESSAGES, type ToolSchema } from "../../catalog/parameter-tables/messages.ts";
import { createFieldTable } from "../field-table.ts";

/** The fields of a request, and what is done with them. */
export const MESSAGES_FIELDS = createFieldTable({
  format: "messages",
  fields: MESSAGES,
  otherNames: { "its members, each by itself": "generation_config config options parameters" },
});

/** Source: `MessageCountTokensParams` of the same, and of its beta client. */
export const COUNT_FIELDS = createFieldTable({ format: "counting tokens", fields: countedOf(MESSAGES) });

/** Body of `POST /api/v1/messages`; a field that is null counts as left out. */
export const MessagesRequestSchema = objectOf(MESSAGES, { title: "MessagesRequest" });

/** Body of `POST /api/v1/messages/count_tokens`. Other fields of a request are not looked at. */
export const CountRequestSchema = objectOf(countedOf(MESSAGES), { title: "CountTokensRequest" });

export type MessagesRequestBody = Static<typeof MessagesRequestSchema>;
/** What a request and a count of it have in common. */
export type MessagesInput = Static<typeof CountRequestSchema>;
export type ContentBlock = Static<typeof BlockSchema>;
export type MessagesTool = Static<typeof ToolSchema>;

/** Answer of `POST /api/v1/messages` without streaming. */
export const MessagesAnswerSchema = open(
  {
    id: Type.String(),
    type: Type.Literal("message"),
    role: Type.Literal("assistant"),
    model: Type.String(),
    content: Type.Array(open({ type: Type.String() }), {
      description: "text, tool_use, thinking and other blocks",
    }),
    stop_reason: Type.Union([Type.String(), Type.Null()], {
      description: "end_turn, max_tokens, stop_sequence, tool_use, pause_turn or refusal",
    }),
    stop_sequence: Type.Union([Type.String(), Type.Null()]),
    usage: open({ input_tokens: Type.Integer(), output_tokens: Type.Integer() }),
    credit: Type.Number({ description: "Cost in credits, exact to six decimals" }),
  },
  { title: "Message" },
);

/** Answer of `POST /api/v1/messages/count_tokens`. */
export const CountAnswerSchema = open(
  { input_tokens: Type.Integer({ minimum: 1 }) },
  { title: "MessageTokensCount" },
);
