import type { GatewayError } from "../core/errors.ts";
import { isJsonObject } from "../core/json-value.ts";
import { readErrorObject, readRefusal } from "../protocols/refusal.ts";
import type { MediaCall, MediaHttpAnswer, MediaRefusal } from "./media.ts";

/** Codes of one vendor, and what they mean; the first that matches counts. */
export type VendorCodes = readonly (readonly [RegExp, MediaRefusal["reason"]])[];

/**
 * Why an answer that is no 200 refused the work, by its status and by what vendors' codes are known to mean; `codes`
 * are this vendor's own.
 */
export function refusalOf(answer: MediaHttpAnswer, call: MediaCall, codes: VendorCodes = []): MediaRefusal {
  const { status, bytes, json } = answer;
  const retryAfter = answer.header("retry-after");
  return meant(json, refusalBy(readRefusal({ status, body: bytes, retryAfter }, context(call))), codes);
}

/** The same for an error of a job, which came without a status of its own. */
export function jobRefusal(error: unknown, call: MediaCall, codes: VendorCodes = []): MediaRefusal {
  const refusal = meant(error, refusalBy(readErrorObject(error, context(call))), codes);
  // The job had begun: sending it again would be a second one.
  return refusal.reason === "busy" ? { reason: "failed", message: refusal.message } : refusal;
}

/** The provider's credential is none of the adapter's business; whoever shows a message takes it out. */
function context({ model }: MediaCall): { readonly model: string; readonly secrets: readonly string[] } {
  return { model, secrets: [] };
}

function meant(body: unknown, refusal: MediaRefusal, codes: VendorCodes): MediaRefusal {
  const error = isJsonObject(body) && isJsonObject(body.error) ? body.error : body;
  if (!isJsonObject(error)) return refusal;
  const said = [error.code, error.type].filter((code) => typeof code === "string");
  const reason = codes.find(([code]) => said.some((word) => code.test(word)))?.[1];
  if (reason === undefined || reason === refusal.reason) return refusal;
  return { reason, message: typeof error.message === "string" ? error.message : refusal.message };
}

function refusalBy(error: GatewayError): MediaRefusal {
  const { kind, message, operatorFault, retryAfterSec } = error;
  if (operatorFault) return { reason: "operator_fault", message: causeOf(error) };
  switch (kind) {
    case "content_moderation":
      return { reason: "moderation", message };
    case "invalid_request_error":
      return { reason: "invalid_request", message };
    case "input_too_large":
      return { reason: "input_too_large", message };
    case "overloaded_error":
      return {
        reason: "busy",
        message,
        ...(retryAfterSec === undefined ? {} : { retryAfterMs: retryAfterSec * 1_000 }),
      };
    default:
      return { reason: "failed", message: causeOf(error) };
  }
}

/** For the log: status and codes, not the sentence, which may quote what was asked. */
function causeOf({ cause, message }: GatewayError): string {
  return cause instanceof Error ? cause.message : message;
}
