import { type CodeTable, objectAt, reasonIn, refusalOf, textAt } from "../media-answers.ts";
import type { MediaHttpAnswer, MediaRefusal } from "../media.ts";

/** https://docs.byteplus.com/en/docs/ModelArk/1299023 */
const CODES: CodeTable = [
  ["moderation", /Sensitive|RiskDetection|PolicyViolation|PrivacyInformation/],
  [
    "operator_fault",
    /^(AuthenticationError|AccountOverdueError|AccessDenied|OperationDenied|ModelNotOpen|InvalidEndpoint)/,
  ],
  // With the status of a limit: a model that is paused where its account set a limit, or a plan that is used up.
  ["operator_fault", /^(SetLimitExceeded|AccountQuotaExceeded)/],
  ["busy", /^(RateLimitExceeded|\w*Account\w*RateLimitExceeded|QuotaExceeded|ServerOverloaded)/],
  ["invalid_request", /^(MissingParameter|InvalidParameter|InvalidImageURL)/],
  ["unclear", /^InternalServiceError/],
];

/** `QuotaExceeded` means that too many tasks wait, unless it says that what was given for nothing or by a plan is used up. */
const USED_UP = /\b(free trial|usage) quota\b/i;

/** The refusal in an answer that is not a good one. */
export function readRefusal(answer: MediaHttpAnswer): MediaRefusal {
  const { code, message } = said(answer.json);
  return refusalOf(answer, {
    ...(code === undefined ? {} : { code }),
    message,
    reason: code === "QuotaExceeded" && USED_UP.test(message) ? "operator_fault" : reasonIn(CODES, code),
  });
}

function said(body: unknown): { readonly code: string | undefined; readonly message: string } {
  const error = objectAt(body, "error");
  return { code: textAt(error, "code")?.slice(0, 100), message: textAt(error, "message") ?? "" };
}

/** The refusal in the `error` of work that was taken and has failed, or of one of several images. */
export function readFailure(failed: unknown): MediaRefusal {
  const { code, message } = said(failed);
  return { reason: reasonIn(CODES, code) ?? "failed", message, ...(code === undefined ? {} : { code }) };
}
