import type { Tone } from "../design/badge.tsx";

/** A value of the API in plain words. */
export interface Words {
  /** One or two words, for a badge or a choice. */
  readonly name: string;
  readonly tone: Tone;
  /** What happened. */
  readonly says: string;
  /** What the reader can do about it; absent where nothing is to be done. */
  readonly todo?: string;
}

/** Errors of the gateway, by their `type` on the wire and in rows. */
const ERROR_WORDS = {
  invalid_request_error: {
    name: "Invalid request",
    tone: "bad",
    says: "The request asked for something that the model or its provider does not take.",
    todo: "Read the field and the message of the answer, and change the request.",
  },
  content_moderation: {
    name: "Moderated",
    tone: "warn",
    says: "The provider's moderation blocked the prompt or the answer.",
    todo: "Change the prompt. The same one is blocked again.",
  },
  input_too_large: {
    name: "Input too large",
    tone: "bad",
    says: "The input does not fit into the model's context or the size that a request may have.",
    todo: "Send less, or choose a model with a larger context.",
  },
  auth_error: {
    name: "Not signed in",
    tone: "bad",
    says: "The request had no valid API key.",
    todo: "Send a live API key of this gateway in the Authorization header.",
  },
  insufficient_credits: {
    name: "No credit left",
    tone: "bad",
    says: "The account's balance or the key's budget could not cover the most that the request might cost.",
    todo: "Grant credit to the account, raise the key's budget, or ask for less output.",
  },
  permission_error: {
    name: "Not allowed",
    tone: "bad",
    says: "The key may not do this.",
    todo: "Allow it on the key's page, or use another key.",
  },
  not_found_error: {
    name: "Not found",
    tone: "bad",
    says: "There is nothing under this path or id.",
    todo: "Check the path and the id.",
  },
  method_not_allowed: {
    name: "Wrong method",
    tone: "bad",
    says: "The path does not answer this HTTP method.",
    todo: "Use a method that the answer's Allow header names.",
  },
  conflict_error: {
    name: "Conflict",
    tone: "bad",
    says: "The request contradicts what is already there.",
    todo: "Read the present state, then send the request anew.",
  },
  unsupported_encoding: {
    name: "Unknown encoding",
    tone: "bad",
    says: "The body came in a content encoding that the gateway does not read.",
    todo: "Send the body as it is, or with an encoding that the answer names.",
  },
  rate_limit_error: {
    name: "Rate limited",
    tone: "warn",
    says: "The key used up its limit, or every provider refused for its own.",
    todo: "Wait as long as Retry-After says, or raise the key's limits.",
  },
  internal_error: {
    name: "Gateway failed",
    tone: "bad",
    says: "Something went wrong inside the gateway.",
    todo: "Search the log for the request id; its line has the cause.",
  },
  upstream_error: {
    name: "Provider failed",
    tone: "bad",
    says: "The provider answered with an error or broke off, and no other attempt could be made.",
    todo: "Send the request again; that is safe. The page of the request shows what the provider answered to each attempt.",
  },
  overloaded_error: {
    name: "Overloaded",
    tone: "warn",
    says: "The gateway or every provider of the model had no room for the request.",
    todo: "Send it again after Retry-After. If it goes on, add a route or a credential.",
  },
  timeout_error: {
    name: "Timed out",
    tone: "bad",
    says: "The provider did not answer within the time that the request had.",
    todo: "Send it again, ask for less output, or raise the timeout.",
  },
} as const satisfies Record<string, Words>;

const OTHER_OUTCOMES = {
  completed: {
    name: "Completed",
    tone: "ok",
    says: "The client received the whole answer.",
  },
  cancelled: {
    name: "Cancelled",
    tone: "none",
    says: "The task was cancelled before a provider had begun it.",
  },
  client_gone: {
    name: "Client left",
    tone: "warn",
    says: "The client closed the connection before the answer had ended. It pays for what the provider had made by then.",
    todo: "If the client did not mean to leave, check its timeouts and those of proxies in between.",
  },
  process_died: {
    name: "Gateway stopped",
    tone: "bad",
    says: "The gateway's process ended before the request did. Its hold was released; the expected cost counts as your loss.",
    todo: "Check why the process ended. The client may send the request again.",
  },
  expired: {
    name: "Hold expired",
    tone: "bad",
    says: "The request outlived its hold, which was released. The expected cost counts as your loss.",
    todo: "Check the log for what kept the request from ending.",
  },
  unwritten: {
    name: "Not recorded",
    tone: "bad",
    says: "The charge could not be written to the store, so the client received an error and does not pay.",
    todo: "Check the store on the page Health: its disk or its connection failed.",
  },
  unfinished_upstream: {
    name: "Left with provider",
    tone: "bad",
    says: "The task failed here, though the provider may have worked on it. The client does not pay; the expected cost counts as your loss.",
    todo: "Look up the job at the provider by its id.",
  },
  generation_error: {
    name: "Generation failed",
    tone: "bad",
    says: "The provider could not make the image or the video.",
    todo: "Send it again, or change the prompt or the parameters.",
  },
} as const satisfies Record<string, Words>;

/** Outcomes of paid requests. */
export const OUTCOME_WORDS: Readonly<Record<string, Words>> = { ...OTHER_OUTCOMES, ...ERROR_WORDS };

const SEND_KEY = "Send it as Authorization: Bearer <key>, x-api-key or x-goog-api-key.";
const SEND_TOKEN = "Send it once, as Authorization: Bearer <token>.";

/** Codes of refusals. A refusal without a code of its own has its error's type. */
export const CODE_WORDS: Readonly<Record<string, Words>> = {
  ...ERROR_WORDS,
  api_key_malformed: refusal(
    "Malformed key",
    "The text that was sent as API key cannot be one of this gateway.",
    "Copy the key whole. A key of a provider opens nothing here.",
  ),
  api_key_unknown: refusal(
    "Unknown key",
    "This gateway has no such API key.",
    "Check the gateway's address, or make a key on the page Accounts & keys.",
  ),
  api_key_revoked: refusal("Revoked key", "The API key was revoked.", "Use another key of the account."),
  api_key_expired: refusal(
    "Expired key",
    "The API key has expired.",
    "Use another key, or move the date on the key's page.",
  ),
  api_key_ended: refusal(
    "Key ended",
    "The API key was revoked or expired while the request was on its way.",
    "Use another key of the account.",
  ),
  account_inactive: refusal(
    "Inactive account",
    "The account of the API key is not active.",
    "Use a key of an active account.",
  ),
  admin_token_given: refusal(
    "Admin token sent",
    "The admin token came in place of an API key.",
    "Send an API key. Change the admin token if others could have seen the request.",
  ),
  api_key_given: refusal(
    "API key sent",
    "An API key came in place of the admin token.",
    "Send the admin token to /admin/v1.",
  ),
  admin_token_unknown: refusal(
    "Wrong admin token",
    "The admin token is not the one of this gateway.",
    "The first start printed it, or SWITCHYARD_ADMIN_TOKEN sets it.",
  ),
  api_key_missing: refusal("No key", "The request had no API key, or an empty one.", SEND_KEY),
  api_key_misplaced: refusal(
    "Misplaced key",
    "The API key stood where the gateway does not read one.",
    SEND_KEY,
  ),
  api_key_ambiguous: refusal(
    "Two keys",
    "The request had several API keys.",
    "Send the key in one header, once.",
  ),
  admin_token_missing: refusal("No admin token", "The request had no admin token.", SEND_TOKEN),
  admin_token_misplaced: refusal(
    "Misplaced admin token",
    "The admin token stood where the gateway does not read one.",
    SEND_TOKEN,
  ),
  admin_token_ambiguous: refusal("Two admin tokens", "The request had several credentials.", SEND_TOKEN),
  unknown_parameter: refusal(
    "Unknown parameter",
    "The request has a field that the format does not know.",
    "Leave the field out, or correct its name.",
  ),
  unsupported_parameter: refusal(
    "Unsupported parameter",
    "The request has a field that the gateway does not serve.",
    "The answer's message says what to use instead.",
  ),
  model_not_found: refusal(
    "Unknown model",
    "No model has the name that was asked for.",
    "Choose a name from the page Models, or add an alias.",
  ),
  model_ambiguous: refusal(
    "Ambiguous model",
    "Several models have the name that was asked for.",
    "Ask by the full id, or add an alias that decides.",
  ),
  model_not_served_here: refusal(
    "Wrong endpoint",
    "The model is served at other endpoints than the one that was called.",
    "The model's page names its endpoints.",
  ),
  model_not_allowed: refusal(
    "Model not allowed",
    "The API key may not use the model.",
    "Allow the model on the key's page.",
  ),
  no_live_provider: refusal(
    "No live provider",
    "No provider of the model is set up.",
    "Set a credential of one of its providers. The request's log line names the variable.",
  ),
  csrf_refused: refusal(
    "Not from this page",
    "The call did not show the token of the console's session.",
    "Reload the page and try again.",
  ),
  origin_refused: refusal(
    "Another origin",
    "A page of another address tried to use the console's session.",
    "Open the console at the gateway's own address.",
  ),
  websocket_not_served: refusal(
    "WebSocket",
    "The client asked for a WebSocket, which the gateway does not serve.",
    "Let the client use plain HTTP streams.",
  ),
  previous_response_not_found: refusal(
    "Unknown response",
    "The request goes on from a response that the gateway does not keep.",
    "Send the whole conversation with each request.",
  ),
};

function refusal(name: string, says: string, todo: string): Words {
  return { name, tone: "bad", says, todo };
}

/** Flags of paid requests: how the usage was arrived at. */
export const FLAG_WORDS = {
  estimated: {
    name: "Estimated",
    tone: "warn",
    says: "The provider told no usage, or the answer was cut off. The gateway counted the tokens itself.",
  },
  clamped: {
    name: "Clamped",
    tone: "warn",
    says: "The provider's count cannot be true. The charge was held to the amount of the hold at most.",
    todo: "If it happens often, report the count to the provider.",
  },
  inferred: {
    name: "Inferred",
    tone: "none",
    says: "The provider's total is larger than the parts that it names. The gateway worked out the missing part.",
  },
  partial: {
    name: "Partial",
    tone: "warn",
    says: "The client received a part of what the provider made, and pays for that part.",
  },
  above_hold: {
    name: "Above hold",
    tone: "warn",
    says: "The request cost more than was held for it, and was charged in full.",
    todo: "The account may have gone below zero. Report a request that did this; its hold should have covered it.",
  },
} as const satisfies Record<string, Words>;

/** States of tasks. */
export const STATE_WORDS = {
  pending: { name: "Pending", tone: "none", says: "The task waits for a free place." },
  running: { name: "Running", tone: "run", says: "A provider works on the task." },
  completed: { name: "Completed", tone: "ok", says: "The task has completed and was charged." },
  failed: { name: "Failed", tone: "bad", says: "The task has failed. It was not charged." },
  cancelled: { name: "Cancelled", tone: "none", says: "The task was cancelled. It was not charged." },
} as const satisfies Record<string, Words>;

/** States of a route's breaker. */
export const ROUTE_WORDS = {
  healthy: { name: "Healthy", tone: "ok", says: "Requests are sent this way." },
  cooling: {
    name: "Cooling",
    tone: "warn",
    says: "The provider refused this way for now. It rests for a while.",
  },
  open: {
    name: "Open",
    tone: "bad",
    says: "The credential was refused or failed again and again. A trial call decides when it serves again.",
  },
} as const satisfies Record<string, Words>;

/** States of holds. */
export const HOLD_WORDS = {
  held: { name: "Held", tone: "run", says: "The amount is set aside." },
  settled: { name: "Settled", tone: "ok", says: "The charge was booked, and the rest released." },
  voided: { name: "Released", tone: "none", says: "The whole amount was released." },
} as const satisfies Record<string, Words>;

/** Kinds of entries in the ledger. */
export const ENTRY_WORDS = {
  grant: { name: "Grant", tone: "ok", says: "Credit was given." },
  settle: { name: "Charge", tone: "none", says: "A request was charged." },
  loss: {
    name: "Loss",
    tone: "warn",
    says: "The operator pays the provider for a request that was not charged.",
  },
} as const satisfies Record<string, Words>;

/** An entry of the ledger in words: a grant below zero is none to who reads it. */
export function entryWords({ kind, amount }: { readonly kind: string; readonly amount: number }): Words {
  return kind === "grant" && amount < 0
    ? { name: "Taken back", tone: "none", says: "Credit was taken back." }
    : wordsOf(ENTRY_WORDS, kind);
}

/** Buckets of usage, by the names of charge lines. */
export const BUCKET_NAMES: Readonly<Record<string, string>> = {
  input: "Input",
  cache_read: "Input read from cache",
  cache_write_5m: "Cache write, 5 min",
  cache_write_1h: "Cache write, 1 h",
  image_input: "Image input",
  audio_input: "Audio input",
  output: "Output",
  reasoning: "Reasoning",
  image_output: "Image output",
  audio_output: "Audio output",
  second: "Video",
  image: "Images",
  web_search: "Web searches",
  adjustment: "Adjustment",
};

/** Units of prices, as a price is read out: `$2 per million tokens`. */
export const UNIT_NAMES: Readonly<Record<string, string>> = {
  million_tokens: "million tokens",
  second: "second",
  image: "image",
  web_search: "search",
};

/** The words for `value`; a value that this console does not know yet stands for itself. */
export function wordsOf(known: Readonly<Record<string, Words>>, value: string): Words {
  return Object.hasOwn(known, value)
    ? (known[value] as Words)
    : { name: value, tone: "none", says: `The gateway says "${value}".` };
}

/**
 * The words for the status that a provider answered an attempt with. `outcome` is the request's for its last attempt:
 * the job of a task has no status, nor has an attempt whose client left.
 */
export function attemptWords(status: number | null, outcome?: string): Words {
  if (status === null && outcome === "completed")
    return { name: "Done", tone: "ok", says: "The provider did the job." };
  if (status === null && outcome === "client_gone")
    return { name: "Not awaited", tone: "none", says: "The client left before the provider had answered." };
  if (status === null)
    return {
      name: "No answer",
      tone: "bad",
      says: "The provider could not be reached, or broke off before its answer.",
    };
  if (status < 300) return { name: "Answered", tone: "ok", says: "The provider took the request." };
  if (status === 401 || status === 403)
    return {
      name: "Credential refused",
      tone: "bad",
      says: "The provider did not take the gateway's credential.",
    };
  if (status === 402)
    return { name: "No balance", tone: "bad", says: "The operator's balance at the provider is used up." };
  if (status === 404)
    return { name: "Not found", tone: "bad", says: "The provider has no such model or path." };
  if (status === 429)
    return { name: "Rate limited", tone: "warn", says: "The provider refused for its rate limit." };
  if (status < 500) return { name: "Refused", tone: "bad", says: "The provider refused the request." };
  return { name: "Provider failed", tone: "bad", says: "The provider failed." };
}
