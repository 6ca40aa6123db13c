import type { ByteAccount } from "../../../core/bytes/byte-budget.ts";
import type { Clock } from "../../../core/time/clock.ts";
import { GatewayError } from "../../../core/errors.ts";
import { handOver } from "../../../core/handover.ts";
import type { Hold } from "../../../core/money/hold.ts";
import { readRetryAfter } from "../../../core/time/retry-after.ts";
import { createTimeLimit, type TimeLimit } from "../../../core/time/time-limit.ts";
import { jsonValue } from "../../../protocols/answer-json.ts";
import type {
  BegunParts,
  LoadedMedia,
  MediaCall,
  MediaHttpAnswer,
  MediaHttpRequest,
} from "../../../providers/media.ts";
import { isGood } from "../../../providers/media-answers.ts";
import type { MediaProvider } from "../../../providers/provider.ts";
import { refusalBody } from "../../../providers/refusal-body.ts";
import { callUpstream, type UpstreamAnswer } from "../../../providers/upstream.ts";
import type { SendLimits } from "../../../providers/sending.ts";
import type { LongTexts } from "./long-texts.ts";

/** An answer that describes media, or carries them in its JSON. */
const MAX_JSON_BYTES = 64 * 1024 * 1024;

/** What the calls of one task are made with. */
export interface MediaCallParts {
  readonly paidBy: Hold;
  readonly provider: MediaProvider;
  readonly upstreamId: string;
  readonly model: string;
  readonly clientHeaders: Readonly<Record<string, string>>;
  readonly load: (
    input: string,
    kind: "image" | "audio" | "video",
    signal: AbortSignal,
  ) => Promise<LoadedMedia>;
  /** Account of the bytes of requests and answers that are held whole. */
  readonly memory: ByteAccount;
  /** Where the base64 of answers stays. */
  readonly texts: Pick<LongTexts, "readJson">;
  readonly limits: SendLimits;
  /** Receives the status of every answer, as soon as its head has come. */
  readonly onAnswer: (status: number) => void;
  /** Receives why a request has no whole answer, and the status of the head, where that had come. */
  readonly onBreak: (error: unknown, status: number | null) => void;
  /** See `MediaCall`. */
  readonly onBegun: (parts: BegunParts) => void;
}

/** Options that differ from call to call. */
export interface CallTerms {
  readonly reference: string;
  /** Time limit for each request of the call until its answer is whole, without waits for room. */
  readonly limitMs: number;
  readonly signal: AbortSignal;
}

/** Gives an adapter its call to the provider: guarded, with the provider's credential, within a time limit. */
export function openMediaCall(parts: MediaCallParts, terms: CallTerms): MediaCall {
  const { provider, upstreamId, model, clientHeaders } = parts;
  const { reference, signal } = terms;
  const told = Object.fromEntries(
    Object.entries(clientHeaders).filter(([name]) => provider.clientHeaders?.includes(name) === true),
  );
  return {
    upstreamId,
    model,
    reference,
    clientHeaders: told,
    signal,
    send: (request) => send(parts, terms, { ...request, headers: { ...told, ...request.headers } }),
    load: (input, kind) => parts.load(input, kind, signal),
    noteBegun: (begun) => parts.onBegun(begun),
  };
}

/** Waits for room for the request, then sends it. */
async function send(
  parts: MediaCallParts,
  terms: CallTerms,
  { method, path, headers = {}, json }: MediaHttpRequest,
): Promise<MediaHttpAnswer> {
  const { paidBy, provider, memory, limits, onAnswer, onBreak } = parts;
  const body = json === undefined ? undefined : new TextEncoder().encode(JSON.stringify(json));
  const held = body?.length ?? 0;
  await memory.take(held, terms.signal);
  let status: number | null = null;
  try {
    return await withinLimit(limits.clock, terms, async (signal, time) => {
      const answer = await callUpstream(paidBy, {
        provider,
        method,
        path,
        headers,
        ...(body === undefined ? {} : { body: handOver([body]) }),
        stream: false,
        signal,
        limits,
      });
      status = answer.status;
      onAnswer(status);
      const head = headOf(answer, limits.clock);
      return isGood(answer)
        ? readAnswer(parts, answer, head, signal, time)
        : readRefusal(head, await refusalBody(answer, limits.clock));
    });
  } catch (error) {
    onBreak(error, status);
    throw error;
  } finally {
    memory.give(held);
  }
}

/**
 * Reads all of an answer. An answer that carries media stays on the account until that is closed. A wait for room is
 * not the provider's fault, whose work would be lost, so it does not count against the time limit.
 */
async function readAnswer(
  { memory, texts }: MediaCallParts,
  answer: UpstreamAnswer,
  head: AnswerHead,
  signal: AbortSignal,
  time: TimeLimit,
): Promise<MediaHttpAnswer> {
  let room = 0;
  let kept = 0;
  try {
    const bytes = await answer.readAll(MAX_JSON_BYTES, async (more) => {
      time.rest();
      await memory.take(more, signal);
      time.goOn();
      room += more;
    });
    const { value, hasLongTexts } = texts.readJson(bytes);
    if (hasLongTexts) kept = bytes.length;
    return { ...head, bytes, json: value };
  } finally {
    memory.give(room - kept);
  }
}

function readRefusal(head: AnswerHead, bytes: Uint8Array): MediaHttpAnswer {
  return { ...head, bytes, json: jsonValue(bytes) };
}

type AnswerHead = Pick<MediaHttpAnswer, "status" | "header" | "retryAfterMs">;

/** As soon as it has come, since a pause until a moment is counted from then. */
function headOf(answer: UpstreamAnswer, clock: Clock): AnswerHead {
  const retryAfterSec = readRetryAfter(answer.retryAfter, Math.floor(clock.nowMs() / 1_000));
  return {
    status: answer.status,
    header: (name) => answer.header(name),
    ...(retryAfterSec === undefined ? {} : { retryAfterMs: retryAfterSec * 1_000 }),
  };
}

/** Runs `work` with a signal that ends it at the limit with `timeout_error`, or when the call's own signal does. */
async function withinLimit<T>(
  clock: Clock,
  { limitMs, signal }: CallTerms,
  work: (limited: AbortSignal, time: TimeLimit) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const controller = new AbortController();
  const leave = (): void => controller.abort(signal.reason);
  signal.addEventListener("abort", leave, { once: true });
  const time = createTimeLimit(clock, limitMs, () =>
    controller.abort(new GatewayError("timeout_error", "The provider did not answer in time.")),
  );
  time.goOn();
  try {
    return await work(controller.signal, time);
  } finally {
    time.rest();
    signal.removeEventListener("abort", leave);
  }
}
