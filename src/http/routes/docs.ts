import { isKnown } from "../etag.ts";
import { findModelPage, servicePageOf } from "../../gateway/models.ts";
import { contentHash } from "../../runtime/hash.ts";
import type { Route, RouteContext } from "../route.ts";

/** The pages for people and programs that call models: public, as Markdown. */
export const docsRoutes: readonly Route[] = [
  {
    method: "get",
    path: "/llms.txt",
    access: "public",
    summary: "What this service is, and where the pages of its models are",
    tag: "models",
    answers: { 200: { description: "Markdown", text: "text/markdown" } },
    errors: [],
    handle: (context) =>
      respondPage(
        context,
        servicePageOf(context.services.relay.offer().catalog, context.services.publicUrl()),
      ),
  },
  {
    method: "get",
    path: "/docs/:category/:model{.+}/llms.txt",
    access: "public",
    summary: "All that is needed to use a model; the slash in its id may be percent-encoded",
    tag: "models",
    answers: { 200: { description: "Markdown", text: "text/markdown" } },
    errors: [400, 404],
    handle(context) {
      const { services, params } = context;
      const { catalog } = services.relay.offer();
      const { category = "", model = "" } = params;
      return respondPage(context, findModelPage(catalog, model, category, services.publicUrl()));
    },
  },
];

/** A page may be cached for a minute, and is revalidated by its content. */
function respondPage({ request }: RouteContext, text: string): Response {
  const etag = `"${contentHash(text).slice(0, 32)}"`;
  const headers = { etag, "cache-control": "public, max-age=60" };
  if (isKnown(request.headers, etag)) return new Response(null, { status: 304, headers });
  return new Response(text, { headers: { ...headers, "content-type": "text/markdown; charset=utf-8" } });
}
