import { GatewayError } from "../errors.ts";
import { loggedMessage, loggedParam } from "./logged-message.ts";

/** Fields of a log line. None is for prompts, answers or keys, so they cannot be logged. */
export interface LogFields {
  readonly request_id?: string;
  readonly task?: string;
  readonly tasks?: number;
  readonly method?: string;
  readonly path?: string;
  readonly status?: number;
  readonly duration_ms?: number;
  readonly key_id?: string;
  readonly account_id?: string;
  /** Whose session of the console the request came with, or opened. */
  readonly session?: "operator" | "developer";
  readonly model?: string;
  readonly provider?: string;
  readonly upstream_status?: number;
  readonly upstream_error?: string;
  /** The provider refused our account or settings, which only the operator can mend: worth an alarm. */
  readonly operator_fault?: boolean;
  readonly outcome?: string;
  readonly credit?: string;
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly usage_flags?: readonly string[];
  readonly unknown_usage?: readonly string[];
  readonly repairs?: readonly string[];
  readonly error?: string;
  /** What the operator can do about the error. */
  readonly operator_hint?: string;
  /** Of a refusal: the field at fault, the code, and the message without what the caller sent. */
  readonly param?: string;
  readonly code?: string;
  readonly refusal?: string;
  /** The limit of the key that refused the request. */
  readonly limit?: string;
  readonly file?: string;
  /** The host of a URL that a client or provider named. */
  readonly host?: string;
  readonly holds?: number;
  /** Descriptors that the process may open, that are open, and that are kept from clients. */
  readonly descriptors?: number;
  readonly open?: number;
  readonly kept?: number;
  readonly check?: string;
}

/** The one way to write a log line: structured JSON, one line each. */
export interface Log {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

const SECRETS = /\b(sk-[A-Za-z0-9_-]{8,}|adm-[A-Za-z0-9_-]{8,}|bearer\s+\S+|[A-Za-z0-9+/_-]{38,})/gi;

/** `text` without anything that looks like a key, a token or a payload, cut to `maxLength` characters. */
export function redact(text: string, maxLength = 300): string {
  return text.replace(SECRETS, "[redacted]").slice(0, maxLength);
}

/** What the log line of a refused request has of its error; `isModel` knows the ids of models, which are no secret. */
export function refusalFields(error: GatewayError, isModel: (text: string) => boolean): LogFields {
  const param = loggedParam(error.param);
  return {
    error: error.type,
    ...(error.code === undefined ? {} : { code: error.code }),
    ...(param === undefined ? {} : { param: redact(param) }),
    refusal: redact(loggedMessage(error, isModel)),
  };
}

/** An error and its causes in one redacted line. */
export function describeError(error: unknown): string {
  const parts: string[] = [];
  for (let at: unknown = error; at !== undefined && at !== null && parts.length < 4;) {
    if (!(at instanceof Error)) {
      parts.push(typeof at === "string" ? at : typeof at);
      break;
    }
    const code = "code" in at && typeof at.code === "string" ? ` ${at.code}` : "";
    const message = at instanceof GatewayError ? loggedMessage(at) : at.message;
    parts.push(`${at.name}${code}: ${message}`);
    at = at.cause;
  }
  return redact(parts.join(" ← "), 600);
}
