import { filledText, isJsonObject, type JsonObject, objectsIn } from "../core/json/json-value.ts";
import { GatewayError } from "../core/errors.ts";
import { readRetryAfter } from "../core/time/retry-after.ts";
import type { AnswerContext, UpstreamRefusal } from "./protocol.ts";

/** What a provider said went wrong, whatever the shape it said it in. */
interface Said {
  readonly status: number;
  readonly message: string;
  /** Type, code, status and reason, each in lower case: what is meant is recognised by these first. */
  readonly codes: readonly string[];
  readonly param?: unknown;
  /** Seconds to wait, where the body says so. */
  readonly waitSec?: string | undefined;
}

/** The error a client is given for an answer with a status that is not 2xx. */
export function readRefusal(
  { status, body, retryAfter }: UpstreamRefusal,
  context: AnswerContext,
): GatewayError {
  const said = parse(body);
  // A provider that answers a streamed request with a 200 of JSON says in it what the status should have been.
  const meant = status >= 400 || !isJsonObject(said) ? status : statusWithin(errorWithin(said));
  return refusalError(readSaid(said, meant), context, retryAfter);
}

/** The error for an `error` object inside an answer that began as a good one. */
export function readErrorObject(error: unknown, context: AnswerContext): GatewayError {
  return refusalError(readSaid({ error }, statusWithin(error)), context, null);
}

/** Whether the body of a 200 has an error in place of an answer: not beside a text that was made. */
export function hasError(body: Uint8Array): boolean {
  const said = parse(body);
  if (!isJsonObject(said) || errorWithin(said) === undefined) return false;
  return !objectsIn(said.choices).some(
    ({ message }) => isJsonObject(message) && filledText(message.content) !== undefined,
  );
}

/** An `error` (or a vendor's own sign of one) in the body of a 200; `undefined` when there is none. */
export function errorWithin(body: JsonObject): unknown {
  if (body.error !== undefined && body.error !== null) return body.error;
  const base = body.base_resp;
  if (isJsonObject(base) && typeof base.status_code === "number" && base.status_code !== 0) {
    return { message: base.status_msg, type: "base_resp", code: base.status_code };
  }
  // vLLM, in mid-stream too.
  if (body.object === "error") return { message: body.message, type: body.type, code: body.code };
  // OpenRouter: https://openrouter.ai/docs/api-reference/overview (a choice may have an error).
  const choice: unknown = Array.isArray(body.choices) ? body.choices[0] : undefined;
  if (isJsonObject(choice) && isJsonObject(choice.error)) return choice.error;
  return undefined;
}

/** The cause of the error for a refusal: what the provider said, for the log and for whoever may try again. */
export class RefusalCause extends Error {
  /** What the provider meant; 0 where it said neither a status nor a code that has one. */
  readonly status: number;
  /** What only the operator can mend. */
  readonly fault: OperatorFault | undefined;
  /** The pause that it asks for, from 1 to 60 seconds. */
  readonly retryAfterSec: number | undefined;
  /** Whether the request alone is more than the credential may use in a minute, whatever others use. */
  readonly beyondLimit: boolean;
  /** Whether it refuses what earlier answers of the conversation were signed or sealed with. */
  readonly aboutSignatures: boolean;

  constructor({ status, codes, message }: Said, meaning: Meaning, retryAfterSec: number | undefined) {
    // Without the message: it may quote the prompt, and the cause goes to the log.
    super(`upstream ${status}: ${codes.join(" ")}`);
    this.status = status === 0 && codes.some(isIn(LIMITED)) ? 429 : status;
    this.fault = isOperatorFault(meaning) ? meaning : undefined;
    this.retryAfterSec = retryAfterSec;
    this.beyondLimit = meaning === "beyond_limit";
    this.aboutSignatures =
      status === 400 && (codes.includes("invalid_encrypted_content") || SIGNATURES.test(message));
  }
}

/** Sentences about signatures, of Anthropic (two), Gemini (two) and Vertex, each from its start or behind a path. */
const SIGNATURES =
  /^([\w.[\]]{1,80}: )?(invalid `(signature|data)` in `(redacted_)?thinking` block|corrupted thought signature|function call is missing a thought_signature|unable to submit request because function call `[^`]{1,128}` in the \d+\. content block is missing a `thought_signature`)|^[\w.[\]]{1,80}\.signature: field required/i;

function refusalError(said: Said, context: AnswerContext, retryAfter: string | null): GatewayError {
  const meaning = meaningOf(said, context.namesStored === true);
  const cause = new RefusalCause(said, meaning, readRetryAfter(retryAfter ?? said.waitSec, context.nowSec));
  switch (meaning) {
    case "credential":
    case "access":
    case "model":
      return new GatewayError("upstream_error", OURS.upstream_error, { cause, operatorFault: true });
    case "invalid_request_error":
    case "input_too_large":
    case "content_moderation":
      return new GatewayError(meaning, shownMessage(said.message, meaning, context), {
        cause,
        foreign: true,
        ...(isFieldPath(said.param, context.secrets) ? { param: said.param } : {}),
      });
    case "beyond_limit":
      // Never the provider's sentence: it names the operator's account and its limit.
      return new GatewayError("input_too_large", OURS[meaning], { cause, operatorHint: RAISE_LIMIT });
    case "overloaded_error":
      return new GatewayError(meaning, OURS[meaning], {
        cause,
        retryAfterSec: cause.retryAfterSec ?? 1,
      });
    default:
      return new GatewayError(meaning, OURS[meaning], { cause });
  }
}

/** What a client is told in place of a provider's sentence. */
const OURS = {
  invalid_request_error: "The provider refused the request as invalid.",
  input_too_large: "The input is longer than the model takes.",
  content_moderation: "The provider's moderation blocked the request.",
  beyond_limit:
    "This request alone is larger than the provider takes from this gateway in a minute, so waiting does not help: send less, or ask for fewer output tokens.",
  overloaded_error: "The provider is overloaded or limits its rate. Try again shortly.",
  timeout_error: "The provider did not answer in time.",
  upstream_error: "The provider failed to answer this request.",
} as const;

const RAISE_LIMIT =
  "The credential's tokens per minute are fewer than one request needs: raise them at the provider, or add a route.";

/**
 * What only the operator can mend. The provider refuses the key or its account for all that it may ask for, or for this
 * model. Or it does not know the model.
 */
export type OperatorFault = "credential" | "access" | "model";

type Meaning = keyof typeof OURS | OperatorFault;

function isOperatorFault(meaning: Meaning): meaning is OperatorFault {
  return meaning === "credential" || meaning === "access" || meaning === "model";
}

/** What tells a meaning. */
interface Signs {
  readonly meaning: Meaning;
  /** Statuses that say it where nothing else does. */
  readonly statuses: readonly number[];
  /** In lower case; numbers are Zhipu's, numbers after `base_resp` MiniMax's. */
  readonly codes?: ReadonlySet<string>;
  /** Codes that say no more than a status does: the sentence says of what they are. */
  readonly vague?: ReadonlySet<string>;
  /**
   * Sentences of vendors whose code does not say it, at these statuses. Each is known from the start of the message,
   * because the rest may quote what the caller wrote.
   */
  readonly sentences?: { readonly at: readonly number[]; readonly pattern: RegExp };
}

/** OpenAI's sentence, and Groq's; images are counted by themselves. */
const BEYOND_LIMIT = /^request too large for [^"']{1,300} on (tokens|images|input-images) per min/i;

/** Whether a refusal says that the request alone is more than the credential may use in a minute. */
export function isBeyondLimit(status: number, message: string): boolean {
  return (status === 413 || status === 429) && BEYOND_LIMIT.test(message);
}

/** Status 0 is that of an error that came without one. */
const SIGNS: readonly Signs[] = [
  {
    meaning: "content_moderation",
    statuses: [451],
    codes: words(`content_filter content_policy_violation responsibleaipolicyviolation moderation_blocked
      data_inspection_failed datainspectionfailed sensitive_words_detected 1301 base_resp:1026 base_resp:1027`),
    sentences: {
      at: [400, 403, 0],
      // Azure; OpenAI; OpenRouter; xAI; Anthropic.
      pattern:
        /^(the response was filtered due to the prompt|your request was rejected (as a result of|by) (our|the) safety system|[^"'`]{0,80} requires moderation|content violates usage guidelines|output blocked by content filtering policy)/i,
    },
  },
  {
    meaning: "model",
    statuses: [404],
    codes: words(`model_not_found modelnotfound model_not_supported model_decommissioned deploymentnotfound
      invalid_model 1211`),
    vague: words("not_found_error not_found resource_not_found_error"),
    sentences: {
      at: [400, 0],
      // Mistral; DeepSeek; Bedrock.
      pattern: /^(invalid model: |model not exist\.?$|the provided model identifier is invalid)/i,
    },
  },
  {
    meaning: "model",
    statuses: [],
    sentences: {
      at: [403, 404],
      // Anthropic; Google; OpenAI, vLLM; Ollama; OpenRouter.
      pattern:
        /^(model: \S|models\/\S{1,200} is not found|(the )?model [`'"][^`'"]{1,200}[`'"] (does not exist|not found)|no endpoints found for )/i,
    },
  },
  {
    meaning: "credential",
    statuses: [401, 402, 405, 407],
    codes:
      words(`insufficient_quota billing_error billing_hard_limit_reached billing_not_active billing_disabled
      account_deactivated organization_restricted arrearage exceeded_current_quota_error insufficient_balance
      invalid_api_key invalidapikey api_key_invalid invalid_authentication_error authentication_error
      unauthenticated access_terminated_error unsupported_country_region_territory service_disabled
      consumer_suspended api_key_service_blocked api_key_http_referrer_blocked api_key_ip_address_blocked 1000 1001
      1002 1003 1004 1112 1113 base_resp:1004 base_resp:1008 base_resp:2049`),
    sentences: {
      at: [400, 403, 0],
      // xAI, OpenAI, Cohere; Google; Anthropic; OpenAI; Google, four times; Anthropic, twice; OpenAI; xAI.
      pattern:
        /^(incorrect api key provided|api key (not valid|expired|not found)|your credit balance is too low|you exceeded your current quota|user location is not supported|gemini api free tier is not available|your api key was reported as leaked|(generative language api|gemini api) has not been used in project|this organization has been disabled|you have reached your specified (workspace )?api usage limits|your organization must be verified|your (newly created )?teams? [^"'`]{0,120}(credits|spending limit))/i,
    },
  },
  {
    meaning: "access",
    statuses: [403],
    codes: words("model.accessdenied"),
    vague: words("permission_error permission_denied accessdenied 1220"),
  },
  {
    meaning: "input_too_large",
    statuses: [413],
    codes: words(`context_length_exceeded too_many_prompt_tokens too_many_tokens request_too_large
      exceed_context_size_error 1261 base_resp:1039`),
    sentences: {
      at: [400, 422, 0],
      // OpenAI, DeepSeek, vLLM, OpenRouter; Anthropic, Ollama; Google; Bedrock; Responses; xAI; Mistral; DashScope;
      // Moonshot; Perplexity; Cohere.
      pattern:
        /^(this (model|endpoint)'s maximum (context|prompt) length is|prompt (is )?too long|prompt exceeds max length|the input token count|(the model returned the following errors: )?input tokens exceeded|input is too long|your input exceeds the context window|input length and `max_tokens` exceed context limit|prompt contains \d+ tokens|[<\d.>a-z_]{0,40} ?range of input length should be|your request exceeded model token limit|the total length of all messages is too long|too many tokens|the request exceeds the available context size|please reduce the length of the messages|the number of tokens to keep from the initial prompt is greater than the context length|trying to keep the first \d+ tokens when context)/i,
    },
  },
  {
    meaning: "beyond_limit",
    statuses: [],
    // OpenAI (429) and Groq (413), with the code of a limit that is used up.
    sentences: { at: [413, 429, 0], pattern: BEYOND_LIMIT },
  },
  { meaning: "invalid_request_error", statuses: [400, 422] },
  { meaning: "overloaded_error", statuses: [429, 503, 529] },
  { meaning: "timeout_error", statuses: [504, 524] },
];

/** Codes of an error that came without a status: of a limit on the rate, */
const LIMITED =
  words(`rate_limit_error rate_limit_exceeded ratelimitreached rate_limit_reached_error rate_limit
  resource_exhausted too_many_requests throttling 1302 1303 1305 base_resp:1002 base_resp:1041`);

/** and of a server that has too much to do. */
const OVERLOADED = words(`overloaded overloaded_error engine_overloaded_error server_overloaded unavailable
  service_unavailable`);

/** DashScope has what is limited behind the code: `Throttling.RateQuota`. */
const isIn =
  (known: ReadonlySet<string>) =>
  (code: string): boolean =>
    known.has(code.split(".")[0] as string);

function words(text: string): ReadonlySet<string> {
  return new Set(text.match(/\S+/g));
}

/**
 * `namesStored`: the request names something that the provider stores, which a word of no place or no permission may be
 * about. It is the caller's to mend then, and says nothing of the provider.
 */
function meaningOf({ status, codes, message }: Said, namesStored: boolean): Meaning {
  const sure =
    SIGNS.find((signs) => codes.some((code) => signs.codes?.has(code))) ??
    SIGNS.find(({ sentences }) => sentences?.at.includes(status) === true && sentences.pattern.test(message));
  // A model that is known, and not to this credential.
  if (sure !== undefined) return sure.meaning === "model" && status === 403 ? "access" : sure.meaning;
  const vague =
    SIGNS.find((signs) => codes.some((code) => signs.vague?.has(code))) ??
    SIGNS.find(({ statuses }) => statuses.includes(status));
  if (namesStored && (vague?.meaning === "access" || vague?.meaning === "model"))
    return "invalid_request_error";
  if (vague !== undefined) return vague.meaning;
  const isOverloaded = status === 0 && (codes.some(isIn(LIMITED)) || codes.some(isIn(OVERLOADED)));
  return isOverloaded ? "overloaded_error" : "upstream_error";
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
    const parsed: unknown = JSON.parse(new TextDecoder().decode(body));
    // Some servers answer with a list of one error.
    return Array.isArray(parsed) ? parsed[0] : parsed;
  } catch {
    return undefined;
  }
}

/** Finds message, type and code in every shape that vendors use. */
function readSaid(outer: unknown, status: number): Said {
  if (!isJsonObject(outer)) return { status, message: "", codes: [] };
  const within = isJsonObject(outer.base_resp) ? errorWithin(outer) : outer.error;
  const inner = isJsonObject(within) ? within : outer;
  const texts = [outer.error, inner.message, outer.message, detailText(outer.detail)];
  const details = objectsIn(inner.details);
  const codes = [
    inner.type,
    inner.type === "base_resp" ? `base_resp:${String(inner.code)}` : inner.code,
    inner.status,
    inner.error_type,
    outer.type,
    outer.code,
    isJsonObject(inner.innererror) ? inner.innererror.code : undefined,
    ...details.map((detail) => detail.reason),
  ];
  // Google's `{"@type": ".../google.rpc.RetryInfo", "retryDelay": "3.5s"}`.
  const waits = details.map(({ retryDelay }) => /^(\d+(?:\.\d+)?)s$/.exec(filledText(retryDelay) ?? "")?.[1]);
  return {
    status,
    message: texts.map(filledText).find((text) => text !== undefined) ?? "",
    codes: codes
      .filter((word) => typeof word === "string" || typeof word === "number")
      .map((word) => String(word).toLowerCase().slice(0, 80)),
    param: inner.param,
    waitSec: waits.find((wait) => wait !== undefined),
  };
}

function detailText(detail: unknown): unknown {
  if (!Array.isArray(detail)) return detail;
  return detail
    .map((item) => (isJsonObject(item) && typeof item.msg === "string" ? item.msg : ""))
    .join("; ");
}

const KEY_LIKE = /\b(sk|pk|api|key|gsk|xai)[-_][A-Za-z0-9_*-]{6,}|Bearer\s|[A-Za-z0-9+/]{64,}/;

/**
 * The provider's sentence for the client, where it can be shown: without our secrets, without anything that looks like a
 * key, at most 500 characters. Else one of ours.
 */
export function shownMessage(
  message: string,
  kind: "invalid_request_error" | "input_too_large" | "content_moderation",
  context: Pick<AnswerContext, "secrets" | "model">,
): string {
  const secret = context.secrets.some((text) => text.length >= 8 && message.includes(text.slice(0, 8)));
  if (message === "" || secret || KEY_LIKE.test(message)) return OURS[kind];
  // oxlint-disable-next-line no-control-regex -- control characters of a provider's text stay out of ours
  const text = message.replace(/[\u0000-\u001f\u007f]+/g, " ").slice(0, 500);
  return `${text}${/[.!?]$/.test(text) ? "" : "."} (${context.model})`;
}

/** Whether a provider's `param` is the path of a field, and nothing else. */
function isFieldPath(param: unknown, secrets: readonly string[]): param is string {
  if (typeof param !== "string" || secrets.includes(param)) return false;
  return /^[\w.[\]-]{1,120}$/.test(param) && !KEY_LIKE.test(param);
}
