/** Every error a client can be given: the `type` on the wire and the status it comes with. */
export const ERRORS = {
  invalid_request_error: { status: 400 },
  content_moderation: { status: 400 },
  input_too_large: { status: 400 },
  auth_error: { status: 401 },
  insufficient_credits: { status: 402 },
  permission_error: { status: 403 },
  not_found_error: { status: 404 },
  method_not_allowed: { status: 405 },
  conflict_error: { status: 409 },
  unsupported_encoding: { status: 415 },
  rate_limit_error: { status: 429 },
  internal_error: { status: 500 },
  upstream_error: { status: 502 },
  overloaded_error: { status: 503 },
  timeout_error: { status: 504 },
} as const satisfies Record<string, { status: number }>;

export type ErrorKind = keyof typeof ERRORS;

/** The `error.type` of each kind: a 405 and a 415 are an `invalid_request_error`, all others are their own. */
function typeOf(kind: ErrorKind): string {
  return kind === "method_not_allowed" || kind === "unsupported_encoding" ? "invalid_request_error" : kind;
}

/** Every `error.type` that there is. */
export const ERROR_TYPES: readonly string[] = [...new Set((Object.keys(ERRORS) as ErrorKind[]).map(typeOf))];

/** What a `GatewayError` may say besides its message. */
export interface ErrorDetails {
  /** The request field that is at fault, as a path: `messages[0].content`. */
  readonly param?: string;
  /** What tells apart errors of one type, for programs to branch on: `model_not_found`. Absent: the type. */
  readonly code?: string;
  /** When trying again makes sense, in seconds from now. */
  readonly retryAfterSec?: number;
  /** Headers of the answer, such as `allow`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Sentences that the gateway tells the client in the `warning` header, as it does with a good answer. */
  readonly warnings?: readonly string[];
  /** Only the operator can mend it: a credential, a balance, a model that is gone. The client learns nothing of it. */
  readonly operatorFault?: boolean;
  /** What the operator can do about it, in a sentence for the log alone. */
  readonly operatorHint?: string;
  /** The message is a provider's, which may quote what the caller sent. */
  readonly foreign?: boolean;
  readonly cause?: unknown;
}

const NO_WARNINGS: readonly string[] = [];

/**
 * The one error class. Its message is written for the client: it says what was wrong and what to do. What the caller sent
 * stands in it as `quoted`, if at all, or as the path of a field.
 */
export class GatewayError extends Error {
  readonly kind: ErrorKind;
  readonly param: string | undefined;
  readonly code: string | undefined;
  readonly retryAfterSec: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly warnings: readonly string[];
  readonly operatorFault: boolean;
  readonly operatorHint: string | undefined;
  readonly foreign: boolean;

  constructor(kind: ErrorKind, message: string, details: ErrorDetails = {}) {
    super(message, { cause: details.cause });
    this.name = "GatewayError";
    this.kind = kind;
    this.param = details.param;
    this.code = details.code;
    this.retryAfterSec = details.retryAfterSec;
    this.headers = details.headers ?? {};
    this.warnings = details.warnings ?? NO_WARNINGS;
    this.operatorFault = details.operatorFault ?? false;
    this.operatorHint = details.operatorHint;
    this.foreign = details.foreign ?? false;
  }

  /** HTTP status of this error. */
  get status(): number {
    return ERRORS[this.kind].status;
  }

  /** The `error.type` on the wire. */
  get type(): string {
    return typeOf(this.kind);
  }
}

/**
 * What a caller wrote, as a message has it: at most 100 characters, in quotes. By the quotes the log knows it and
 * leaves it out.
 */
export function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}

/** The members of an error body beside type and message, as far as the error has them. */
export function errorDetails(error: GatewayError): ErrorDetails {
  const { param, code, retryAfterSec, operatorHint } = error;
  return {
    ...(param === undefined ? {} : { param }),
    ...(code === undefined ? {} : { code }),
    ...(retryAfterSec === undefined ? {} : { retryAfterSec }),
    ...(operatorHint === undefined ? {} : { operatorHint }),
    headers: error.headers,
    warnings: error.warnings,
    operatorFault: error.operatorFault,
    foreign: error.foreign,
    cause: error.cause,
  };
}

/** The same error of another field. */
export function withParam(error: GatewayError, param: string): GatewayError {
  return new GatewayError(error.kind, error.message, { ...errorDetails(error), param });
}

/** The same error with more warnings, before its own. */
export function withWarnings(error: GatewayError, warnings: readonly string[]): GatewayError {
  if (warnings.length === 0) return error;
  return new GatewayError(error.kind, error.message, {
    ...errorDetails(error),
    warnings: [...warnings, ...error.warnings],
  });
}

/** The same error with more headers; one that it has already stays. */
export function withHeaders(error: GatewayError, headers: Readonly<Record<string, string>>): GatewayError {
  return new GatewayError(error.kind, error.message, {
    ...errorDetails(error),
    headers: { ...headers, ...error.headers },
  });
}

/** `error` as a `GatewayError`: itself, or an `internal_error` that tells the client nothing of the inside. */
export function toGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  return new GatewayError(
    "internal_error",
    "Something went wrong in the gateway. Quote the request id to its operator.",
    {
      cause: error,
    },
  );
}
