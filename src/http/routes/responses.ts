import { GatewayError } from "../../core/errors.ts";
import { responses } from "../../protocols/responses/index.ts";
import {
  ConversationSchema,
  ResponsesAnswerSchema,
  ResponsesCompactionSchema,
  ResponsesCountSchema,
  ResponsesRequestSchema,
} from "../../protocols/responses/schema.ts";
import { responsesCounter } from "../../protocols/responses/count.ts";
import type { Route } from "../route.ts";
import { COUNT_ERRORS, COUNT_NOTE, handleCount } from "./count.ts";
import { handleRelay, RELAY_ERRORS } from "./relay.ts";

/** `POST /api/v1/responses`. */
const createRoute: Route = {
  method: "post",
  path: "/api/v1/responses",
  access: "key",
  summary: "Responses, plain or streamed",
  tag: "language",
  protocol: responses,
  body: ResponsesRequestSchema,
  answers: {
    200: {
      description: "The response, with its cost in `credit`",
      schema: ResponsesAnswerSchema,
      stream: true,
    },
  },
  errors: [...RELAY_ERRORS, 404],
  handle: (context) => handleRelay(context, responses),
};

const NO_WEBSOCKET = "There is no WebSocket here: POST the request, with stream true for events.";

/**
 * `GET /api/v1/responses`: some clients begin with a WebSocket. At this status they go on over HTTP at once; at a 404
 * they would first try for several seconds.
 */
const upgradeRoute: Route = {
  method: "get",
  path: "/api/v1/responses",
  access: "key",
  summary: "No WebSocket: says that requests are posted",
  tag: "language",
  protocol: responses,
  answers: { 426: { description: "Requests are posted", schema: responses.errorSchema } },
  errors: [],
  handle({ requestId, request }) {
    if (request.headers.get("upgrade") === null)
      throw new GatewayError("method_not_allowed", "Responses are asked for by POST.", {
        headers: { allow: "POST" },
      });
    const error = new GatewayError("invalid_request_error", NO_WEBSOCKET, { code: "websocket_not_served" });
    return Promise.resolve(Response.json(responses.encodeError(error, requestId), { status: 426 }));
  },
};

/** `POST /api/v1/responses/input_tokens`. */
const countRoute: Route = {
  method: "post",
  path: "/api/v1/responses/input_tokens",
  access: "key",
  summary: "The input tokens of a request in Responses; free",
  tag: "language",
  protocol: responses,
  body: ConversationSchema,
  answers: { 200: { description: `The count. ${COUNT_NOTE}`, schema: ResponsesCountSchema } },
  errors: [...COUNT_ERRORS, 404],
  handle: (context) => handleCount(context, responsesCounter),
};

/** `POST /api/v1/responses/compact`. */
const compactRoute: Route = {
  method: "post",
  path: "/api/v1/responses/compact",
  access: "key",
  summary: "A shorter conversation in the place of a long one",
  tag: "language",
  protocol: responses,
  body: ConversationSchema,
  answers: {
    200: {
      description: "What the user said, and all else in one item, with its cost in `credit`",
      schema: ResponsesCompactionSchema,
    },
  },
  errors: [...RELAY_ERRORS, 404],
  handle: (context) => handleRelay(context, responses, { compacts: true }),
};

export const responsesRoutes: readonly Route[] = [createRoute, upgradeRoute, countRoute, compactRoute];
