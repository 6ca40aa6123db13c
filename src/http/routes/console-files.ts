import { GatewayError } from "../../core/errors.ts";
import type { ConsoleFile } from "../console/files.ts";
import { isKnown } from "../etag.ts";
import type { Route, RouteContext } from "../route.ts";

const HOME = "/console/";

/** The page of the app, which finds its screens by the path itself. */
const PAGE = "index.html";

/** Vite puts files here whose names have a hash of their content. */
const HASHED = "assets/";

/** The console's page and its files, and the way there. */
export const consoleFileRoutes: readonly Route[] = [
  {
    method: "get",
    path: "/",
    access: "public",
    summary: "Leads a browser to the console",
    tag: "console",
    answers: { 303: { description: "To /console/, for a client that accepts text/html" } },
    errors: [404],
    handle({ request }) {
      if (request.headers.get("accept")?.includes("text/html") === true) return toConsole();
      throw new GatewayError(
        "not_found_error",
        `There is nothing at this path. A browser is led to ${HOME}; for programs see /llms.txt`,
        { headers: VARY },
      );
    },
  },
  {
    method: "get",
    path: "/console/:path{.*}",
    readPath(path) {
      if (path === "/console/api" || path.startsWith("/console/api/")) return undefined;
      return path === "/console" || path.startsWith(HOME) ? { path } : undefined;
    },
    access: "public",
    summary: "The console's files; the page of the app for any other path below",
    tag: "console",
    answers: {
      200: { description: "The file", files: ["text/html", "text/javascript", "text/css", "image/*"] },
      303: { description: "From /console to /console/" },
      304: { description: "The client has it already" },
    },
    errors: [404],
    handle: (context) => (context.params.path === "/console" ? toConsole() : respondFile(context)),
  },
];

const VARY = { vary: "accept" };

function toConsole(): Response {
  return new Response(null, { status: 303, headers: { location: HOME, ...VARY } });
}

function respondFile(context: RouteContext): Response {
  const { services, request, params } = context;
  const { files, fileOrigins } = services.web;
  const path = (params.path ?? "").slice(HOME.length);
  const accepted = request.headers.get("accept-encoding");
  const named = files.find(path, accepted);
  // A page of an earlier build asks for its own scripts: the page in place of one would be a puzzle.
  const file = named ?? (path.startsWith(HASHED) ? undefined : files.find(PAGE, accepted));
  if (file === undefined) throw noFile();
  const isHashed = named !== undefined && path.startsWith(HASHED);
  const headers = new Headers(headersOf(file, isHashed, fileOrigins()));
  if (isKnown(request.headers, file.etag)) return new Response(null, { status: 304, headers });
  headers.set("content-type", file.mediaType);
  if (file.encoding !== undefined) headers.set("content-encoding", file.encoding);
  context.limitStall();
  return new Response(file.bytes, { headers });
}

function noFile(): GatewayError {
  return new GatewayError("not_found_error", "There is no such file of the console: reload the page.");
}

function headersOf(
  file: ConsoleFile,
  isHashed: boolean,
  fileOrigins: readonly string[],
): Record<string, string> {
  return {
    etag: file.etag,
    "cache-control": isHashed ? "public, max-age=31536000, immutable" : "no-cache",
    vary: "accept-encoding",
    "content-security-policy": policy(fileOrigins),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
  };
}

/** Result files are shown from `fileOrigins`; everything else is the console's own. */
function policy(fileOrigins: readonly string[]): string {
  const shown = ["'self'", "data:", "blob:", ...fileOrigins].join(" ");
  const rules = {
    "default-src": "'self'",
    "script-src": "'self'",
    "style-src": "'self'",
    "connect-src": "'self'",
    "img-src": shown,
    "media-src": shown,
    "object-src": "'none'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
    "form-action": "'self'",
  };
  return Object.entries(rules)
    .map(([name, sources]) => `${name} ${sources}`)
    .join("; ");
}
