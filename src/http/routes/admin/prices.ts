import { Type } from "typebox";
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
        data: Type.Array(Type.Object({ unique_id: Type.String(), prices: Type.Array(PriceSchema) })),
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
