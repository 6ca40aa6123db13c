import { chatCompletions } from "../../protocols/chat-completions/index.ts";
import { ChatAnswerSchema, ChatRequestSchema } from "../../protocols/chat-completions/schema.ts";
import type { Route } from "../route.ts";
import { handleRelay, RELAY_ERRORS } from "./relay.ts";

/** `POST /api/v1/chat/completions`. */
export const chatCompletionsRoute: Route = {
  method: "post",
  path: "/api/v1/chat/completions",
  access: "key",
  summary: "Chat completions, plain or streamed",
  tag: "language",
  protocol: chatCompletions,
  body: ChatRequestSchema,
  answers: {
    200: { description: "The completion, with its cost in `credit`", schema: ChatAnswerSchema, stream: true },
  },
  errors: RELAY_ERRORS,
  handle: (context) => handleRelay(context, chatCompletions),
};
