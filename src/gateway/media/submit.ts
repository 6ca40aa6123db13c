import { GatewayError, toGatewayError, withHeaders } from "../../core/errors.ts";
import type { Caller } from "../../core/caller.ts";
import type { Handover } from "../../core/handover.ts";
import type { Model, RouteOrder } from "../../core/model.ts";
import type { Task, TaskKind } from "../../core/task.ts";
import type { UsedTokens } from "../../limits/limiter.ts";
import { chatCompletions } from "../../protocols/chat-completions/index.ts";
import type { MediaBody } from "../../protocols/media-request.ts";
import { holdRefusalError } from "../hold-refusal.ts";
import { type LargeBodyServices, refuseUnread } from "../large-body.ts";
import { passKeyLimits } from "../key-limits.ts";
import type { Reader, ReadTerms } from "../reading/reader.ts";
import { admitting, type RequestRecord } from "../request-record.ts";
import type { Offer } from "../offer.ts";
import { orderAsked } from "../routing/asked-order.ts";
import type { AdmissionRequest, TaskAdmission } from "./admit/admit.ts";
import { providerHeaders, taskRoutes } from "./provider.ts";
import type { MediaAnswer, MediaInput, MediaServices } from "./task.ts";

/** The answer to a submitted task. */
export interface SubmittedAnswer {
  readonly status: 200 | 202;
  readonly body: string;
  /** The task as its client first sees it. */
  readonly task: Task;
}

const NO_TOKENS: UsedTokens = { input: 0, output: 0 };

/** Default for `Retry-After` of a refusal. */
const BUSY_SEC = 10;

/**
 * Differences between the kinds: the error of a key's limits, what would cost less, the error of too many pending
 * tasks.
 */
const KINDS = {
  image: {
    limitedAs: "rate_limit_error",
    less: "fewer or smaller images",
    tooMany: (message: string) => new GatewayError("rate_limit_error", message, { retryAfterSec: BUSY_SEC }),
  },
  video: {
    // The interface lists no 429 for videos.
    limitedAs: "overloaded_error",
    less: "a shorter or smaller video",
    tooMany: (message: string) => new GatewayError("invalid_request_error", message),
  },
} as const;

/** The errors that `refuseUnread` throws for a request for something new with a large body. */
export function checkTaskUnread(
  services: LargeBodyServices,
  caller: Caller,
  kind: TaskKind,
  record: RequestRecord,
): Promise<void> {
  const refusedAs = KINDS[kind].limitedAs;
  return refuseUnread(services, { caller, endpoint: kind, format: chatCompletions, record, refusedAs });
}

/** How requests of a kind are read and admitted. */
export interface TaskWay<Body> {
  read(
    reader: Reader,
    body: Handover<Uint8Array>,
    terms: ReadTerms,
  ): MediaBody<Body> | Promise<MediaBody<Body>>;
  admit(request: AdmissionRequest, body: MediaBody<Body>): TaskAdmission;
}

/**
 * The way of every request for something new. The request is admitted, passes the limits of its key and gets its hold,
 * and its task is queued. `answer` makes the answer. Until then it counts as under way for its key. Throws a
 * `GatewayError` for everything else.
 */
export async function submitTask<Body>(
  services: MediaServices,
  input: MediaInput,
  { read, admit }: TaskWay<Body>,
  answer: (task: Task, admission: TaskAdmission) => Promise<SubmittedAnswer>,
): Promise<MediaAnswer> {
  const { caller, record, memory } = input;
  const offer = services.offer();
  const { clock, reader, allowedHosts } = services;
  const admission = await admitting(record, offer, async (asked) => {
    const body = await read(reader, input.body, { asked, signal: input.signal });
    return admit({ offer, caller, nowMs: clock.nowMs(), allowedHosts: allowedHosts() }, body);
  });
  const { model, request, warnings } = admission;
  const { kind } = request;
  record.note({ model: model.id });
  const by = orderAsked(caller, input.headers);
  const told = askProvider(offer, admission, input.headers);
  const limited = passKeyLimits(
    services,
    { caller, record, format: chatCompletions, refusedAs: KINDS[kind].limitedAs },
    NO_TOKENS,
  );
  const headers = (provider?: string | null): Readonly<Record<string, string>> => ({
    ...limited?.headers(),
    ...providerHeaders(offer, kind, model.id, provider),
  });
  try {
    const task = await queue(services, input, admission, { ...told, by });
    memory.hold(0);
    const submitted = await answer(task, admission);
    limited?.pass.end(usedTokens(submitted.task));
    return {
      status: submitted.status,
      body: submitted.body,
      warnings,
      headers: headers(submitted.task.provider),
    };
  } catch (error) {
    limited?.pass.end(NO_TOKENS);
    throw withHeaders(toGatewayError(error), headers());
  }
}

async function queue(
  { tasks }: MediaServices,
  { caller, record }: MediaInput,
  { model, request, base64, ...admission }: TaskAdmission,
  { clientHeaders, minPendingMs, by }: Told & { readonly by: RouteOrder | undefined },
): Promise<Task> {
  const { warnings, snapshot, amount, expectedCost, timeoutSec, awaited } = admission;
  const { kind } = request;
  const task = await tasks.submit({
    kind,
    accountId: caller.accountId,
    keyId: caller.keyId,
    requestId: record.requestId,
    model,
    snapshot,
    amount,
    expectedCost,
    payload: { request, clientHeaders, ...(base64 ? { base64 } : {}) },
    by,
    warnings,
    timeoutSec,
    ...(minPendingMs === undefined ? {} : { minPendingMs }),
    awaited,
  });
  if (typeof task !== "string") {
    record.note({ task: task.id });
    return task;
  }
  const { less, tooMany } = KINDS[kind];
  if (task !== "too_many_pending") throw holdRefusalError(task, { amount, less });
  throw tooMany(
    "The account has as many tasks waiting as it may have. Wait until some of them have begun, or cancel some.",
  );
}

/** What providers get beside the request, and how long the task stays pending at least. */
interface Told {
  readonly clientHeaders: Readonly<Record<string, string>>;
  readonly minPendingMs: number | undefined;
}

/** Lets the provider that is asked first check the client's headers. Throws its refusal. */
function askProvider(offer: Offer, { model, request: { kind } }: TaskAdmission, headers: Headers): Told {
  const clientHeaders = toldHeaders(offer, model, headers);
  const provider = taskRoutes(offer, kind, model.id)[0]?.provider;
  const { pendingMs = provider?.minPendingMs } = provider?.admit?.(kind, clientHeaders) ?? {};
  return { clientHeaders, minPendingMs: pendingMs };
}

/** The client's own headers that a provider of the model wants: which provider will run the task is not known yet. */
function toldHeaders({ mediaProviders }: Offer, model: Model, headers: Headers): Record<string, string> {
  const told: Record<string, string> = {};
  for (const { provider } of model.routes) {
    for (const name of mediaProviders.get(provider)?.clientHeaders ?? []) {
      const value = headers.get(name);
      if (value !== null) told[name] = value;
    }
  }
  return told;
}

function usedTokens({ result }: Task): UsedTokens {
  const usage = result?.usage;
  return usage === undefined ? NO_TOKENS : { input: usage.inputTokens, output: usage.outputTokens };
}
