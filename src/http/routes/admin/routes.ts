import { Type } from "typebox";
import { CATEGORIES, ROUTE_ORDERS } from "../../../core/model.ts";
import type { RouteFilter } from "../../../gateway/admin/routes.ts";
import { STATES } from "../../../gateway/routing/way-snapshot.ts";
import { respondLong } from "../../respond.ts";
import type { Route } from "../../route.ts";

const Seconds = Type.Number({ description: "Unix time in seconds, to the millisecond" });
const OrNull = Type.Null();

const RouteSchema = Type.Object(
  {
    model: Type.String(),
    category: Type.Enum([...CATEGORIES]),
    provider: Type.String(),
    credential: Type.Union([Type.String(), OrNull], {
      description: "The variable that holds it; null where the provider has but one",
    }),
    upstream_id: Type.String({ description: "What the provider calls the model" }),
    formats: Type.Array(Type.String(), {
      description: "In which the provider is asked, the preferred one first; empty but for language models",
    }),
    weight: Type.Number(),
    cost_known: Type.Boolean({ description: "Whether the route says what the provider charges you" }),
    by: Type.Enum([...ROUTE_ORDERS], { description: "Which of the model's routes is tried first" }),
    sticky: Type.Boolean(),
    fallback: Type.Array(Type.String(), { description: "Models that serve where this one's ways fail" }),
    state: Type.Enum([...STATES], { description: "As this process has learned it" }),
    until: Type.Union([Seconds, OrNull], { description: "When that state ends" }),
    failures: Type.Integer({ description: "Of the credential, in a row" }),
    latency_ms: Type.Union([Type.Integer(), OrNull], {
      description:
        "Of late, until the first content of a stream, or until an image or a video was made; null without a recent one",
    }),
    plain_ms: Type.Union([Type.Integer(), OrNull], {
      description: "The same of answers that are not streamed, until they were whole",
    }),
    calls: Type.Integer({ description: "Since the start of this process" }),
    failed: Type.Integer(),
    last_failure: Type.Union([
      Type.Object({
        reason: Type.String(),
        status: Type.Union([Type.Integer(), OrNull], { description: "Null when the provider gave none" }),
        at: Seconds,
      }),
      OrNull,
    ]),
  },
  { title: "Route" },
);

const FILTERS = ["model", "provider"] as const;

/** The ways to all models that are served now. */
export const routesRoute: Route = {
  method: "get",
  path: "/admin/v1/routes",
  access: "admin",
  summary: "Routes of the models that are served, each by each credential of its provider, and how they fare",
  tag: "admin",
  query: Object.fromEntries(FILTERS.map((name) => [name, Type.String()])),
  answers: { 200: { description: "All of them", schema: Type.Object({ data: Type.Array(RouteSchema) }) } },
  errors: [400],
  handle(context) {
    const { services, query } = context;
    const filter: { -readonly [Name in keyof RouteFilter]: RouteFilter[Name] } = {};
    for (const name of FILTERS) {
      const value = query.get(name);
      if (value !== null) filter[name] = value;
    }
    return respondLong(context, { data: services.modelRoutes(filter) });
  },
};
