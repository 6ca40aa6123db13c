import { Type } from "typebox";
import { PRICE_BUCKETS } from "../../../core/money/price.ts";
import { OUTCOMES } from "../../../gateway/admin/filters.ts";
import { PRICE_UNITS } from "../../../gateway/admin/views.ts";
import { respondJson, respondWhole } from "../../respond.ts";
import type { Route } from "../../route.ts";
import { pageOf, rangeOf, rangeQuery, textsOf } from "./body.ts";
import { EntrySchema, PAGE_QUERY, pageSchema } from "./schemas.ts";

const Seconds = Type.Number({ description: "Unix time in seconds, to the millisecond" });
const NullableText = Type.Union([Type.String(), Type.Null()]);

const RequestSchema = Type.Object(
  {
    id: Type.String({ description: "As in x-request-id" }),
    account_id: Type.String(),
    key_id: Type.String(),
    model: Type.String({ description: "The one that served" }),
    provider: NullableText,
    outcome: Type.Enum([...OUTCOMES], { description: "An error by its type" }),
    credit: Type.Number({ description: "What was charged" }),
    cost: Type.Union([Type.Number(), Type.Null()], {
      description:
        "Credits that you owe the provider, by the cost of its route; null where that is not known",
    }),
    price_version: Type.String({ description: "Names the prices it was charged by" }),
    usage: Type.Record(Type.String(), Type.Number(), {
      description: "Counts by bucket; an absent one is empty",
    }),
    flags: Type.Array(Type.String(), { description: "How the usage was arrived at, and what was special" }),
    attempts: Type.Array(
      Type.Object({
        provider: Type.String(),
        upstream_id: Type.Union([Type.String(), Type.Null()], {
          description: "What the provider calls the model; null in a session by an API key",
        }),
        sent_at: Seconds,
        status: Type.Union([Type.Integer(), Type.Null()]),
      }),
    ),
    admitted_at: Seconds,
    held_at: Seconds,
    first_byte_at: Type.Union([Seconds, Type.Null()]),
    ended_at: Seconds,
    settled_at: Seconds,
  },
  { title: "Request" },
);

const LineSchema = Type.Object({
  bucket: Type.Enum([...PRICE_BUCKETS, "adjustment"], {
    description: "`adjustment`: less was charged than the usage costs, as the flags say",
  }),
  quantity: Type.Integer({ description: "Tokens, or pieces" }),
  price: Type.Union([Type.Number(), Type.Null()], {
    description: "In USD, for one `unit`; null where it is not known any more, and for an adjustment",
  }),
  unit: Type.Union([Type.Enum([...PRICE_UNITS]), Type.Null()]),
  credit: Type.Number(),
});

const RequestDetailSchema = Type.Object(
  {
    ...RequestSchema.properties,
    lines: Type.Array(LineSchema, { description: "Quantity × price; their credit adds up to the charge" }),
    ledger: Type.Array(EntrySchema, { description: "What the books have of it" }),
    task_id: Type.Union([Type.String(), Type.Null()]),
    hold: Type.Object({
      amount: Type.Number({ description: "Credits that were set aside" }),
      state: Type.Enum(["held", "settled", "voided"]),
      created_at: Seconds,
      ended_at: Type.Union([Seconds, Type.Null()]),
    }),
  },
  { title: "RequestDetail" },
);

const FILTERS = ["id", "account_id", "key_id", "model", "provider", "outcome"] as const;

/** Paid requests and how they ended. */
export const requestRoutes: readonly Route[] = [
  {
    method: "get",
    path: "/admin/v1/requests",
    access: "admin",
    summary: "Paid requests that have ended, newest first",
    tag: "admin",
    query: {
      ...PAGE_QUERY,
      ...Object.fromEntries(FILTERS.map((name) => [name, Type.String()])),
      outcome: Type.Enum([...OUTCOMES]),
      ...rangeQuery("Settled"),
    },
    answers: { 200: { description: "A page", schema: pageSchema(RequestSchema) } },
    errors: [400, 503],
    async handle(context) {
      const { services, query } = context;
      const filter = { ...textsOf(query, FILTERS), ...rangeOf(query) };
      return respondWhole(context, await services.admin.requests(filter, pageOf(query)));
    },
  },
  {
    method: "get",
    path: "/admin/v1/requests/:id",
    access: "admin",
    summary: "One paid request that has ended, and how its charge came about",
    tag: "admin",
    answers: { 200: { description: "The request", schema: RequestDetailSchema } },
    errors: [404, 503],
    handle: async ({ services, params }) => respondJson(await services.admin.request(params.id ?? "")),
  },
];
