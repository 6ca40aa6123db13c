import type { MediaAnswer, MediaInput, MediaServices, TaskAsked } from "../../gateway/media/task.ts";
import type { TaskKind } from "../../core/task.ts";
import { respondBytes, warningHeader } from "../respond.ts";
import { callerOf, type RouteContext } from "../route.ts";

/** Reads the body and answers with what `generate` makes of it, however long that takes. */
export async function handleMedia(
  context: RouteContext,
  generate: (services: MediaServices, input: MediaInput) => Promise<MediaAnswer>,
): Promise<Response> {
  const { services, request, record } = context;
  const caller = callerOf(context);
  const body = await context.readBody();
  // The task's own deadline counts from here on.
  context.keepOpen();
  try {
    const { signal, headers } = request;
    return respond(await generate(services.media, { caller, body, headers, signal, record }));
  } finally {
    context.limitIdle();
  }
}

/** Answers with what `act` does with the task that the path names. */
export async function handleTask(
  context: RouteContext,
  kind: TaskKind,
  act: (services: MediaServices, asked: TaskAsked) => Promise<MediaAnswer>,
): Promise<Response> {
  const { services, params, record } = context;
  const caller = callerOf(context);
  return respond(await act(services.media, { kind, id: params.id ?? "", caller, record }));
}

function respond({ status, body, warnings, headers }: MediaAnswer): Response {
  return respondBytes(body, { ...warningHeader(warnings), ...headers }, status);
}
