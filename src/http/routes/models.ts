import { Type } from "typebox";
import { PublicModelSchema } from "../../catalog/schema.ts";
import { CATEGORIES } from "../../core/model.ts";
import { GatewayError } from "../../core/errors.ts";
import { findPublicModel, listModels } from "../../gateway/models.ts";
import { respondJson } from "../respond.ts";
import type { Route } from "../route.ts";

/** `GET /api/v1/models` and `GET /api/v1/models/{model}`. */
export const modelRoutes: readonly Route[] = [
  {
    method: "get",
    path: "/api/v1/models",
    access: "key",
    summary: "All enabled models",
    tag: "models",
    answers: {
      200: {
        description: "The models",
        schema: Type.Object(
          { object: Type.Literal("list"), data: Type.Array(PublicModelSchema) },
          { title: "ModelList" },
        ),
      },
    },
    errors: [],
    handle: ({ services }) => respondJson(listModels(services.relay.offer().catalog, services.publicUrl())),
  },
  {
    method: "get",
    path: "/api/v1/models/:model{.+}",
    access: "key",
    summary: "One model; the slash in its id may be percent-encoded",
    tag: "models",
    query: { category: Type.Enum([...CATEGORIES]) },
    answers: { 200: { description: "The model", schema: PublicModelSchema } },
    errors: [400, 404],
    handle({ services, params, query }) {
      const categories = query.getAll("category");
      if (categories.length > 1) {
        throw new GatewayError("invalid_request_error", "category stands twice in the query.", {
          param: "category",
        });
      }
      const { catalog } = services.relay.offer();
      return respondJson(findPublicModel(catalog, params.model ?? "", categories[0], services.publicUrl()));
    },
  },
];
