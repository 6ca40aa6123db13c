import { type TSchema, Type } from "typebox";
import { FORMATS } from "../catalog/formats.ts";
import { chatCompletions } from "../protocols/chat-completions/index.ts";
import type { RelayProtocol } from "../protocols/protocol.ts";
import { COOKIE, CSRF_HEADER, UNATTENDED_HEADER } from "./console/guard.ts";
import type { Route } from "./route.ts";

const ERROR_TEXT: Readonly<Record<number, string>> = {
  400: "Invalid request, blocked by moderation, or input too large",
  401: "Invalid or missing credential",
  402: "Not enough credits",
  403: "The signature of the URL is not valid, or not any more",
  404: "Not found",
  409: "Conflict with the present state",
  429: "Rate limit exceeded",
  500: "The gateway failed",
  502: "The provider failed",
  503: "Overloaded; try again after Retry-After",
  504: "The provider did not answer in time",
};

/** The path of a route with its parameters in braces. */
export function documentedPath({ path }: Route): string {
  return path.replace(/\/:(\w+)(\{[^}]*\})?/g, "/{$1}");
}

/** OpenAPI 3.1 of a route table, with the schemas by which requests are checked. */
export function describeOpenApi(routes: readonly Route[], publicUrl: string, version: string): object {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = documentedPath(route);
    paths[path] = { ...paths[path], [route.method]: operation(route, path) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Switchyard",
      version,
      description: "A self-hosted model gateway: one HTTP API in front of many providers.",
    },
    servers: [{ url: publicUrl }],
    tags: ["language", "embeddings", "images", "videos", "models", "admin", "console", "service"].map(
      (name) => ({
        name,
      }),
    ),
    paths,
    components: {
      schemas: Object.fromEntries(
        routes.map(errorFormatOf).map(({ id, errorSchema }) => [FORMATS[id].errorName, errorSchema]),
      ),
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "An API key" },
        apiKey: { type: "apiKey", in: "header", name: "x-api-key" },
        googleApiKey: { type: "apiKey", in: "header", name: "x-goog-api-key" },
        consoleSession: {
          type: "apiKey",
          in: "cookie",
          name: COOKIE,
          description: `A session of the console; calls that change something show its csrf in ${CSRF_HEADER}, and calls with ${UNATTENDED_HEADER} do not keep it alive`,
        },
        adminToken: { type: "http", scheme: "bearer", description: "The admin token" },
      },
    },
  };
}

const SECURITY: Readonly<Record<Route["access"], readonly object[]>> = {
  public: [],
  key: [{ bearer: [] }, { apiKey: [] }, { googleApiKey: [] }],
  admin: [{ adminToken: [] }],
  session: [{ consoleSession: [] }],
  operator: [{ consoleSession: [] }],
  play: [{ consoleSession: [] }],
};

/** The refusals that a route's access brings with it. */
const ERRORS_OF_ACCESS: Readonly<Record<Route["access"], readonly number[]>> = {
  public: [],
  // A store that is away is a 503.
  key: [401, 503],
  // An unknown query is a 400.
  admin: [400, 401],
  session: [400, 401, 403, 503],
  operator: [400, 401, 403, 503],
  play: [401, 403, 409, 503],
};

function operation(route: Route, path: string): object {
  const errors = [...new Set([...route.errors, ...ERRORS_OF_ACCESS[route.access], 500])].sort(
    (a, b) => a - b,
  );
  return {
    operationId: `${route.method}${path.replace(/[^a-zA-Z0-9]+(\w)/g, (_, next: string) => next.toUpperCase()).replace(/\W/g, "")}`,
    summary: route.summary,
    tags: [route.tag],
    security: SECURITY[route.access],
    parameters: [
      ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => parameter(name ?? "", "path", Type.String())),
      ...Object.entries(route.query ?? {}).map(([name, schema]) => parameter(name, "query", schema)),
    ],
    ...(route.body === undefined ? {} : { requestBody: { required: true, content: json(route.body) } }),
    responses: {
      ...Object.fromEntries(
        Object.entries(route.answers).map(([status, answer]) => [status, goodAnswer(answer)]),
      ),
      ...Object.fromEntries(errors.map((status) => [status, errorAnswer(status, route)])),
    },
  };
}

function goodAnswer(answer: Route["answers"][number]): object {
  const stream = answer.stream === true ? { "text/event-stream": { schema: { type: "string" } } } : {};
  const text = answer.text === undefined ? {} : { [answer.text]: { schema: { type: "string" } } };
  const files = Object.fromEntries((answer.files ?? []).map((type) => [type, {}]));
  const content = {
    ...files,
    ...(answer.schema === undefined ? {} : json(answer.schema)),
    ...text,
    ...stream,
  };
  return {
    description: answer.description,
    headers: REQUEST_ID,
    ...(Object.keys(content).length === 0 ? {} : { content }),
  };
}

/** Endpoints without a format of their own have the errors of chat completions. */
function errorFormatOf({ protocol = chatCompletions }: Route): RelayProtocol {
  return protocol;
}

function errorAnswer(status: number, route: Route): object {
  return {
    description: ERROR_TEXT[status] ?? "Error",
    headers: REQUEST_ID,
    content: json({ $ref: `#/components/schemas/${FORMATS[errorFormatOf(route).id].errorName}` }),
  };
}

const REQUEST_ID = {
  "x-request-id": { schema: { type: "string" }, description: "Names this request in logs and ledger" },
};

function parameter(name: string, where: "path" | "query", schema: TSchema): object {
  // The members of a list stand in one value, with commas between them.
  const list = Type.IsArray(schema) ? { style: "form", explode: false } : {};
  return { name, in: where, required: where === "path", ...list, schema };
}

function json(schema: TSchema): object {
  return { "application/json": { schema } };
}
