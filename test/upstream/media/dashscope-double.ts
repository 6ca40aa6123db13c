import { type Answer, jsonAnswer } from "../answer.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../double.ts";
import type { SeenRequest } from "../seen-request.ts";
import { type DashscopeRefusal, readFilm, readPictures, type TakenWork } from "./dashscope-strict.ts";
import { fileAnswer, type FileKind } from "./result-files.ts";

/** How the next work goes. What is absent goes well. */
export interface WorkScript {
  /** How often a film is asked after before it is begun, and before it is done. */
  readonly queuedPolls?: number;
  readonly runningPolls?: number;
  /** How it ends; absent: well. */
  readonly fails?: { readonly code: string; readonly message: string };
  /** The vendor forgets a film once it was asked after so often. */
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

export type Stage = "pictures" | "film" | "poll" | "cancel";

/** Work that the double has taken. */
export interface Accepted extends TakenWork {
  /** Of a film: the name of its task. */
  readonly job: string;
  readonly request: SeenRequest;
  cancelled: boolean;
}

/**
 * A double of DashScope's makers of pictures and films, as strict as the vendor: pictures while the call waits, films as
 * tasks that are asked after. It keeps what it has taken for as long as it lives, whatever becomes of who asked. It is
 * no provider, and what it makes are files to count, not to look at.
 */
export interface DashscopeDouble {
  /** As the vendor's SDKs take it: what is set as DASHSCOPE_BASE_URL. */
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
  /** What becomes of the next requests of a stage, in order; `undefined` for one that goes well. */
  fault(stage: Stage, ...faults: readonly (Fault | undefined)[]): void;
  reset(): void;
  close(): Promise<void>;
}

interface Work extends Accepted {
  readonly script: WorkScript;
  polls: number;
}

interface State {
  readonly key: string;
  readonly filesUrl: () => string;
  readonly works: Work[];
  readonly scripts: WorkScript[];
  decide: (work: TakenWork) => WorkScript;
  readonly faults: Record<Stage, (Fault | undefined)[]>;
  served: number;
}

/** Starts a double on free ports of 127.0.0.1 that takes `key` and no other. */
export async function startDashscopeDouble(key: string): Promise<DashscopeDouble> {
  const upstream = await startUpstreamDouble();
  const files = await startUpstreamDouble();
  const state: State = {
    key,
    filesUrl: () => files.url,
    works: [],
    scripts: [],
    decide: () => ({}),
    faults: { pictures: [], film: [], poll: [], cancel: [] },
    served: 0,
  };
  const serve = (): void => {
    upstream.handle((request) => answer(state, request));
    files.handle(({ target }) => {
      const [, kind = "missing", seed = "0"] = /^\/([a-z_]+)\/(\d+)/.exec(target) ?? [];
      return fileAnswer(kind as FileKind, Number(seed));
    });
  };
  serve();
  return {
    baseUrl: `${upstream.url}/compatible-mode/v1`,
    upstream,
    files,
    accepted: state.works,
    script: (...scripts) => void state.scripts.push(...scripts),
    decide: (by) => void (state.decide = by),
    fault: (stage, ...faults) => void state.faults[stage].push(...faults),
    reset() {
      upstream.reset();
      files.reset();
      state.works.length = 0;
      state.scripts.length = 0;
      state.decide = () => ({});
      for (const list of Object.values(state.faults)) list.length = 0;
      serve();
    },
    async close() {
      await upstream.close();
      await files.close();
    },
  };
}

function answer(state: State, request: SeenRequest): Answer {
  const { method, target } = request;
  const path = target.replace(/^\/api\/v1/, "");
  if (path === target) return refused({ status: 404, code: "NotFound", message: "No such path." });
  if (request.header("authorization") !== `Bearer ${state.key}`)
    return refused({ status: 401, code: "InvalidApiKey", message: "Invalid API-key provided." });
  const job = /^\/tasks\/([\w-]+)(\/cancel)?$/.exec(path);
  switch (`${method} ${job === null ? path : `/tasks/*${job[2] ?? ""}`}`) {
    case "POST /services/aigc/multimodal-generation/generation":
      return withFault(state, "pictures", () => takePictures(state, request));
    case "POST /services/aigc/video-generation/video-synthesis":
      return withFault(state, "film", () => takeFilm(state, request));
    case "GET /tasks/*":
      return withFault(state, "poll", () => taskAnswer(state, job?.[1] ?? ""));
    case "POST /tasks/*/cancel":
      return withFault(state, "cancel", () => cancelTask(state, job?.[1] ?? ""));
    default:
      return refused({ status: 404, code: "NotFound", message: "No such path." });
  }
}

function withFault(state: State, stage: Stage, run: () => Answer): Answer {
  const fault = state.faults[stage].shift();
  if (fault === undefined) return run();
  return "instead" in fault ? fault.instead : fault.after(run());
}

function refused({ status, code, message }: DashscopeRefusal): Answer {
  return jsonAnswer(status, { code, message, request_id: "double" });
}

function accept(state: State, work: TakenWork, request: SeenRequest): Work {
  const script = state.scripts.shift() ?? state.decide(work);
  const job = `double-${state.works.length + 1}-${request.id}`;
  const accepted = { ...work, job, request, script, polls: 0, cancelled: false };
  state.works.push(accepted);
  return accepted;
}

function takePictures(state: State, request: SeenRequest): Answer {
  const read = readPictures(request);
  if ("status" in read) return refused(read);
  const { script, parameters } = accept(state, read, request);
  if (script.fails !== undefined) return refused({ status: 400, ...script.fails });
  const n = typeof parameters["n"] === "number" ? parameters["n"] : 1;
  const urls = urlsOf(state, script.files ?? Array.from({ length: n }, () => "picture" as const));
  return jsonAnswer(200, {
    output: {
      // The vendor puts them into one choice or into several.
      choices: urls.map((image) => ({
        finish_reason: "stop",
        message: { role: "assistant", content: [{ image }] },
      })),
    },
    usage: script.usage ?? { image_count: urls.length, width: 2_048, height: 2_048 },
    request_id: "double",
  });
}

function takeFilm(state: State, request: SeenRequest): Answer {
  const read = readFilm(request);
  if ("status" in read) return refused(read);
  const { job } = accept(state, read, request);
  return jsonAnswer(200, { output: { task_status: "PENDING", task_id: job }, request_id: "double" });
}

function taskAnswer(state: State, job: string): Answer {
  const work = state.works.find((each) => each.job === job);
  const task = (members: object, more: object = {}): Answer =>
    jsonAnswer(200, { request_id: "double", output: { task_id: job, ...members }, ...more });
  if (work === undefined) return task({ task_status: "UNKNOWN" });
  const { script, parameters, cancelled } = work;
  const { queuedPolls = 0, runningPolls = 1, vanishesAfter = Infinity, fails, files = ["film"] } = script;
  work.polls += 1;
  if (work.polls > vanishesAfter) return task({ task_status: "UNKNOWN" });
  if (cancelled) return task({ task_status: "CANCELED" });
  if (work.polls <= queuedPolls) return task({ task_status: "PENDING" });
  if (work.polls <= queuedPolls + runningPolls) return task({ task_status: "RUNNING" });
  if (fails !== undefined) return task({ task_status: "FAILED", ...fails });
  const [url] = urlsOf(state, files);
  const usage = script.usage ?? { duration: parameters["duration"] ?? 5, video_count: 1, SR: 720 };
  return task({ task_status: "SUCCEEDED", video_url: url, actual_prompt: "double" }, { usage });
}

function cancelTask(state: State, job: string): Answer {
  const work = state.works.find((each) => each.job === job);
  if (work === undefined || work.polls > (work.script.queuedPolls ?? 0))
    return refused({
      status: 400,
      code: "UnsupportedOperation",
      message: "Failed to cancel the task, please confirm if the task is in PENDING status.",
    });
  work.cancelled = true;
  return jsonAnswer(200, { request_id: "double" });
}

function urlsOf(state: State, kinds: readonly FileKind[]): string[] {
  return kinds.map((kind) => {
    state.served += 1;
    return `${state.filesUrl()}/${kind}/${state.served % 64}?Expires=1781778573&Signature=double`;
  });
}
