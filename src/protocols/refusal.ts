import { isJsonObject, type JsonObject } from "../core/json-value.ts";
import { type ErrorKind, GatewayError } from "../core/errors.ts";
import type { AnswerContext, UpstreamRefusal } from "./protocol.ts";

/** What a provider said went wrong, whatever the shape it said it in. */
interface Said {
  readonly status: number;
  readonly message: string;
  /** Type, code and status words, in lower case, for recognising what is meant. */
  readonly words: string;
  readonly param: string | undefined;
}

/** The error a client is given for an answer with a status that is not 2xx. */
export function readRefusal(refusal: UpstreamRefusal, context: AnswerContext): GatewayError {
  const body = unwrapped(parse(refusal.body));
  // A provider that answers a streamed request with a 200 of JSON says in it what the status should have been.
  const status =
    refusal.status >= 400 || !isJsonObject(body) ? refusal.status : statusWithin(errorWithin(body));
  const said = readSaid(body, status);
  return refusalError(said, context, refusal.retryAfter ?? retryDelay(body));
}

/** The error for an `error` object inside an answer that began as a good one. */
export function readErrorObject(error: unknown, context: AnswerContext): GatewayError {
  const said = readSaid({ error }, 0);
  return refusalError({ ...said, status: statusWithin(error) }, context, retryDelay({ error }));
}

/** An `error` (or a vendor's own sign of one) in the body of a 200; `undefined` when there is none. */
export function errorWithin(body: JsonObject): unknown {
  if (body.error !== undefined && body.error !== null) return body.error;
  const base = body.base_resp;
  if (isJsonObject(base) && typeof base.status_code === "number" && base.status_code !== 0) {
    return { message: base.status_msg, code: base.status_code };
  }
  return undefined;
}

function refusalError(said: Said, context: AnswerContext, retryAfter: string | null): GatewayError {
  const kind = kindOf(said);
  // Without the message: it may quote the prompt, and the cause goes to the log.
  const cause = new Error(`upstream ${said.status}: ${said.words}`);
  switch (kind) {
    case "invalid_request_error":
    case "input_too_large":
    case "content_moderation":
      return new GatewayError(kind, clean(said.message, kind, context), {
        cause,
        ...(isFieldPath(said.param, context.secrets) ? { param: said.param } : {}),
      });
    case "overloaded_error":
      return new GatewayError(kind, "The provider is overloaded or limits its rate. Try again shortly.", {
        cause,
        retryAfterSec: clampRetryAfter(retryAfter),
      });
    case "timeout_error":
      return new GatewayError(kind, "The provider did not answer in time.", { cause });
    default:
      return new GatewayError("upstream_error", "The provider failed to answer this request.", { cause });
  }
}

/** Faults of our account at the provider: never the client's business. */
const OPERATOR =
  /insufficient_quota|billing|insufficient.balance|invalid_api_key|api_key_invalid|incorrect api key|api key not valid|model_not_found|deploymentnotfound|permission_denied|user location is not supported/;
const MODERATION =
  /content_filter|content_policy|moderation|safety system|responsibleai|data_inspection_failed/;
const TOO_LARGE =
  /context_length|maximum context length|max context length|prompt too long|too_many_prompt_tokens|too many tokens|prompt is too long|context window|request_too_large|input token count/;
const OVERLOADED = /rate_limit|ratelimit|resource_exhausted|overloaded|too many requests/;

function kindOf({ status, words, message }: Said): ErrorKind {
  const text = `${words} ${message.toLowerCase()}`;
  if (OPERATOR.test(text)) return "upstream_error";
  if (status === 451 || (status < 500 && status !== 429 && MODERATION.test(text)))
    return "content_moderation";
  if (status === 413 || ((status === 400 || status === 0) && TOO_LARGE.test(text))) return "input_too_large";
  if (status === 400 || status === 422) return "invalid_request_error";
  if (status === 429 || status === 503 || status === 529) return "overloaded_error";
  if (status === 504 || status === 524) return "timeout_error";
  if (status === 0 && OVERLOADED.test(text)) return "overloaded_error";
  return "upstream_error";
}

function statusWithin(error: unknown): number {
  if (!isJsonObject(error)) return 0;
  for (const value of [error.status_code, error.status, error.code]) {
    const status = typeof value === "string" ? Number(value) : value;
    if (typeof status === "number" && status >= 400 && status < 600) return status;
  }
  return error.type === "invalid_request_error" ? 400 : 0;
}

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    return undefined;
  }
}

/** Some servers answer with a list of one error. */
function unwrapped(body: unknown): unknown {
  return Array.isArray(body) ? body[0] : body;
}

/** The wait that Google states in the error itself: `details: [{ retryDelay: "34s" }]`. */
function retryDelay(body: unknown): string | null {
  const delays = detailsOf(body).map(({ retryDelay }) => retryDelay);
  const text = delays.find((delay): delay is string => typeof delay === "string");
  return text === undefined ? null : text.replace(/s$/, "");
}

function detailsOf(body: unknown): readonly JsonObject[] {
  const details = isJsonObject(body) && isJsonObject(body.error) ? body.error.details : undefined;
  return Array.isArray(details) ? details.filter(isJsonObject) : [];
}

/** Finds message, type and code in every shape that vendors use (vendors.md). */
function readSaid(body: unknown, status: number): Said {
  const outer = body;
  if (!isJsonObject(outer)) return { status, message: "", words: "", param: undefined };
  const inner = isJsonObject(outer.error)
    ? outer.error
    : isJsonObject(outer.base_resp)
      ? outer.base_resp
      : outer;
  const texts = [outer.error, inner.message, inner.status_msg, outer.message, detailText(outer.detail)];
  const words = [
    inner.type,
    inner.code,
    inner.status,
    outer.type,
    outer.code,
    isJsonObject(inner.innererror) ? inner.innererror.code : "",
    ...detailsOf(outer).map(({ reason }) => reason),
  ];
  return {
    status,
    message: texts.find((text): text is string => typeof text === "string" && text !== "") ?? "",
    words: words
      .filter((word) => typeof word === "string" || typeof word === "number")
      .join(" ")
      .toLowerCase(),
    param: typeof inner.param === "string" ? inner.param : undefined,
  };
}

function detailText(detail: unknown): unknown {
  if (!Array.isArray(detail)) return detail;
  return detail
    .map((item) => (isJsonObject(item) && typeof item.msg === "string" ? item.msg : ""))
    .join("; ");
}

const GENERIC: Readonly<Record<"invalid_request_error" | "input_too_large" | "content_moderation", string>> =
  {
    invalid_request_error: "The provider refused the request as invalid.",
    input_too_large: "The input is longer than the model takes.",
    content_moderation: "The provider's moderation blocked the request.",
  };

const KEY_LIKE = /\b(sk|pk|api|key|gsk|xai)[-_][A-Za-z0-9_*-]{6,}|Bearer\s|[A-Za-z0-9+/]{64,}/;

/** The provider's sentence, where it can be shown: without our secrets, without anything that looks like a key. */
function clean(message: string, kind: keyof typeof GENERIC, context: AnswerContext): string {
  const secret = context.secrets.some((text) => text.length >= 8 && message.includes(text.slice(0, 8)));
  if (message === "" || secret || KEY_LIKE.test(message)) return GENERIC[kind];
  // oxlint-disable-next-line no-control-regex -- control characters of a provider's text stay out of ours
  const text = message.replace(/[\u0000-\u001f\u007f]+/g, " ").slice(0, 500);
  return `${text}${/[.!?]$/.test(text) ? "" : "."} (${context.model})`;
}

/** Whether a provider's `param` is the path of a field, and nothing else. */
function isFieldPath(param: string | undefined, secrets: readonly string[]): param is string {
  return (
    param !== undefined &&
    /^[\w.[\]-]{1,120}$/.test(param) &&
    !KEY_LIKE.test(param) &&
    !secrets.includes(param)
  );
}

function clampRetryAfter(value: string | null): number {
  const seconds = value === null ? Number.NaN : Number(value);
  return Number.isFinite(seconds) ? Math.min(60, Math.max(1, Math.ceil(seconds))) : 1;
}
