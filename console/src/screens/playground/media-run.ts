import { type Accessor, createSignal } from "solid-js";
import { ApiError, Offline, send } from "../../api/client.ts";
import { signedInAgain } from "../../api/session.ts";
import {
  isOpen,
  type MediaAnswer,
  type MediaFault,
  type MediaState,
  readAnswer,
  warningsIn,
} from "./media-answer.ts";
import { type Draft, type Job, type MediaKind, pathOf } from "./media-job.ts";

/** A job of this visit. */
export interface Run {
  readonly kind: MediaKind;
  readonly job: Job;
  /** What the job was made from. */
  readonly draft: Draft;
  readonly sentMs: number;
  readonly view: Accessor<RunView>;
  /** Asks the gateway to cancel the job. Rejects where it cannot any more. */
  readonly cancel: () => Promise<void>;
}

/** What is known of a job. */
export interface RunView extends Omit<MediaAnswer, "state"> {
  readonly state: MediaState;
  readonly requestId: string | undefined;
  /** What served it, where the gateway says so: `sandbox`. */
  readonly provider: string | undefined;
  /** From the call to the end of the job. */
  readonly tookMs: number | undefined;
  /** The newest answer, as it came. */
  readonly raw: { readonly status: number; readonly body: string } | undefined;
  /** The newest poll has failed, and is sent again. */
  readonly isUnreached: boolean;
}

const POLL_MS = { image: 2_000, video: 3_000 } as const;

const NOTHING_YET: RunView = {
  state: "sending",
  taskId: undefined,
  files: [],
  credit: undefined,
  warnings: [],
  fault: undefined,
  createdSec: undefined,
  startedSec: undefined,
  endedSec: undefined,
  requestId: undefined,
  provider: undefined,
  tookMs: undefined,
  raw: undefined,
  isUnreached: false,
};

/** Sends a job and follows it to its end, also while its page is not shown. `onEnd` is called once. */
export function startRun(kind: MediaKind, job: Job, draft: Draft, onEnd: () => void): Run {
  const sentMs = Date.now();
  const [view, setView] = createSignal(NOTHING_YET);
  const address = `/console/api/play/${pathOf(kind)}`;

  const take = (next: Partial<RunView>): void => {
    const before = view();
    if (!isOpen(before.state)) return;
    const hasEnded = !isOpen(next.state ?? before.state);
    setView({ ...before, ...next, ...(hasEnded ? { tookMs: Date.now() - sentMs } : {}) });
    if (hasEnded) onEnd();
  };
  const takeAnswer = async (response: Response): Promise<void> => {
    const body = await response.text();
    const answer = readAnswer(kind, body);
    const isFirst = view().state === "sending";
    take({
      ...answer,
      warnings: answer.warnings.length > 0 ? answer.warnings : warningsIn(response.headers.get("warning")),
      raw: { status: response.status, body },
      isUnreached: false,
      ...(isFirst
        ? {
            requestId: response.headers.get("x-request-id") ?? undefined,
            provider: response.headers.get("x-switchyard-provider") ?? undefined,
          }
        : {}),
    });
  };
  const poll = async (): Promise<void> => {
    const id = view().taskId;
    if (id === undefined || !isOpen(view().state)) return;
    await toBeShown();
    try {
      await takeAnswer(await send("get", `${address}/${encodeURIComponent(id)}`));
    } catch (error) {
      // The job goes on without its reader.
      if (error instanceof ApiError && error.status === 401) await signedInAgain();
      else if (isLasting(error)) take(failed(error));
      else take({ isUnreached: true });
    }
    setTimeout(() => void poll(), POLL_MS[kind]);
  };
  const begin = async (): Promise<void> => {
    try {
      await takeAnswer(await send("post", address, { body: job }));
      setTimeout(() => void poll(), POLL_MS[kind]);
    } catch (error) {
      take(failed(error));
    }
  };
  void begin();
  return {
    kind,
    job,
    draft,
    sentMs,
    view,
    async cancel() {
      const id = view().taskId;
      if (id === undefined) return;
      const response = await send("post", `${address}/${encodeURIComponent(id)}/cancel`);
      take({ state: "cancelled", raw: { status: response.status, body: await response.text() } });
    },
  };
}

/** A poll that was answered so is not worth another one. */
function isLasting(error: unknown): boolean {
  return (
    !(error instanceof Offline) &&
    !(error instanceof ApiError && (error.status >= 500 || error.status === 429))
  );
}

function failed(error: unknown): Partial<RunView> {
  const told = error as Error;
  if (!(told instanceof ApiError))
    return { state: "failed", fault: { message: told.message, type: undefined, field: undefined } };
  const fault: MediaFault = { message: told.message, type: told.type, field: told.field };
  return {
    state: "failed",
    fault,
    raw: { status: told.status, body: told.body },
    ...(told.requestId === undefined ? {} : { requestId: told.requestId }),
  };
}

/** Resolves once the page is in front. */
async function toBeShown(): Promise<void> {
  while (document.hidden)
    await new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
}
