import { MAX_FILE_BYTES } from "../../assets/content.ts";
import type { Clock } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Hold } from "../../core/hold.ts";
import { jsonValue } from "../../protocols/answer-json.ts";
import type { LoadedMedia, MediaCall, MediaHttpAnswer, MediaHttpRequest } from "../../providers/media.ts";
import type { MediaProvider } from "../../providers/provider.ts";
import { callUpstream } from "../../providers/upstream.ts";

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
  readonly clock: Clock;
  /** Told the status of every answer, as soon as its head has come. */
  readonly onAnswer: (status: number) => void;
}

/** What differs from call to call. */
export interface CallTerms {
  readonly reference: string;
  /** How long each request of the call may take until its answer is whole. */
  readonly limitMs: number;
  readonly signal: AbortSignal;
}

/** Gives an adapter its way to the provider: guarded, with the provider's credential, within a time limit. */
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
    send: (request) => withinLimit(parts.clock, terms, (limited) => send(parts, request, told, limited)),
    load: (input, kind) => parts.load(input, kind, signal),
  };
}

async function send(
  { paidBy, provider, onAnswer }: MediaCallParts,
  { method, path, headers, json }: MediaHttpRequest,
  clientHeaders: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<MediaHttpAnswer> {
  const answer = await callUpstream(paidBy, {
    provider,
    method,
    path,
    headers: { ...clientHeaders, ...headers },
    ...(json === undefined ? {} : { body: new TextEncoder().encode(JSON.stringify(json)) }),
    stream: false,
    signal,
  });
  onAnswer(answer.status);
  const isMedia = /^(image|video|application\/octet-stream)\b/i.test(answer.contentType);
  const bytes = await answer.readAll(isMedia ? MAX_FILE_BYTES.video : MAX_JSON_BYTES);
  let parsed: { readonly value: unknown } | undefined;
  return {
    status: answer.status,
    header: answer.header,
    bytes,
    get json() {
      parsed ??= { value: isMedia ? undefined : jsonValue(bytes) };
      return parsed.value;
    },
  };
}

/** Runs `work` with a signal that ends it at the limit with `timeout_error`, or when the call's own signal does. */
async function withinLimit<T>(
  clock: Clock,
  { limitMs, signal }: CallTerms,
  work: (limited: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const controller = new AbortController();
  const leave = (): void => controller.abort(signal.reason);
  signal.addEventListener("abort", leave, { once: true });
  const timer = clock.setTimer(limitMs, () =>
    controller.abort(new GatewayError("timeout_error", "The provider did not answer in time.")),
  );
  try {
    return await work(controller.signal);
  } finally {
    timer.cancel();
    signal.removeEventListener("abort", leave);
  }
}
