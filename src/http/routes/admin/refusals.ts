import { Type } from "typebox";
import { REFUSAL_GROUPINGS, REFUSAL_INTERVALS } from "../../../gateway/admin/refusals.ts";
import { REFUSED_STATUSES } from "../../../gateway/refusals.ts";
import { respondWhole } from "../../respond.ts";
import type { Route } from "../../route.ts";
import { INTERVALS_SAID, pageOf, rangeOf, rangeQuery, textsOf, wordOf } from "./body.ts";
import { PAGE_QUERY, pageSchema } from "./schemas.ts";

const Seconds = Type.Number({ description: "Unix time in seconds, to the millisecond" });
const NullableText = Type.Union([Type.String(), Type.Null()]);
const STATUSES = [...REFUSED_STATUSES].map(String);

const RefusalSchema = Type.Object(
  {
    id: Type.String({ description: "As in x-request-id" }),
    at: Seconds,
    status: Type.Integer(),
    code: Type.String({ description: "The error's code, or its type where it has none" }),
    field: Type.Union([Type.String(), Type.Null()], { description: "The field at fault" }),
    model: Type.Union([Type.String(), Type.Null()], {
      description: "Null where none was named that there is",
    }),
    key_id: NullableText,
    account_id: NullableText,
    path: Type.String(),
  },
  { title: "Refusal" },
);

const FILTERS = ["id", "code", "key_id", "account_id", "model"] as const;

/** Requests that were refused before anything was held for them. */
export const refusalRoutes: readonly Route[] = [
  {
    method: "get",
    path: "/admin/v1/refusals",
    access: "admin",
    summary: "Requests that were refused before a hold, the last 10,000, newest first",
    tag: "admin",
    query: {
      ...PAGE_QUERY,
      ...rangeQuery("Refused"),
      status: Type.Enum(STATUSES),
      ...Object.fromEntries(FILTERS.map((name) => [name, Type.String()])),
    },
    answers: { 200: { description: "A page", schema: pageSchema(RefusalSchema) } },
    errors: [400, 503],
    async handle(context) {
      const { services, query } = context;
      const status = wordOf(query, "status", STATUSES);
      const filter = {
        ...textsOf(query, FILTERS),
        ...rangeOf(query),
        ...(status === undefined ? {} : { status: Number(status) }),
      };
      return respondWhole(context, await services.admin.refusals(filter, pageOf(query)));
    },
  },
  {
    method: "get",
    path: "/admin/v1/refusals/counts",
    access: "admin",
    summary: "How many requests were refused before a hold, by the hour, the day or the week",
    tag: "admin",
    query: {
      ...rangeQuery("Refused in an hour that contains it or begins"),
      interval: Type.Enum([...REFUSAL_INTERVALS], { default: "hour", description: INTERVALS_SAID }),
      group_by: Type.Enum([...REFUSAL_GROUPINGS], { default: "none" }),
    },
    answers: {
      200: {
        description: "Oldest first; an interval or a group without refusals is left out",
        schema: Type.Object({
          data: Type.Array(
            Type.Object(
              { time: Seconds, group: NullableText, count: Type.Integer() },
              { title: "RefusalCount" },
            ),
          ),
        }),
      },
    },
    errors: [400, 503],
    async handle(context) {
      const { services, query } = context;
      const counts = await services.admin.refusalCounts({
        ...rangeOf(query),
        interval: wordOf(query, "interval", REFUSAL_INTERVALS) ?? "hour",
        groupBy: wordOf(query, "group_by", REFUSAL_GROUPINGS) ?? "none",
      });
      return respondWhole(context, counts);
    },
  },
];
