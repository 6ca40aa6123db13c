import { Type } from "typebox";
import { ModelAnswerSchema, ModelListSchema } from "../../catalog/schema.ts";
import { CATEGORIES } from "../../core/model.ts";
import { GatewayError } from "../../core/errors.ts";
import { findPublicModel, listModels } from "../../gateway/models.ts";
import { isKnown } from "../etag.ts";
import { readModelPage } from "../model-page.ts";
import { respondJson, respondWhole, warningHeader } from "../respond.ts";
import { viewerOf, type Route } from "../route.ts";
import { writtenList } from "../written-lists.ts";

/** `GET /api/v1/models` and `GET /api/v1/models/{model}`. */
export const modelRoutes: readonly Route[] = [
  {
    method: "get",
    path: "/api/v1/models",
    access: "key",
    summary: "The enabled models that the key may use",
    tag: "models",
    query: {
      category: Type.Enum([...CATEGORIES], { description: "Those of this category; all when absent" }),
      limit: Type.Integer({
        minimum: 1,
        description: "So many at a time (Anthropic's SDK); all when absent",
      }),
      after_id: Type.String({ description: "Those behind it: the `last_id` of the page before" }),
      before_id: Type.String({ description: "Those before it: the `first_id` of the page behind" }),
      pageSize: Type.Integer({ minimum: 1, description: "The same as `limit` (Google's SDK)" }),
      pageToken: Type.String({ description: "The `nextPageToken` of the page before" }),
    },
    answers: {
      200: { description: "The models, in one body that the official SDKs read", schema: ModelListSchema },
      304: { description: "The client has them already, by its `If-None-Match`" },
    },
    errors: [400, 404],
    handle(context) {
      const { services, query, request } = context;
      if (query.has("client_version")) throw noCodexList();
      const { catalog } = services.relay.offer();
      const [caller, page] = [viewerOf(context), readModelPage(query)];
      const { body, etag } = writtenList(catalog, caller, page, () =>
        JSON.stringify(listModels(catalog, caller, page, services.publicUrl())),
      );
      const headers = { etag, "cache-control": "private, no-cache" };
      if (isKnown(request.headers, etag)) return new Response(null, { status: 304, headers });
      return respondWhole(context, body, headers);
    },
  },
  {
    method: "get",
    path: "/api/v1/models/:model{.+}",
    access: "key",
    summary: "One model, by its id or another name of it; the slash may be percent-encoded",
    tag: "models",
    query: { category: Type.Enum([...CATEGORIES]) },
    answers: { 200: { description: "The model", schema: ModelAnswerSchema } },
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
      const asked = { name: params.model ?? "", category: categories[0] };
      const found = findPublicModel(catalog, viewerOf(context), asked, services.publicUrl());
      return respondJson(found.model, 200, warningHeader(found.warnings));
    },
  },
];

/** Codex asks for models so, in a form of its own: with another form it complains, with a 404 it goes on. */
function noCodexList(): GatewayError {
  return new GatewayError(
    "not_found_error",
    "The list with client_version, in the form of Codex, is not served: name the model in Codex's settings.",
  );
}
