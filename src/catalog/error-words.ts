import { ERRORS, type ErrorKind } from "../core/errors.ts";

/** What each error means and what to do, for those who call a model. */
const ERROR_WORDS: Readonly<Partial<Record<ErrorKind, string>>> = {
  invalid_request_error:
    "The request is not valid; the message names the field. Do not send it again as it is",
  content_moderation: "The provider blocked it. Change what is asked",
  input_too_large: "More than the model's context, or a body of more than 32 MiB",
  auth_error: "The key is missing, wrong, revoked or expired",
  insufficient_credits:
    "The balance, or the key's budget, does not cover the most that the request can cost. Lower the bound on output, or buy credit",
  not_found_error: "There is no such model or path",
  rate_limit_error: "The key's limit. Wait as `Retry-After` says",
  internal_error: "The gateway failed. Quote the `x-request-id`",
  upstream_error: "The provider failed or its answer broke off",
  overloaded_error:
    "The provider or the gateway is overloaded, or the provider limits its rate. Wait as `Retry-After` says",
  timeout_error: "The provider did not answer in time",
};

/** Every error a caller of a model can meet, as a table. */
export function errorTable(): string {
  const rows = Object.entries(ERRORS).flatMap(([kind, { status }]) => {
    const words = Object.entries(ERROR_WORDS).find(([known]) => known === kind)?.[1];
    return words === undefined ? [] : [`| ${status} | \`${kind}\` | ${words} |`];
  });
  return ["| Status | `error.type` | What it means |", "|---|---|---|", ...rows].join("\n");
}
