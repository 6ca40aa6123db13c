import { handOver } from "../../core/handover.ts";
import { embed } from "../../gateway/embeddings/embed.ts";
import { refuseUnread } from "../../gateway/large-body.ts";
import { chatCompletions } from "../../protocols/chat-completions/index.ts";
import { EmbeddingAnswerSchema, EmbeddingRequestSchema } from "../../protocols/embeddings/schema.ts";
import { respondWhole, warningHeader } from "../respond.ts";
import { callerOf, type Route, type RouteContext } from "../route.ts";

/** `POST /api/v1/embeddings`. */
export const embeddingsRoute: Route = {
  method: "post",
  path: "/api/v1/embeddings",
  access: "key",
  summary: "Embeddings: a vector for each text",
  tag: "embeddings",
  body: EmbeddingRequestSchema,
  answers: {
    200: { description: "The vectors, with their cost in `credit`", schema: EmbeddingAnswerSchema },
  },
  errors: [400, 402, 429, 502, 503, 504],
  handle: handleEmbeddings,
};

async function handleEmbeddings(context: RouteContext): Promise<Response> {
  const { services, record, request, memory } = context;
  const caller = callerOf(context);
  const asked = { caller, endpoint: "embedding", format: chatCompletions, record } as const;
  const body = handOver(await context.readBody(() => refuseUnread(services.largeBodies, asked)));
  context.keepOpen();
  try {
    const { headers, signal } = request;
    const output = await embed(services.relay, { caller, headers, body, memory, signal, record });
    context.limitIdle();
    return respondWhole(context, output.body, { ...warningHeader(output.warnings), ...output.headers });
  } catch (error) {
    context.limitIdle();
    throw error;
  }
}
