import { type TSchema, Type } from "typebox";
import { open } from "../../catalog/parameter-tables/field.ts";
import { GatewayError } from "../../core/errors.ts";
import {
  type AnswerAsked,
  cancelAnswer,
  deleteAnswer,
  inputItems,
  type ItemPage,
  keptAnswer,
} from "../../gateway/language/kept-answers.ts";
import { responses } from "../../protocols/responses/index.ts";
import { ResponsesAnswerSchema } from "../../protocols/responses/schema.ts";
import { respondJson, respondWhole } from "../respond.ts";
import { callerOf, type Route, type RouteContext } from "../route.ts";

const ItemListSchema = open(
  {
    object: Type.Literal("list"),
    data: Type.Array(open({ type: Type.Optional(Type.String()), id: Type.String() })),
    first_id: Type.Union([Type.String(), Type.Null()]),
    last_id: Type.Union([Type.String(), Type.Null()]),
    has_more: Type.Boolean(),
  },
  { title: "ResponseItemList" },
);

const DeletedSchema = open(
  { id: Type.String(), object: Type.Literal("response"), deleted: Type.Literal(true) },
  { title: "DeletedResponse" },
);

const shared = { access: "key", tag: "language", protocol: responses, errors: [400, 404] } as const;

const query: Readonly<Record<string, TSchema>> = {
  after: Type.String({ description: "The id of the item before the first" }),
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
  order: Type.Enum(["asc", "desc"], { default: "desc" }),
};

/** Answers that are kept: free, and never refused by limits. */
export const keptResponseRoutes: readonly Route[] = [
  {
    ...shared,
    method: "get",
    path: "/api/v1/responses/:id",
    summary: "A response that is kept",
    answers: { 200: { description: "The response as it was answered", schema: ResponsesAnswerSchema } },
    async handle(context) {
      if (context.query.get("stream") === "true")
        throw new GatewayError(
          "invalid_request_error",
          "stream is not served here: the response has ended.",
          {
            param: "stream",
          },
        );
      return respondWhole(context, await keptAnswer(askedIn(context)));
    },
  },
  {
    ...shared,
    method: "delete",
    path: "/api/v1/responses/:id",
    summary: "Delete a response that is kept, at once",
    answers: { 200: { description: "It is deleted", schema: DeletedSchema } },
    handle: async (context) => respondJson(await deleteAnswer(askedIn(context))),
  },
  {
    ...shared,
    method: "get",
    path: "/api/v1/responses/:id/input_items",
    summary: "The items that a response was given, the newest first",
    query,
    answers: { 200: { description: "A part of the list", schema: ItemListSchema } },
    handle: async (context) =>
      respondWhole(context, JSON.stringify(await inputItems(askedIn(context), pageIn(context.query)))),
  },
  {
    ...shared,
    method: "post",
    path: "/api/v1/responses/:id/cancel",
    summary: "Says that a response which has ended cannot be cancelled",
    answers: {},
    handle: (context) => cancelAnswer(askedIn(context)),
  },
];

function askedIn(context: RouteContext): AnswerAsked {
  const { services, params } = context;
  return { kept: services.relay.kept, caller: callerOf(context), id: params.id ?? "" };
}

function pageIn(query: URLSearchParams): ItemPage {
  const limit = Number(query.get("limit") ?? "20");
  if (!Number.isInteger(limit) || limit < 1 || limit > 100)
    throw new GatewayError("invalid_request_error", "limit must be a whole number from 1 to 100.", {
      param: "limit",
    });
  const order = query.get("order") ?? "desc";
  if (order !== "asc" && order !== "desc")
    throw new GatewayError("invalid_request_error", "order must be asc or desc.", { param: "order" });
  return { after: query.get("after"), limit, newestFirst: order === "desc" };
}
