import { Type, type Static } from "typebox";
import { objectOf, open } from "../../catalog/parameter-tables/field.ts";
import {
  type ItemSchema,
  RESPONSES,
  type ResponsesToolSchema,
} from "../../catalog/parameter-tables/responses.ts";
import { createFieldTable } from "../field-table.ts";

/** The fields of a request, and what is done with them. */
export const RESPONSES_FIELDS = createFieldTable({ format: "Responses", fields: RESPONSES });

/** Body of `POST /api/v1/responses`; a field that is null counts as left out. */
export const ResponsesRequestSchema = objectOf(RESPONSES, { title: "ResponsesRequest" });

export type ResponsesRequestBody = Static<typeof ResponsesRequestSchema>;
export type ResponsesItem = Static<typeof ItemSchema>;
export type ResponsesTool = Static<typeof ResponsesToolSchema>;

/** Answer of `POST /api/v1/responses` without streaming. */
export const ResponsesAnswerSchema = open(
  {
    id: Type.String(),
    object: Type.Literal("response"),
    created_at: Type.Number(),
    status: Type.String({ description: "completed, or incomplete where `incomplete_details` says why" }),
    model: Type.String(),
    output: Type.Array(open({ type: Type.String() }), {
      description: "message, reasoning, function_call and other items",
    }),
    usage: open({
      input_tokens: Type.Integer(),
      output_tokens: Type.Integer(),
      total_tokens: Type.Integer(),
    }),
    credit: Type.Number({ description: "Cost in credits, exact to six decimals" }),
  },
  { title: "Response" },
);

/** Answer of `POST /api/v1/responses/compact`. */
export const ResponsesCompactionSchema = open(
  {
    id: Type.String(),
    object: Type.Literal("response.compaction"),
    created_at: Type.Number(),
    output: Type.Array(open({ type: Type.String() })),
    usage: open({ input_tokens: Type.Integer(), output_tokens: Type.Integer() }),
    credit: Type.Number({ description: "Cost in credits, exact to six decimals" }),
  },
  { title: "CompactedResponse" },
);

/** Answer of `POST /api/v1/responses/input_tokens`. */
export const ResponsesCountSchema = open(
  { object: Type.Literal("response.input_tokens"), input_tokens: Type.Integer({ minimum: 1 }) },
  { title: "ResponseTokensCount" },
);

const { required: _asked, ...input } = RESPONSES.input;

/** Body of a request about a conversation, which may name one that is kept and have no input of its own. */
export const ConversationSchema = objectOf({ ...RESPONSES, input }, { title: "ResponsesConversation" });
