import { checkTaskUnread } from "../../gateway/media/submit.ts";
import type { MediaAnswer, MediaInput, MediaServices, TaskAsked } from "../../gateway/media/task.ts";
import { handOver } from "../../core/handover.ts";
import type { TaskKind } from "../../core/task.ts";
import { respondWhole, warningHeader } from "../respond.ts";
import { callerOf, type RouteContext } from "../route.ts";

/** Reads the body and answers with the result of `generate`, however long that takes. */
export async function handleMedia(
  context: RouteContext,
  kind: TaskKind,
  generate: (services: MediaServices, input: MediaInput) => Promise<MediaAnswer>,
): Promise<Response> {
  const { services, request, record } = context;
  const caller = callerOf(context);
  const body = handOver(
    await context.readBody(() => checkTaskUnread(services.largeBodies, caller, kind, record)),
  );
  // The task's own deadline counts from here on.
  context.keepOpen();
  try {
    const { signal, headers } = request;
    const { memory } = context;
    const answer = await generate(services.media, { caller, body, memory, headers, signal, record });
    context.limitIdle();
    return respond(context, answer);
  } catch (error) {
    context.limitIdle();
    throw error;
  }
}

/** Answers with the result of `act` on the task that the path names. */
export async function handleTask(
  context: RouteContext,
  kind: TaskKind,
  act: (services: MediaServices, asked: TaskAsked) => Promise<MediaAnswer>,
): Promise<Response> {
  const { services, params, record, memory } = context;
  const caller = callerOf(context);
  return respond(context, await act(services.media, { kind, id: params.id ?? "", caller, record, memory }));
}

function respond(context: RouteContext, { status, body, warnings, headers }: MediaAnswer): Response {
  return respondWhole(context, body, { ...warningHeader(warnings), ...headers }, status);
}
