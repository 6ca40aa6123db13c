import type { Static, TSchema } from "typebox";
import { compileSchema, faultSentence } from "../../../src/core/schema.ts";
import type { Answer } from "../answer.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../double.ts";
import { duplicateKey } from "../json-keys.ts";
import type { SeenRequest } from "../seen-request.ts";
import { type Fields, isFields } from "../strict-fields.ts";
import { fileAnswer, type FileKind } from "./result-files.ts";

/** How the next work goes. What is absent goes well. */
export interface WorkScript {
  /** How often work is asked after before it is begun, and before it is done. */
  readonly queuedPolls?: number;
  readonly runningPolls?: number;
  /** How it ends; absent: well. */
  readonly fails?: { readonly code: string; readonly message: string };
  /** Whoever asks again after it was done is told that it has failed. */
  readonly failsAfterDone?: boolean;
  /** The vendor forgets it once it was asked after so often. */
  readonly vanishesAfter?: number;
  /** What stands behind the URLs of the results; as many as were asked for, all good, when absent. */
  readonly files?: readonly FileKind[];
  /** Put in place of what is reported. */
  readonly usage?: unknown;
}

/** What becomes of a request, or of its answer, beside what it asks for. */
export type Fault =
  /** It is answered so, and nothing is done. */
  | { readonly instead: Answer }
  /** It is done, and the answer is made into another. */
  | { readonly after: (answer: Answer) => Answer };

export type Stage = "images" | "video" | "poll" | "result" | "cancel";

/** A request for work that the vendor would take. */
export interface TakenWork {
  readonly model: string;
  /** The body, or what of it is the input. */
  readonly input: Fields;
  readonly parameters: Fields;
}

/** Work that a double has taken. */
export interface Accepted extends TakenWork {
  /** What the vendor calls it, where it is asked after. */
  readonly job: string;
  readonly request: SeenRequest;
  cancelled: boolean;
}

/** Where work stands when it is asked after. */
export type Standing = "queued" | "running" | "done" | "failed" | "cancelled" | "vanished";

export interface Work extends Accepted {
  readonly script: WorkScript;
  polls: number;
}

/** What a vendor's form is answered with. */
export interface Desk {
  readonly key: string;
  /** The double's own address. */
  readonly url: string;
  take(work: TakenWork, request: SeenRequest): Work;
  find(job: string): Work | undefined;
  /** Where the work stands at this further question. */
  ask(work: Work): Standing;
  /** URLs of the results of a script, or of so many that are good. */
  urls({ script }: Work, count: number, kind: FileKind): string[];
  /** The same as bytes, for vendors whose answers carry them. */
  bytes({ script }: Work, count: number): Uint8Array[];
  /** Answers, unless a fault of the stage comes before or after it. */
  stage(stage: Stage, run: () => Answer): Answer;
}

/** A vendor's form: where it is served, and its answer to a request below it. */
export interface VendorForm {
  /** What stands behind the origin in the address that is set. */
  readonly base: string;
  /** What stands behind the origin where media are served; absent: the same. */
  readonly mediaBase?: string;
  answer(desk: Desk, request: SeenRequest, path: string): Answer;
}

/** A double of a vendor of images and videos. It keeps what it has taken for as long as it lives, whatever becomes of who asked. */
export interface MediaDouble {
  /** What is set as the vendor's base address. */
  readonly baseUrl: string;
  readonly upstream: UpstreamDouble;
  /** Where results are: another server, that must never see the credential. */
  readonly files: UpstreamDouble;
  /** Everything that was taken, in order. */
  readonly accepted: readonly Accepted[];
  /** How the next work goes, in order; then all goes well. */
  script(...scripts: readonly WorkScript[]): void;
  /** How work goes that no script is left for, by what it asks for. */
  decide(by: (work: TakenWork) => WorkScript): void;
  /** What is answered instead of what the vendor would, by the request; `undefined`: that. */
  instead(by: (request: SeenRequest) => Answer | undefined): void;
  /** What becomes of the next requests of a stage, in order; `undefined` for one that goes well. */
  fault(stage: Stage, ...faults: readonly (Fault | undefined)[]): void;
  /** What becomes of a request for which no such fault is left. */
  faultBy(by: (stage: Stage, request: SeenRequest) => Fault | undefined): void;
  reset(): void;
  close(): Promise<void>;
}

/** Starts a double of a vendor on free ports of 127.0.0.1 that takes `key` and no other. */
export async function startMediaDouble(vendor: VendorForm, key: string): Promise<MediaDouble> {
  const upstream = await startUpstreamDouble();
  const files = await startUpstreamDouble();
  const works: Work[] = [];
  const scripts: WorkScript[] = [];
  const faults: Record<Stage, (Fault | undefined)[]> = {
    images: [],
    video: [],
    poll: [],
    result: [],
    cancel: [],
  };
  let decide: (work: TakenWork) => WorkScript = () => ({});
  let instead: (request: SeenRequest) => Answer | undefined = () => undefined;
  let faultBy: (stage: Stage, request: SeenRequest) => Fault | undefined = () => undefined;
  let served = 0;
  // Goes on over a reset: what is said late of a job of one test means none of the next.
  let named = 0;

  const kindsOf = ({ script }: Work, count: number, kind: FileKind): readonly FileKind[] =>
    script.files ?? Array.from({ length: count }, () => kind);
  const deskFor = (request: SeenRequest): Desk => ({
    ...desk,
    stage(stage, run) {
      const fault = faults[stage].length > 0 ? faults[stage].shift() : faultBy(stage, request);
      if (fault === undefined) return run();
      return "instead" in fault ? fault.instead : fault.after(run());
    },
  });
  const desk: Omit<Desk, "stage"> = {
    key,
    url: upstream.url,
    take(work, request) {
      const script = scripts.shift() ?? decide(work);
      const taken = {
        ...work,
        job: `double-${(named += 1)}`,
        request,
        script,
        polls: 0,
        cancelled: false,
      };
      works.push(taken);
      return taken;
    },
    find: (job) => works.find((work) => work.job === job),
    ask: standingOf,
    urls: (work, count, kind) =>
      kindsOf(work, count, kind).map(
        (each) => `${files.url}/${each}/${(served += 1) % 64}?Expires=1781778573&Signature=double`,
      ),
    bytes: (work, count) =>
      kindsOf(work, count, "image").map((each) => {
        const { body = "" } = fileAnswer(each, (served += 1) % 64);
        return typeof body === "string" ? new TextEncoder().encode(body) : body;
      }),
  };
  const base = vendor.mediaBase ?? vendor.base;
  const serve = (): void => {
    upstream.handle((request) =>
      request.target.startsWith(`${base}/`)
        ? (instead(request) ?? vendor.answer(deskFor(request), request, request.target.slice(base.length)))
        : { status: 404, body: "no such path" },
    );
    files.handle(({ target }) => {
      const [, kind = "missing", seed = "0"] = /^\/([a-z_]+)\/(\d+)/.exec(target) ?? [];
      return fileAnswer(kind as FileKind, Number(seed));
    });
  };
  serve();
  return {
    baseUrl: `${upstream.url}${vendor.base}`,
    upstream,
    files,
    accepted: works,
    script: (...more) => void scripts.push(...more),
    decide: (by) => void (decide = by),
    instead: (by) => void (instead = by),
    fault: (stage, ...more) => void faults[stage].push(...more),
    faultBy: (by) => void (faultBy = by),
    reset() {
      upstream.reset();
      files.reset();
      works.length = 0;
      scripts.length = 0;
      decide = () => ({});
      instead = () => undefined;
      faultBy = () => undefined;
      for (const list of Object.values(faults)) list.length = 0;
      serve();
    },
    async close() {
      await upstream.close();
      await files.close();
    },
  };
}

function standingOf(work: Work): Standing {
  const { queuedPolls = 0, runningPolls = 1, vanishesAfter = Infinity, fails, failsAfterDone } = work.script;
  work.polls += 1;
  if (work.polls > vanishesAfter) return "vanished";
  if (work.cancelled) return "cancelled";
  if (work.polls <= queuedPolls) return "queued";
  const begun = work.polls - queuedPolls - runningPolls;
  if (begun <= 0) return "running";
  return fails === undefined && !(failsAfterDone === true && begun > 1) ? "done" : "failed";
}

/** Reads a JSON body by a strict schema; in words what is wrong with it. */
export function readBody<S extends TSchema>(schema: S): (request: SeenRequest) => Static<S> | string {
  const checker = compileSchema(schema);
  return (request) => {
    if (request.header("content-type")?.startsWith("application/json") !== true)
      return "The content type is wrong.";
    let body: unknown;
    try {
      body = request.json();
    } catch {
      return "The body is no JSON.";
    }
    const twice = duplicateKey(request.bodyText);
    if (twice !== undefined) return `${twice} stands twice.`;
    return checker.accepts(body) ? body : faultSentence(checker.faultOf(body));
  };
}

/** The body of a request as it came. */
export function fieldsOf(request: SeenRequest): Fields {
  const body = request.json();
  return isFields(body) ? body : {};
}
