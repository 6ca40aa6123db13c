import { isJsonObject, type JsonObject } from "../../core/json/json-value.ts";
import type { MediaHttpAnswer, MediaRefusal } from "../media.ts";
import { type CodeTable, endedWith, objectAt, reasonIn, refusalOf, textAt } from "../media-answers.ts";

/** The refusal in an answer that is not a good one. */
export function readRefusal(answer: MediaHttpAnswer): MediaRefusal {
  const body = isJsonObject(answer.json) ? answer.json : {};
  const { code, message = "" } = said(body);
  return refusalOf(answer, {
    ...(code === undefined ? {} : { code }),
    message,
    reason: code === undefined ? undefined : reasonOfCode(code, message),
  });
}

/** The refusal in `output` of work that was taken and has failed. */
export function readFailure(output: JsonObject): MediaRefusal {
  const { code = "", message = "" } = said({ output });
  return endedWith({ reason: reasonOfCode(code, message) ?? "failed", message, code });
}

/** Refusals stand in the body, failures of tasks in its `output`. */
function said(body: JsonObject): { readonly code?: string; readonly message?: string } {
  const output = objectAt(body, "output");
  const code = textAt(body, "code") ?? textAt(output, "code");
  const message = textAt(body, "message") ?? textAt(output, "message");
  return {
    ...(code === undefined ? {} : { code: code.slice(0, 100) }),
    ...(message === undefined ? {} : { message }),
  };
}

/** https://www.alibabacloud.com/help/en/model-studio/error-code */
const CODES: CodeTable = [
  ["moderation", /^(data_?inspection_?failed|ipinfringementsuspect)$/i],
  ["input_too_large", /^badrequest\.toolarge$/i],
  [
    "operator_fault",
    /^(invalidapikey|(\w+\.)?accessdenied(\.\w+)?|arrearage|modelnotfound|model_not_found|allocationquota\.\w+|workspace\.\w+)$/i,
  ],
  // Bills that are not paid, with the status of a limit.
  ["operator_fault", /^((prepaid|postpaid)billoverdue|commoditynotpurchased|budgetlimitexceeded)$/i],
  ["busy", /^(throttling(\.\w+)?|limitrequests|serviceunavailable)$/i],
  ["unclear", /^internalerror(\.\w+)?$/i],
];

/** Of an input that is longer or larger than is taken; its code is that of any wrong parameter. */
const TOO_LARGE = /\b(image|video|audio|file|media|url)\b[^.]{0,80}\b(too large|exceeds?|larger than)\b/i;

/** Of a failure that has no code. */
const MODERATED = /content policy|inappropriate content/i;

function reasonOfCode(code: string, message: string): MediaRefusal["reason"] | undefined {
  if (code === "" && MODERATED.test(message)) return "moderation";
  const known = reasonIn(CODES, code);
  // Among the invalid ones is a file that its inspection could not fetch (`InvalidParameter.DataInspection`).
  if (known !== undefined || !/^(invalid|badrequest)/i.test(code)) return known;
  return TOO_LARGE.test(message) ? "input_too_large" : "invalid_request";
}
