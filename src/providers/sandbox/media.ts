import { type Clock, wait } from "../../core/time/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import { imageSizeOf } from "../../core/image-size.ts";
import type { MediaRequest } from "../../core/media.ts";
import type { Category, Model } from "../../core/model.ts";
import { contentHash } from "../../runtime/hash.ts";
import type { MediaAdapter, MediaCall, MediaDone, MediaRefusal, MediaStep } from "../media.ts";
import type { MediaProvider } from "../provider.ts";
import { Refusal } from "./ask.ts";
import { sizeOfVideo, sizeOfImage } from "./media-sizes.ts";
import { videoUsage, imageUsage } from "./media-usage.ts";
import { SANDBOX } from "./name.ts";
import { ORDERS_HEADER, type Orders, readOrders } from "./orders.ts";
import { imageOrder } from "./image-order.ts";
import type { Studio } from "./studio.ts";
import { makeVideo } from "./video.ts";

/** By these its answers say where they come from, refusals too. */
const HEADERS = { "x-switchyard-provider": SANDBOX } as const;

/** So long a task waits before it is begun, unless its request orders otherwise. */
const PENDING_MS = 1_000;

/** So long the work on it takes. */
const RUNNING_MS = 2_000;

/** How often it is asked after by default. */
const POLL_MS = 500;

/** What the maker of images and videos is made of. */
export interface SandboxMediaParts {
  readonly clock: Clock;
  readonly studio: Studio;
  readonly modelOf: (id: string, category: Category) => Model | undefined;
}

/**
 * The sandbox's maker of images and videos: within this process, on a thread that is there while it has work. A job's
 * name says all that is to be known of it, so it outlives the process: when it is done and what chance is seeded with.
 */
export function createSandboxMedia({ clock, studio, modelOf }: SandboxMediaParts): MediaProvider {
  return {
    id: SANDBOX,
    baseUrl: "http://sandbox.invalid",
    headers: {},
    secrets: [],
    clientHeaders: [ORDERS_HEADER],
    answerHeaders: HEADERS,
    minPendingMs: PENDING_MS,
    admit: (kind, clientHeaders) => admitOrders(clientHeaders[ORDERS_HEADER], kind),
    adapters: {
      image: adapterOf(clock, async (request, call, seed) => {
        const size = sizeOfImage(request);
        const { fail, images } = ordersOf(request, call);
        // Images of a partial failure are one less than were asked for, unless it is ordered how many come.
        const count = fail === "partial" ? Math.min(request.n, images ?? request.n - 1) : request.n;
        const outputs = [];
        for (let index = 0; index < count; index += 1) {
          const order = imageOrder(request, { size, seed, index, model: call.model });
          outputs.push({ bytes: await studio.draw(order, call.signal) });
        }
        const model = modelOf(call.model, "image");
        return {
          state: "done",
          outputs,
          ...(model === undefined ? {} : { usage: imageUsage(model, request, count) }),
        };
      }),
      video: adapterOf(clock, async (request, call, seed) => {
        const frame = request.firstFrame === undefined ? undefined : imageSizeOf(request.firstFrame);
        const size = sizeOfVideo(request, frame);
        const bytes = await makeVideo(size, request.durationSec, seed);
        const model = modelOf(call.model, "video");
        return {
          state: "done",
          outputs: [{ bytes }],
          ...(model === undefined ? {} : { usage: videoUsage(model, request, size) }),
        };
      }),
    },
  };
}

type MediaOrders = Orders<MediaRequest["kind"]>;

function adapterOf<Request extends MediaRequest>(
  clock: Clock,
  make: (request: Request, call: MediaCall, seed: string) => Promise<MediaDone>,
): MediaAdapter<Request> {
  return {
    create: (request, call) =>
      inWords(async () => {
        const { fail, delayMs, runningMs = RUNNING_MS } = ordersOf(request, call);
        if (delayMs > 0) await wait(clock, delayMs, call.signal);
        if (fail === "overloaded" || fail === "rate_limit")
          return refused("busy", "The sandbox was told to be overloaded.");
        // When it is done, and what chance is seeded with where the request has no seed.
        const job = `sandbox.${clock.steadyMs() + runningMs}.${contentHash(call.reference).slice(0, 16)}`;
        return { state: "working", job, pollAfterMs: Math.min(POLL_MS, runningMs) };
      }),
    poll: (name, request, call) =>
      inWords(async () => {
        const [, doneAtMs, seed] = /^sandbox\.(\d+)\.([0-9a-f]+)$/.exec(name) ?? [];
        if (seed === undefined) return { state: "unknown_job" };
        const leftMs = Number(doneAtMs) - clock.steadyMs();
        const { fail } = ordersOf(request, call);
        if (leftMs > 0) return { state: "working", job: name, pollAfterMs: Math.min(POLL_MS, leftMs) };
        if (fail === "timeout") return { state: "working", job: name, pollAfterMs: POLL_MS };
        return failed(fail) ?? make(request, call, request.seed?.toString() ?? seed);
      }),
    // It keeps nothing, so a job whose name was lost is none: the work can be begun again.
    find: async () => undefined,
  };
}

/** What the sandbox refuses by throwing, as an adapter tells it. */
async function inWords(step: () => Promise<MediaStep>): Promise<MediaStep> {
  try {
    return await step();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return refused("invalid_request", error.message);
  }
}

/** How work ends that was ordered to fail once it was done. */
function failed(fail: MediaOrders["fail"]): MediaStep | undefined {
  if (fail === "vanish") return { state: "unknown_job" };
  if (fail === "failed") return refused("failed", "The sandbox was told to fail.");
  if (fail !== "moderation") return undefined;
  return refused("moderation", "Blocked by content filtering policy: the sandbox was told to.");
}

function refused(reason: MediaRefusal["reason"], message: string): MediaStep {
  return { state: "refused", refusal: { reason, message } };
}

function ordersOf({ kind }: MediaRequest, { clientHeaders }: MediaCall): MediaOrders {
  return readOrders(clientHeaders[ORDERS_HEADER], kind);
}

function admitOrders(
  header: string | undefined,
  kind: MediaRequest["kind"],
): { readonly pendingMs?: number } {
  try {
    const { fail, pendingMs } = readOrders(header, kind);
    if (fail !== "rate_limit") return pendingMs === undefined ? {} : { pendingMs };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const more = { param: ORDERS_HEADER, headers: HEADERS, cause: error };
    throw new GatewayError("invalid_request_error", error.message, more);
  }
  const more = { retryAfterSec: 1, headers: HEADERS };
  throw new GatewayError("rate_limit_error", "The sandbox was told to limit the rate.", more);
}
