import { messages } from "../../protocols/messages/index.ts";
import { MessagesAnswerSchema, MessagesRequestSchema } from "../../protocols/messages/schema.ts";
import type { Route } from "../route.ts";
import { handleRelay, RELAY_ERRORS } from "./relay.ts";

const messagesRoute: Route = {
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

/** `POST /api/v1/messages`, and where the official SDK looks for it when its base address ends in `/api/v1`. */
export const messagesRoutes: readonly Route[] = [
  messagesRoute,
  { ...messagesRoute, path: "/api/v1/v1/messages", isAlias: true },
];
