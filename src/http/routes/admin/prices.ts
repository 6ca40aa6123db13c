import { Type } from "typebox";
import { COST_UNITS, COSTS_BESIDE } from "../../../catalog/media-costs.ts";
import { PRICE_BUCKETS } from "../../../core/money/price.ts";
import { listPrices } from "../../../gateway/admin/prices.ts";
import { PRICE_UNITS } from "../../../gateway/admin/views.ts";
import { respondLong } from "../../respond.ts";
import { type Route, viewerOf } from "../../route.ts";

const ConditionSchema = Type.Object({
  words: Type.String(),
  from: Type.Optional(Type.Number({ description: "It holds from this Unix time in seconds on" })),
  utc_hours: Type.Optional(
    Type.Array(Type.Array(Type.Integer(), { minItems: 2, maxItems: 2 }), {
      description: "Hours of the day, each from the first up to the second",
    }),
  ),
  input_over: Type.Optional(
    Type.Integer({ description: "The request has more input tokens, cached ones included" }),
  ),
});

const PriceSchema = Type.Object({
  bucket: Type.Enum([...PRICE_BUCKETS]),
  what: Type.String({ description: "The bucket in words" }),
  conditions: Type.Array(ConditionSchema, {
    description: "All have to hold; without any the price counts wherever no rule before it does",
  }),
  price: Type.Number({ description: "In USD" }),
  unit: Type.Enum([...PRICE_UNITS]),
});

const JobCostsSchema = Type.Object(
  {
    per: Type.Enum([...COST_UNITS], {
      description: "What each amount is for: one image, all images of a request, or one video",
    }),
    is_about: Type.Boolean({ description: "The amounts follow from an assumed number of tokens" }),
    beside: Type.Union([Type.Enum([...COSTS_BESIDE]), Type.Null()], {
      description: "What is charged beside the amounts, by its tokens",
    }),
    most_seconds_with_references: Type.Union([Type.Number(), Type.Null()], {
      description: "A longer video with references is refused; null where none is",
    }),
    costs: Type.Array(
      Type.Object({
        parameters: Type.Record(Type.String(), Type.String(), {
          description: "The job has all of these values; other parameters do not change the cost",
        }),
        with_video: Type.Union([Type.Boolean(), Type.Null()], {
          description: "Whether a video is among the references; null where that changes nothing",
        }),
        least_credits: Type.Number(),
        most_credits: Type.Number({
          description:
            "More than the least where the model chooses the quality, or where the seconds of reference videos are charged too",
        }),
      }),
    ),
  },
  { description: "What a job costs, by the rules that have no condition of time" },
);

/** What the models cost. */
export const pricesRoute: Route = {
  method: "get",
  path: "/admin/v1/prices",
  access: "admin",
  summary: "The price lists of the enabled models, by which requests are charged",
  tag: "admin",
  answers: {
    200: {
      description: "Rules in their order: of those for one bucket the first whose conditions hold counts",
      schema: Type.Object({
        data: Type.Array(
          Type.Object({
            unique_id: Type.String(),
            prices: Type.Array(PriceSchema),
            jobs: Type.Union([JobCostsSchema, Type.Null()], {
              description: "Null: the model makes neither images nor videos",
            }),
          }),
        ),
      }),
    },
  },
  errors: [],
  handle(context) {
    const { services, session } = context;
    const { catalog } = services.relay.offer();
    const viewer = session === undefined ? undefined : viewerOf(context);
    return respondLong(context, { data: listPrices(catalog, viewer) });
  },
};
