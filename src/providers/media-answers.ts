import { isJsonObject, type JsonObject } from "../core/json/json-value.ts";
import { isBeyondLimit } from "../protocols/refusal.ts";
import { isRedirect } from "./upstream.ts";
import type { MediaHttpAnswer, MediaRefusal, MediaStep } from "./media.ts";

/** What a provider said in a refusal, in whatever shape it says it. */
export interface SaidRefusal {
  readonly code?: string;
  readonly message: string;
  /** What the provider's own code means; absent where its status has to say it. */
  readonly reason?: MediaRefusal["reason"] | undefined;
  /** It names a field of the request's input: a 403 or 404 is then of a file, and not of the credential or the model. */
  readonly isOfInput?: boolean;
}

/** The refusal that an answer of any media provider is: by its own code where that is known, else by its status. */
export function refusalOf(answer: MediaHttpAnswer, said: SaidRefusal): MediaRefusal {
  const byStatus =
    said.isOfInput === true && (answer.status === 403 || answer.status === 404)
      ? "invalid_request"
      : reasonOf(answer.status);
  const reason = isBeyondLimit(answer.status, said.message) ? "beyond_limit" : (said.reason ?? byStatus);
  const { retryAfterMs } = answer;
  return {
    reason,
    message: said.message,
    code: said.code ?? `${answer.status}`,
    status: answer.status,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

function reasonOf(status: number): MediaRefusal["reason"] {
  if (isRedirect(status)) return "operator_fault";
  switch (status) {
    case 400:
    case 422:
      return "invalid_request";
    case 401:
    case 402:
    case 403:
    case 404:
    case 405:
    case 407:
      return "operator_fault";
    case 413:
      return "input_too_large";
    case 429:
    case 503:
    case 529:
      return "busy";
    case 451:
      return "moderation";
    default:
      return "unclear";
  }
}

/** A vendor's codes by what they mean; the first pattern that matches counts. */
export type CodeTable = readonly (readonly [MediaRefusal["reason"], RegExp])[];

/** What a code means; `undefined` where the table has none that matches. */
export function reasonIn(table: CodeTable, code: string | undefined): MediaRefusal["reason"] | undefined {
  return code === undefined ? undefined : table.find(([, pattern]) => pattern.test(code))?.[0];
}

/** Of work that was taken and has ended: what is no fault of the client's came to nothing, and is not asked after again. */
export function endedWith(refusal: MediaRefusal): MediaRefusal {
  const { reason, message, code } = refusal;
  const isOver = reason === "busy" || reason === "beyond_limit" || reason === "unclear";
  return isOver ? { reason: "failed", message, ...(code === undefined ? {} : { code }) } : refusal;
}

/**
 * A question after a job that was refused says nothing of the work, whatever the same status would mean for a request.
 * A 404 says that the job is unknown, all else that it is to be asked again.
 */
export function refusedQuestion({ status }: MediaHttpAnswer, refusal: MediaRefusal): MediaStep {
  if (status === 404 || status === 410) return { state: "unknown_job" };
  const isOfQuestion = refusal.reason === "busy" || refusal.reason === "operator_fault";
  return { state: "refused", refusal: isOfQuestion ? refusal : { ...refusal, reason: "unclear" } };
}

/** Of a field that the model takes, and its present provider does not. */
export function cannotBeUsed(field: string): MediaRefusal {
  const message = `${field} cannot be used with the model now: its present provider does not take it.`;
  return { reason: "invalid_request", message };
}

/** Whether what was said has reached the provider, whatever it thinks of it. */
export function wasHeard({ status }: MediaHttpAnswer): boolean {
  return status < 500 && status !== 429;
}

/** Whether the answer is a good one. */
export function isGood({ status }: Pick<MediaHttpAnswer, "status">): boolean {
  return status >= 200 && status < 300;
}

/** A member of a value that may be anything, when it is an object. */
export function objectAt(value: unknown, name: string): JsonObject {
  const member = isJsonObject(value) ? value[name] : undefined;
  return isJsonObject(member) ? member : {};
}

/** A member that is a text, and not an empty one. */
export function textAt(value: JsonObject, name: string): string | undefined {
  const member = value[name];
  return typeof member === "string" && member !== "" ? member : undefined;
}
