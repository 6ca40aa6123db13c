import { Type } from "typebox";
import { PublicModelSchema } from "../../catalog/schema.ts";
import { CATEGORIES } from "../../core/model.ts";
import { GatewayError } from "../../core/errors.ts";
import { findPublicModel, listModels } from "../../gateway/models.ts";
import { respondJson } from "../respond.ts";
import { callerOf, type Route } from "../route.ts";

const routes: readonly Route[] = [
  {
    method: "get",
    path: "/api/v1/models",
    access: "key",
    summary: "The enabled models that the key may use",
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
    handle(context) {
      const { services } = context;
      return respondJson(listModels(services.relay.offer().catalog, callerOf(context), services.publicUrl()));
    },
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
    handle(context) {
      const { services, params, query } = context;
      const categories = query.getAll("category");
      if (categories.length > 1) {
        throw new GatewayError("invalid_request_error", "category stands twice in the query.", {
          param: "category",
        });
      }
      const { catalog } = services.relay.offer();
      const asked = { id: params.model ?? "", category: categories[0] };
      return respondJson(findPublicModel(catalog, callerOf(context), asked, services.publicUrl()));
    },
  },
];

/**
 * `GET /api/v1/models` and `GET /api/v1/models/{model}`, and where the SDK of messages looks for them when its base
 * address ends in `/api/v1`.
 */
export const modelRoutes: readonly Route[] = [...routes, ...routes.map(aliasOf)];

function aliasOf(route: Route): Route {
  return { ...route, path: route.path.replace("/api/v1/", "/api/v1/v1/"), isAlias: true };
}
