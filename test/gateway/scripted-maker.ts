import type { Clock } from "../../src/core/time/clock.ts";
import type { MediaRequest } from "../../src/core/media/media.ts";
import type {
  BegunParts,
  MediaAdapter,
  MediaCall,
  MediaRefusal,
  MediaStep,
} from "../../src/providers/media.ts";
import { cannotBeUsed } from "../../src/providers/media-answers.ts";
import type { MediaProvider } from "../../src/providers/provider.ts";

/** What a scripted provider does when it is called: answers, throws, never answers, or when the test says so. */
export type Act<T> = T | Error | "never" | "later";

/** Its answers call by call; the last one is repeated. It does not offer a call that is absent. */
export interface MakerScript {
  /** What of any request it cannot be asked for. */
  readonly lacks?: string;
  readonly create: readonly Act<MediaStep>[];
  /** The parts that each `create` has begun, as it tells them; the last is repeated. */
  readonly begun?: readonly (BegunParts | undefined)[];
  /** Images that it loads before each `create`. */
  readonly loads?: readonly string[];
  readonly poll?: readonly Act<MediaStep>[];
  readonly find?: readonly Act<string | undefined>[];
  /** `false`: its server failed. */
  readonly cancel?: readonly Act<boolean>[];
}

/** A maker of images and videos without a network, that follows a script and remembers its calls. */
export interface ScriptedMaker {
  readonly provider: MediaProvider;
  /** `create <number of the attempt>`, `poll <job>`, `find <number>`, `cancel <job>`, in order. */
  readonly calls: readonly string[];
  /** When each of them came, in milliseconds since the first. */
  readonly timesMs: readonly number[];
  /** Answers the call that waits for it. */
  answer(step: MediaStep): void;
}

export function createScriptedMaker(script: MakerScript, clock: Clock, id = "double"): ScriptedMaker {
  const calls: string[] = [];
  const timesMs: number[] = [];
  let firstMs: number | undefined;
  let answerLater: ((step: MediaStep) => void) | undefined;
  const did: Record<string, number> = {};
  const act = async <T>(
    kind: Exclude<keyof MakerScript, "loads" | "lacks" | "begun">,
    name: string,
    call: MediaCall,
  ): Promise<T> => {
    calls.push(`${kind} ${name}`);
    firstMs ??= clock.nowMs();
    timesMs.push(clock.nowMs() - firstMs);
    call.signal.throwIfAborted();
    const acts = (script[kind] ?? []) as readonly Act<T>[];
    const nth = did[kind] ?? 0;
    did[kind] = nth + 1;
    const next = acts[Math.min(nth, acts.length - 1)];
    if (next instanceof Error) throw next;
    if (next === "never" || next === "later")
      return new Promise<T>((resolve, reject) => {
        if (next === "later") answerLater = (step) => resolve(step as T);
        call.signal.addEventListener("abort", () => reject(call.signal.reason as Error), { once: true });
      });
    return next as T;
  };
  const attempt = ({ reference }: MediaCall): string => reference.split(".")[1] ?? "";
  const { lacks } = script;
  const adapter: MediaAdapter<MediaRequest> = {
    ...(lacks === undefined ? {} : { lacks: () => cannotBeUsed(lacks) }),
    async create(_request, call) {
      await Promise.all((script.loads ?? []).map((input) => call.load(input, "image")));
      const { begun = [] } = script;
      const parts = begun[Math.min(did.create ?? 0, begun.length - 1)];
      if (parts !== undefined) call.noteBegun(parts);
      return act("create", attempt(call), call);
    },
    ...(script.poll === undefined ? {} : { poll: (job, _request, call) => act("poll", job, call) }),
    ...(script.find === undefined ? {} : { find: (call) => act("find", attempt(call), call) }),
    ...(script.cancel === undefined ? {} : { cancel: (job, call) => act("cancel", job, call) }),
  };
  const provider: MediaProvider = {
    id,
    baseUrl: "http://double.invalid/api",
    headers: { authorization: "Bearer sk-double-secret-1" },
    secrets: ["sk-double-secret-1"],
    adapters: { image: adapter, video: adapter },
  };
  return { provider, calls, timesMs, answer: (step) => answerLater?.(step) };
}

/** A refusal for `reason`. */
export function refused(reason: MediaRefusal["reason"], more: Partial<MediaRefusal> = {}): MediaStep {
  return { state: "refused", refusal: { reason, message: "", code: "Code", ...more } };
}

/** The provider has it. */
export const working = (job = "job-1", pollAfterMs?: number): MediaStep => ({
  state: "working",
  job,
  ...(pollAfterMs === undefined ? {} : { pollAfterMs }),
});

export const unknownJob: MediaStep = { state: "unknown_job" };
