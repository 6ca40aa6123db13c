import { isKnown } from "../etag.ts";
import { Type } from "typebox";
import { readRange } from "../byte-range.ts";
import { fileNameOf } from "../../assets/asset-name.ts";
import type { OpenAsset } from "../../assets/assets.ts";
import { withHeaders, toGatewayError } from "../../core/errors.ts";
import type { Route, RouteContext } from "../route.ts";

/** Files that tasks made, for the holder of a signed URL. */
export const assetRoute: Route = {
  method: "get",
  path: "/assets/:task_id/:name",
  // Every path below the folder gets the same answer, so that a wrong URL tells nothing.
  readPath: (path) => (path.startsWith("/assets/") ? { path } : undefined),
  access: "public",
  summary: "A file that a task made, by the signed URL that the task's answer has",
  tag: "service",
  query: {
    expires: Type.String({ description: "In seconds since the epoch" }),
    signature: Type.String(),
  },
  answers: {
    200: { description: "The file", files: ["image/png", "image/jpeg", "image/webp", "video/mp4"] },
    206: { description: "The part of it that `Range` asks for", files: ["image/*", "video/mp4"] },
    304: { description: "The client has it already" },
    416: { description: "The file has nothing of the part that `Range` asks for" },
  },
  errors: [403, 503],
  async handle(context) {
    const { services, request, params } = context;
    try {
      const file = await services.openAsset(params.path ?? "", queryOf(request.url));
      return respondFile(context, file);
    } catch (error) {
      // Lets scripts in a page read why.
      throw withHeaders(toGatewayError(error), FOR_PAGES);
    }
  },
};

/** As it was sent. */
function queryOf(url: string): string {
  const at = url.indexOf("?");
  return at === -1 ? "" : url.slice(at + 1);
}

/**
 * Applications show files in pages of other origins. The URL alone gives the right to read, no cookie or credential
 * does, so any page that has it may.
 */
const FOR_PAGES = {
  "access-control-allow-origin": "*",
  "cross-origin-resource-policy": "cross-origin",
  "referrer-policy": "no-referrer",
};

/** The whole file, the part that was asked for, or a 304. */
function respondFile({ request }: RouteContext, file: OpenAsset): Response {
  const { bytes } = file;
  const etag = `"${file.name.slice(0, file.name.indexOf("."))}"`;
  const headers = new Headers({ ...headersOf(file), etag });
  if (isKnown(request.headers, etag)) return new Response(null, { status: 304, headers });
  headers.set("content-type", file.mediaType);
  const isHead = request.method === "HEAD";
  const range = isHead ? undefined : rangeOf(request.headers, etag, bytes);
  if (range === "none") {
    headers.delete("content-type");
    headers.set("content-range", `bytes */${bytes}`);
    return new Response(null, { status: 416, headers });
  }
  const { start, end } = range ?? { start: 0, end: bytes };
  headers.set("content-length", String(end - start));
  if (range !== undefined) headers.set("content-range", `bytes ${start}-${end - 1}/${bytes}`);
  return new Response(isHead ? null : file.slice(start, end), {
    status: range === undefined ? 200 : 206,
    headers,
  });
}

/** `If-Range` counts only with the file's own tag; files have no dates here. */
function rangeOf(headers: Headers, etag: string, bytes: number): ReturnType<typeof readRange> {
  const only = headers.get("if-range");
  return only === null || only.trim() === etag ? readRange(headers.get("range"), bytes) : undefined;
}

/**
 * The content is a provider's. It is shown as the image or video that it was checked to be, and nothing in it may run.
 * It never changes, and may be cached for as long as its URL is valid.
 */
function headersOf(file: OpenAsset): Record<string, string> {
  return {
    ...FOR_PAGES,
    "accept-ranges": "bytes",
    "access-control-expose-headers": "accept-ranges, content-length, content-range, etag, x-request-id",
    "cache-control": `private, max-age=${file.goodForSec}, immutable`,
    "content-disposition": `inline; filename="${fileNameOf(file)}"`,
    // A browser that shows the file by itself makes a page around it.
    "content-security-policy":
      "sandbox; default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'",
  };
}
