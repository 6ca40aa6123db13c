import { messages } from "../../protocols/messages/index.ts";
import { messagesCounter } from "../../protocols/messages/count.ts";
import {
  CountAnswerSchema,
  CountRequestSchema,
  MessagesAnswerSchema,
  MessagesRequestSchema,
} from "../../protocols/messages/schema.ts";
import type { Route } from "../route.ts";
import { COUNT_ERRORS, COUNT_NOTE, handleCount } from "./count.ts";
import { handleRelay, RELAY_ERRORS } from "./relay.ts";

/** `POST /api/v1/messages`. */
export const messagesRoute: Route = {
  method: "post",
  path: "/api/v1/messages",
  access: "key",
  summary: "Messages, plain or streamed",
  tag: "language",
  protocol: messages,
  body: MessagesRequestSchema,
  answers: {
    200: {
      description: "The message, with its cost in `credit`",
      schema: MessagesAnswerSchema,
      stream: true,
    },
  },
  errors: RELAY_ERRORS,
  handle: (context) => handleRelay(context, messages),
};

/** `POST /api/v1/messages/count_tokens`. */
export const messagesCountRoute: Route = {
  method: "post",
  path: "/api/v1/messages/count_tokens",
  access: "key",
  summary: "The input tokens of a request in messages; free",
  tag: "language",
  protocol: messages,
  body: CountRequestSchema,
  answers: { 200: { description: `The count. ${COUNT_NOTE}`, schema: CountAnswerSchema } },
  errors: COUNT_ERRORS,
  handle: (context) => handleCount(context, messagesCounter),
};
