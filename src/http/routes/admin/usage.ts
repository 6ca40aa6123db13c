import { type TSchema, Type } from "typebox";
import { OUTCOMES } from "../../../gateway/admin/filters.ts";
import { type Figure, FIGURES, GROUPINGS, USAGE_INTERVALS } from "../../../gateway/admin/usage.ts";
import { respondWhole } from "../../respond.ts";
import type { Route } from "../../route.ts";
import { countOf, INTERVALS_SAID, rangeOf, rangeQuery, textsOf, wordOf, wordsOf } from "./body.ts";

const Durations = Type.Union([
  Type.Object({ p50: Type.Integer(), p95: Type.Integer(), p99: Type.Integer() }),
  Type.Null(),
]);

/** Those of `FIGURES`; a row has what was asked for. */
const FigureSchemas = {
  requests: Type.Integer(),
  failed: Type.Integer({ description: "Of these: neither completed, nor ended by their client" }),
  input_tokens: Type.Integer({ description: "All input, cached or not" }),
  output_tokens: Type.Integer({ description: "All output, reasoning included" }),
  cache_read_tokens: Type.Integer(),
  images: Type.Integer(),
  seconds: Type.Integer({ description: "Of video" }),
  credit: Type.Number({ description: "What was charged" }),
  cost: Type.Number({ description: "Credits that you owe providers for requests whose cost is known" }),
  credit_with_cost: Type.Number({
    description: "What was charged for those requests: your margin is this less their cost",
  }),
  latency_ms: Type.Union(Durations.anyOf, {
    description: "From the admission of requests that completed to their end, within 4.5 %; null for none",
  }),
  first_byte_ms: Type.Union(Durations.anyOf, {
    description: "From their admission to the first byte of an answer, within 4.5 %; null for none",
  }),
  latency_spread: Type.Array(Type.Object({ below_ms: Type.Integer(), requests: Type.Integer() }), {
    description: "How many requests completed in less than `below_ms`, but not in less than half of that",
  }),
} satisfies Readonly<Record<Figure, TSchema>>;

const UsageSchema = Type.Object(
  {
    time: Type.Number({
      description: "When the interval begins, Unix time in seconds; `from` where interval is all",
    }),
    group: Type.Union([Type.String(), Type.Null()], {
      description: "A route is `model@provider`. Null for requests without such a name, or without groups",
    }),
    name: Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        description: "The account's or the key's; the answer has it where group_by is account or key",
      }),
    ),
    ...Type.Partial(Type.Object(FigureSchemas)).properties,
  },
  { title: "Usage" },
);

const FILTERS = ["account_id", "key_id", "model", "provider", "outcome"] as const;

/** What paid requests come to. */
export const usageRoute: Route = {
  method: "get",
  path: "/admin/v1/usage",
  access: "admin",
  summary: "What paid requests come to by the hour, the day, the week or in all, exact to each request",
  tag: "admin",
  query: {
    ...rangeQuery("Settled"),
    interval: Type.Enum([...USAGE_INTERVALS], {
      default: "hour",
      description: `${INTERVALS_SAID}. By the hour for 100 days at the most`,
    }),
    group_by: Type.Enum([...GROUPINGS], { default: "none" }),
    ...Object.fromEntries(FILTERS.map((name) => [name, Type.String()])),
    outcome: Type.Enum([...OUTCOMES]),
    top: Type.Integer({
      minimum: 1,
      maximum: 1000,
      description: "How many groups the answer has at most, the most charged first; interval must be all",
    }),
    figures: Type.Array(Type.Enum([...FIGURES]), {
      description:
        "What the answer has of each group: all but `latency_spread` unless it is given. A year by model is several times as fast with two of them",
    }),
  },
  answers: {
    200: {
      description: "Oldest first; an interval or a group without requests is left out",
      schema: Type.Object({
        from: Type.Number({ description: "As asked, or the beginning of the hour a day ago" }),
        to: Type.Number({ description: "As asked, or now" }),
        interval: Type.Enum([...USAGE_INTERVALS]),
        group_by: Type.Enum([...GROUPINGS]),
        data: Type.Array(UsageSchema),
      }),
    },
  },
  errors: [400, 503],
  async handle(context) {
    const { services, query } = context;
    const top = countOf(query, "top");
    const figures = wordsOf(query, "figures", FIGURES);
    const usage = await services.admin.usage({
      ...rangeOf(query),
      interval: wordOf(query, "interval", USAGE_INTERVALS) ?? "hour",
      groupBy: wordOf(query, "group_by", GROUPINGS) ?? "none",
      filter: textsOf(query, FILTERS),
      ...(top === undefined ? {} : { top }),
      ...(figures === undefined ? {} : { figures }),
    });
    return respondWhole(context, usage);
  },
};
