import { relay } from "../../gateway/relay.ts";
import { chatCompletions } from "../../protocols/chat-completions/index.ts";
import { ChatAnswerSchema, ChatRequestSchema } from "../../protocols/chat-completions/schema.ts";
import { respondBytes, respondStream, warningHeader } from "../respond.ts";
import type { Route, RouteContext } from "../route.ts";

/** `POST /api/v1/chat/completions`. */
export const chatCompletionsRoute: Route = {
  method: "post",
  path: "/api/v1/chat/completions",
  access: "key",
  summary: "Chat completions, plain or streamed",
  tag: "language",
  body: ChatRequestSchema,
  answers: {
    200: { description: "The completion, with its cost in `credit`", schema: ChatAnswerSchema, stream: true },
  },
  errors: [400, 402, 429, 502, 503, 504],
  handle: handleChatCompletions,
};

async function handleChatCompletions(context: RouteContext): Promise<Response> {
  const { services, record, request, caller } = context;
  if (caller === undefined) throw new Error("The route was reached without a caller.");
  const body = await context.readBody();
  context.keepOpen();
  let streams = false;
  try {
    const output = await relay(services.relay, {
      caller,
      protocol: chatCompletions,
      body,
      signal: request.signal,
      record,
    });
    const headers = warningHeader(output.warnings);
    if (output.kind === "plain") return respondBytes(output.body, headers);
    streams = true;
    const { answer } = output;
    const pipe: typeof answer.pipe = (sink) => answer.pipe(sink).finally(() => context.limitIdle());
    return respondStream({ pipe, cancel: answer.cancel }, headers);
  } finally {
    if (!streams) context.limitIdle();
  }
}
