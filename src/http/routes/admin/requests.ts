import { Type } from "typebox";
import { respondLong } from "../../respond.ts";
import type { Route } from "../../route.ts";
import { pageOf } from "./body.ts";
import { PAGE_QUERY, pageSchema } from "./schemas.ts";

const Seconds = Type.Number({ description: "Unix time in seconds, to the millisecond" });
const NullableText = Type.Union([Type.String(), Type.Null()]);

const RequestSchema = Type.Object(
  {
    id: Type.String({ description: "As in x-request-id" }),
    account_id: Type.String(),
    key_id: Type.String(),
    model: Type.String({ description: "The one that served" }),
    provider: NullableText,
    outcome: Type.String({
      description:
        "completed, cancelled, client_gone, process_died, expired, unwritten, unfinished_upstream, or the type of the error",
    }),
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
        upstream_id: Type.String(),
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

const FILTERS = ["id", "account_id", "key_id", "model", "provider", "outcome"] as const;

/** Paid requests and how they ended. */
export const requestsRoute: Route = {
  method: "get",
  path: "/admin/v1/requests",
  access: "admin",
  summary: "Paid requests that have ended, newest first",
  tag: "admin",
  query: { ...PAGE_QUERY, ...Object.fromEntries(FILTERS.map((name) => [name, Type.String()])) },
  answers: { 200: { description: "A page", schema: pageSchema(RequestSchema) } },
  errors: [400, 503],
  async handle(context) {
    const { services, query } = context;
    const filter: { -readonly [Name in (typeof FILTERS)[number]]?: string } = {};
    for (const name of FILTERS) {
      const value = query.get(name);
      if (value !== null) filter[name] = value;
    }
    return respondLong(context, await services.admin.requests(filter, pageOf(query)));
  },
};
