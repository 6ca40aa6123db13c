import type { FileSource } from "../../src/assets/assets.ts";
import { buildModel, createCatalog } from "../../src/catalog/catalog.ts";
import type { MediaData } from "../../src/catalog/media-schema.ts";
import type { ModelFacts } from "../../src/catalog/schema.ts";
import type { Clock } from "../../src/core/time/clock.ts";
import type { Hold } from "../../src/core/money/hold.ts";
import type { Log } from "../../src/core/log/log.ts";
import type { ImageRequest, MediaRequest, VideoRequest } from "../../src/core/media/media.ts";
import type { Model, RouteOrder } from "../../src/core/model.ts";
import type { PriceFacts } from "../../src/core/money/price.ts";
import type { ResultFile } from "../../src/core/task.ts";
import type { Offer } from "../../src/gateway/offer.ts";
import { createRouting, type Routing } from "../../src/gateway/routing/routing.ts";
import { DEFAULT_ROUTING } from "../../src/gateway/routing/settings.ts";
import type { RequestTimeline } from "../../src/ledger/commands.ts";
import type { MediaProvider } from "../../src/providers/provider.ts";
import { type TaskRun, TaskStop } from "../../src/tasks/run/job.ts";
import { concat } from "../assets/media-files.ts";
import type { LogLine } from "./gateway.ts";

/** The least that is asked for. */
export const IMAGE: ImageRequest = { kind: "image", prompt: "A red kite.", n: 1, images: [] };
export const VIDEO: VideoRequest = {
  kind: "video",
  prompt: "A kite takes off.",
  durationSec: 5,
  resolution: "720p",
  aspectRatio: "16:9",
  referenceImages: [],
  referenceVideos: [],
  referenceAudios: [],
};

/** An image or video model at one provider, by prices as a file has them. */
export function mediaModel(
  category: "image" | "video",
  facts: Partial<ModelFacts> & Pick<ModelFacts, "prices"> & { readonly media?: MediaData },
  routes: Model["routes"] = [{ provider: "double", upstreamId: "double-1" }],
): Model {
  const media = { parameters: { prompt: {} } };
  return buildModel(`test/${category}`, category, { media, ...facts }, { supportedProtocols: [], routes });
}

/** What is offered where `providers` serve `models`, each by its id. */
export function mediaOffer(models: readonly Model[], providers: readonly MediaProvider[]): Offer {
  return {
    catalog: createCatalog(models),
    providers: new Map(),
    mediaProviders: new Map(providers.map((provider) => [provider.id, provider])),
  };
}

/** One run of a task in memory. Its durable part is kept, so that the next run can go on. */
export interface TestRun extends TaskRun {
  /** Durable writes, in order. */
  readonly steps: readonly string[];
  stop(reason: TaskStop["reason"]): void;
  /** As the job tells it now. */
  timeline(): RequestTimeline | undefined;
  /** The same task in the hands of another process. */
  next(): TestRun;
}

export interface TestRunOptions {
  readonly clock: Clock;
  readonly model: Model;
  readonly request: MediaRequest;
  readonly timeoutSec?: number;
  /** Bytes that are held. */
  readonly amount?: bigint;
  readonly facts?: PriceFacts;
  readonly clientHeaders?: Readonly<Record<string, string>>;
  readonly base64?: boolean;
  readonly provider?: string;
  readonly by?: RouteOrder;
}

/** A run of a task without earlier runs. */
export function createTestRun(options: TestRunOptions): TestRun {
  const { clock, model, request, timeoutSec = 600 } = options;
  const createdAtMs = clock.nowMs();
  const hold = {
    id: "hold_00112233445566778899aabbccddeeff",
    accountId: "acct_00112233445566778899aabbccddeeff",
    keyId: "key_00112233445566778899aabbccddeeff",
    amount: options.amount ?? 10_000_000_000n,
    snapshot: {
      version: model.priceVersion,
      prices: model.prices,
      pricedAtMs: createdAtMs,
      ...(options.facts === undefined ? {} : { facts: options.facts }),
    },
  } as unknown as Hold;
  const { clientHeaders = {}, base64, provider: first = model.routes[0]?.provider ?? "" } = options;
  const kept: { job: string | null; attempts: number; refusals: number; provider: string } = {
    job: null,
    attempts: 0,
    refusals: 0,
    provider: first,
  };
  const open = (): TestRun => {
    const steps: string[] = [];
    let timeline: (() => RequestTimeline) | undefined;
    const stopping = new AbortController();
    const keep = async (step: string, change: () => void): Promise<void> => {
      await Promise.resolve();
      change();
      steps.push(step);
    };
    return {
      id: request.kind === "image" ? `img_${"0".repeat(32)}` : `vid_${"0".repeat(32)}`,
      kind: request.kind,
      accountId: hold.accountId,
      requestId: "req_00112233445566778899aabbccddeeff",
      model: model.id,
      provider: kept.provider,
      hold,
      payload: JSON.parse(
        JSON.stringify({ request, clientHeaders, ...(base64 === undefined ? {} : { base64 }) }),
      ),
      by: options.by,
      job: kept.job,
      attempts: kept.attempts,
      refusals: kept.refusals,
      createdAtMs,
      deadlineMs: createdAtMs + timeoutSec * 1_000,
      signal: stopping.signal,
      follow: (told) => void (timeline = told),
      timeline: () => timeline?.(),
      async beginAttempt(at) {
        stopping.signal.throwIfAborted();
        const { provider = kept.provider, providerLimit = 1 } = at ?? {};
        const hasMoved = provider !== kept.provider;
        if (hasMoved && kept.attempts > kept.refusals) throw new Error("It may have been begun there.");
        if (hasMoved && providerLimit === 0) return "full";
        await keep(hasMoved ? `attempt at ${provider}` : "attempt", () => {
          kept.attempts += 1;
          kept.provider = provider;
        });
        return "begun";
      },
      noteRefusal: () => keep("refusal", () => void (kept.refusals += 1)),
      noteJob: (job) => keep(`job ${job}`, () => void (kept.job = job)),
      steps,
      stop: (reason) => stopping.abort(new TaskStop(reason)),
      next: open,
    };
  };
  return open();
}

/** A store of files in memory, which takes what begins like an image or a video. */
export interface TestFiles {
  store(
    taskId: string,
    source: FileSource,
    kind: "image" | "video",
  ): Promise<ResultFile | { notStored: string }>;
  readonly stored: readonly ResultFile[];
}

export function createTestFiles(): TestFiles {
  const stored: ResultFile[] = [];
  return {
    stored,
    async store(_taskId, source, kind) {
      const bytes = source instanceof Uint8Array ? source : concat(await Array.fromAsync(source));
      const head = String.fromCharCode(...bytes.subarray(0, 8));
      const found = head.startsWith("\u0089PNG") ? "image" : head.endsWith("ftyp") ? "video" : "page";
      if (found !== kind) return { notStored: "The file is not what was asked for." };
      const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
      const [mediaType, ending] = kind === "image" ? ["image/png", "png"] : ["video/mp4", "mp4"];
      const file = { name: `${sha256.slice(0, 16)}.${ending}`, mediaType, bytes: bytes.length, sha256 };
      stored.push(file);
      return file;
    },
  };
}

/** A log that keeps its lines. */
export function keepingLog(): Log & { readonly lines: readonly LogLine[] } {
  const lines: LogLine[] = [];
  const at =
    (level: LogLine["level"]): Log["info"] =>
    (message, fields = {}) =>
      void lines.push({ level, message, ...fields });
  return { lines, info: at("info"), warn: at("warn"), error: at("error") };
}

/** Routing that knows nothing of its routes yet, and draws the same each time. */
export function routingAt(clock: Clock): Routing {
  return createRouting({
    clock,
    random: { bytes: (count) => new Uint8Array(count) },
    settings: () => ({ ...DEFAULT_ROUTING, breakerMs: 10_000 }),
    ways: () => [],
  });
}
