import { type Clock, wait } from "../../../core/time/clock.ts";
import { GatewayError } from "../../../core/errors.ts";
import { imageSizeOf } from "../../../core/media/image-size.ts";
import type { MediaRequest } from "../../../core/media/media.ts";
import type { Category, Model } from "../../../core/model.ts";
import type { Usage } from "../../../core/money/usage.ts";
import { contentHash } from "../../../runtime/hash.ts";
import type { MediaAdapter, MediaCall, MediaRefusal, MediaStep } from "../../media.ts";
import type { MediaProvider } from "../../provider.ts";
import { Refusal } from "../formats/ask.ts";
import { imageOrder } from "./image-order.ts";
import { sizeOfVideo } from "./sizes.ts";
import { imageUsage, videoUsage } from "./usage.ts";
import { SANDBOX } from "../name.ts";
import { ORDERS_HEADER, type Orders, rateLimit, readOrders } from "../orders.ts";
import type { Studio } from "./studio.ts";
import { makeVideo } from "./video.ts";

/** By these its answers say where they come from, refusals too. */
const HEADERS = { "x-switchyard-provider": SANDBOX } as const;

/** So long a task waits, and the work on it takes, unless its request orders otherwise. */
const PENDING_MS = 1_000;
const RUNNING_MS = 2_000;

/** How often it is polled. */
const POLL_MS = 500;

export interface SandboxMediaParts {
  readonly clock: Clock;
  readonly studio: Studio;
  readonly modelOf: (id: string, category: Category) => Model | undefined;
}

/**
 * The sandbox's maker of images and videos: within this process, on a thread that is there while it has work. A job's
 * name says all that is to be known of it: when it is done and what chance is seeded with. So the job outlives the
 * process.
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
      image: adapterOf(clock, async (request, { model: id, signal }, seed, { fail, images }) => {
        // Images of a partial failure are one less than were asked for, unless it is ordered how many come.
        const count = fail === "partial" ? Math.min(request.n, images ?? request.n - 1) : request.n;
        const files: Uint8Array[] = [];
        for (let i = 0; i < count; i += 1)
          files.push(await studio.draw(imageOrder(request, id, seed, i), signal));
        const model = modelOf(id, "image");
        return { files, usage: model && imageUsage(model, request, count) };
      }),
      video: adapterOf(clock, async (request, { model: id }, seed) => {
        const frame = request.firstFrame === undefined ? undefined : imageSizeOf(request.firstFrame);
        const size = sizeOfVideo(request, frame);
        const file = await makeVideo(size, request.durationSec, seed);
        const model = modelOf(id, "video");
        return { files: [file], usage: model && videoUsage(model, request, size) };
      }),
    },
  };
}

type MediaOrders = Orders<MediaRequest["kind"]>;

interface Made {
  readonly files: readonly Uint8Array[];
  readonly usage: Usage | undefined;
}

function adapterOf<Request extends MediaRequest>(
  clock: Clock,
  make: (request: Request, call: MediaCall, seed: string, orders: MediaOrders) => Promise<Made>,
): MediaAdapter<Request> {
  const working = (job: string, leftMs: number): MediaStep => ({
    state: "working",
    job,
    pollAfterMs: Math.min(POLL_MS, leftMs),
  });
  return {
    create: (request, call) =>
      withOrders(request, call, async ({ fail, delayMs, runningMs = RUNNING_MS }) => {
        if (delayMs > 0) await wait(clock, delayMs, call.signal);
        if (fail === "overloaded" || fail === "rate_limit")
          return refused("busy", "The sandbox was told to be overloaded.");
        // When it is done, and what chance is seeded with where the request has no seed.
        const job = `sandbox.${clock.steadyMs() + runningMs}.${contentHash(call.reference).slice(0, 16)}`;
        return working(job, runningMs);
      }),
    poll: (job, request, call) =>
      withOrders(request, call, async (orders) => {
        const [, doneAtMs, seed] = /^sandbox\.(\d+)\.([0-9a-f]+)$/.exec(job) ?? [];
        if (seed === undefined || doneAtMs === undefined) return { state: "unknown_job" };
        const leftMs = Number(doneAtMs) - clock.steadyMs();
        if (leftMs > 0) return working(job, leftMs);
        switch (orders.fail) {
          case "timeout":
            return working(job, POLL_MS);
          case "vanish":
            return { state: "unknown_job" };
          case "failed":
            return refused("failed", "The sandbox was told to fail.");
          case "moderation":
            return refused("moderation", "Blocked by content filtering policy: the sandbox was told to.");
        }
        const { files, usage } = await make(request, call, request.seed?.toString() ?? seed, orders);
        const outputs = files.map((bytes) => ({ bytes }));
        return { state: "done", outputs, ...(usage === undefined ? {} : { usage }) };
      }),
    // It keeps nothing, so a job whose name was lost is none: the work can be begun again.
    find: async () => undefined,
  };
}

/** A step by the orders of its request. What it refuses by throwing is told as adapters do. */
async function withOrders(
  { kind }: MediaRequest,
  { clientHeaders }: MediaCall,
  step: (orders: MediaOrders) => Promise<MediaStep>,
): Promise<MediaStep> {
  try {
    return await step(readOrders(clientHeaders[ORDERS_HEADER], kind));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return refused("invalid_request", error.message);
  }
}

function refused(reason: MediaRefusal["reason"], message: string): MediaStep {
  return { state: "refused", refusal: { reason, message } };
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
  throw rateLimit(HEADERS);
}
