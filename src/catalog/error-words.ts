import { ERRORS, type ErrorKind } from "../core/errors.ts";
import type { Category } from "../core/model.ts";

type ErrorWords = Readonly<Partial<Record<ErrorKind, string | undefined>>>;

/** What each error means and what to do, for those who call a model. */
const ERROR_WORDS: ErrorWords = {
  invalid_request_error:
    "The request is not valid; the message names the field. Do not send it again as it is",
  content_moderation: "The provider blocked it. Change what is asked",
  input_too_large:
    "More than the model's context, than its provider takes from the gateway in a minute, or a body of more than 32 MiB",
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

const MEDIA_ERROR_WORDS: ErrorWords = {
  ...ERROR_WORDS,
  input_too_large: "The prompt or something that is given is too large, or the body has more than 32 MiB",
  insufficient_credits:
    "The balance, or the key's budget, does not cover the most that the request can cost. Ask for less, or buy credit",
  permission_error: "A link to a result has expired, or was changed. Read the task again for a new one",
  not_found_error: "There is no such task, model or path, or the file of a link is no longer kept",
  conflict_error: "The task has begun or ended, and cannot be cancelled. Trying again does not help",
  rate_limit_error: "The key's limit, or too many tasks wait. Wait as `Retry-After` says",
};

const CATEGORY_WORDS: Readonly<Partial<Record<Category, ErrorWords>>> = {
  embedding: {
    ...ERROR_WORDS,
    input_too_large:
      "A text, or all of them, has more tokens than the model takes, or than its provider takes from the gateway in a minute, or a body of more than 32 MiB",
    insufficient_credits:
      "The balance, or the key's budget, does not cover the most that the request can cost. Send less text, or buy credit",
  },
  image: MEDIA_ERROR_WORDS,
  video: {
    ...MEDIA_ERROR_WORDS,
    invalid_request_error:
      "The request is not valid; the message names the field. Do not send it again as it is. Or too many tasks wait: then do, later",
    rate_limit_error: undefined,
    overloaded_error:
      "The key's limit, or the provider or the gateway is overloaded. Wait as `Retry-After` says",
  },
};

/** Every error that a caller of a model of this category can meet, as a table. */
export function errorTable(category: Category): string {
  const told = CATEGORY_WORDS[category] ?? ERROR_WORDS;
  const rows = Object.entries(ERRORS).flatMap(([kind, { status }]) => {
    const words = Object.entries(told).find(([known]) => known === kind)?.[1];
    return words === undefined ? [] : [`| ${status} | \`${kind}\` | ${words} |`];
  });
  return ["| Status | `error.type` | What it means |", "|---|---|---|", ...rows].join("\n");
}
