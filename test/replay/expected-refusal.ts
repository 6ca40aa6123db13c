/** The error that a client is to get. */
export interface ExpectedError {
  readonly status: number;
  readonly type: string;
}

const OURS: ExpectedError = { status: 502, type: "upstream_error" };
const OVERLOADED: ExpectedError = { status: 503, type: "overloaded_error" };
const INVALID: ExpectedError = { status: 400, type: "invalid_request_error" };
const TOO_LARGE: ExpectedError = { status: 400, type: "input_too_large" };
const MODERATED: ExpectedError = { status: 400, type: "content_moderation" };

/** By the provider's status; a 400 goes by what it means. */
const BY_STATUS: Readonly<Record<number, ExpectedError>> = {
  401: OURS,
  402: OURS,
  403: OURS,
  404: OURS,
  408: OURS,
  409: OURS,
  413: TOO_LARGE,
  422: INVALID,
  429: OVERLOADED,
  500: OURS,
  502: OURS,
  503: OVERLOADED,
  504: { status: 504, type: "timeout_error" },
  529: OVERLOADED,
};

/** What each recorded 400 (or error inside a 200, or in mid-stream) means, read by a person. */
const BY_MEANING: Readonly<Record<string, ExpectedError>> = {
  "errors/deepseek/deepseek-chat--400--7824b654.json": TOO_LARGE,
  "errors/groq/gpt-oss-120b--400--24fad9fe.json": INVALID,
  "errors/groq/gpt-oss-120b--400--445b2952.json": INVALID,
  "errors/ollama/gpt-oss-120b--400--a3243bed.json": TOO_LARGE,
  "errors/openai/gpt-4o-mini--400--1c671ba6.json": INVALID,
  "errors/openai/gpt-4o-mini--400--89276b38.json": INVALID,
  "errors/openai/gpt-4o-mini--400--c5e8057c.json": INVALID,
  "errors/openai/gpt-4o-mini--400--f6823c5f.json": INVALID,
  "errors/openai/gpt-5-mini--400--95bffbd2.json": INVALID,
  "errors/openai/gpt-5-nano--400--4c2b08a3.json": INVALID,
  "errors/openai/gpt-5-nano--400--5ca68833.json": INVALID,
  "errors/openai/o1-mini--400--5ecf18f6.json": INVALID,
  "errors/openrouter/anthropic-claude-haiku-4.5--400--6c5464aa.json": TOO_LARGE,
  "errors/perplexity/sonar--400--9f8f0dbe.json": TOO_LARGE,
  "cross-protocol/chatCompletionsUrlBackedVideoFileParam/chat-completions--first--error.json": INVALID,
  "cross-protocol/simpleRequestTruncated/chat-completions--first--error.json": INVALID,
  "cross-protocol/topPReasoningModelParam/chat-completions--first--error.json": INVALID,
  "cross-protocol/anthropicMidConversationSystemMessage/anthropic--first--error.json": INVALID,
  "errors/anthropic/claude-3-opus-20240229--400--d3063ce3.json": INVALID,
  "errors/google-vertex/gemini-2.5-pro--400--c3556a08.json": INVALID,
  "errors/google-vertex/gemini-2.5-pro--400--c46bcfe1.json": INVALID,
  "errors/anthropic/claude-haiku-4-5--400--0551b66d.json": INVALID,
  "errors/anthropic/claude-haiku-4-5-20251001--400--148309a7.json": TOO_LARGE,
  "errors/anthropic/claude-opus-4-6--400--0173cf48.json": INVALID,
  "responses/openai/gpt-5--400--9e0ab8cf.json": INVALID,
  "cross-protocol/simpleRequestTruncated/responses--first--error.json": INVALID,
  "cross-protocol/topPReasoningModelParam/responses--first--error.json": INVALID,
  "errors/deepseek/deepseek-v4-flash--400--b2d5303a.json": INVALID,
  "errors/openai/gpt-4o--400--c30390db.json": INVALID,
  "errors/openai/gpt-4o-mini--400--12f9790c.json": INVALID,
  "errors/openai/gpt-4o-mini--400--e4353667.json": INVALID,
  "errors/openai/gpt-5-nano--400--5f63edcb.json": TOO_LARGE,
  "errors/openai/o4-mini--400--0e828083.json": INVALID,
  // Responses says with a 400 that it has no such model, and that the account has no credit left.
  "responses/openai/invalid-model--400--5a54ca8b.json": OURS,
  "errors/openai/gpt-5.2-proo--400--47780ff3.json": OURS,
  "errors/openai/invalid-model-that-does-not-exist-12345--400--1f4c4394.json": OURS,
  "errors/openai/this-model-does-not-exist--400--892608a8.json": OURS,
  "errors/openai/this-model-does-not-exist-12345--400--2c99dd13.json": OURS,
  "errors/openai/x--400--94e9dfce.json": OURS,
  // Streams that end in an error before anything was said.
  // More tokens than the account may use in a minute.
  "other/openai/gpt-4o-2024-08-06--stream--1368799e.json": TOO_LARGE,
  "other/openai/gpt-4o-2024-08-06--stream--3b033b69.json": OURS,
  "other/openai/gpt-5-nano-2025-08-07--stream--868e705c.json": OURS,
  // A 400 that is about the key.
  "errors/xai/grok-4.3--400--7547fb41.json": OURS,
  "errors/google/gemini-2.5-flash--400--14b1e252.json": OURS,
  "errors/google/gemini-2.5-flash--400--fbb5d641.json": OURS,
  "errors/google-vertex/gemini-2.5-flash--400--f50aa52e.json": TOO_LARGE,
  "errors/google-vertex/gemini-3-flash-preview--400--d02e518b.json": INVALID,
  "chat-completions/azure/openllmetry-testing--sync--854fe71e.json": MODERATED,
  "chat-completions/groq/gpt-oss-120b--stream--114f2746.json": INVALID,
  "chat-completions/groq/gpt-oss-120b--stream--b1304159.json": INVALID,
};

/** The error for a recorded refusal. Throws for one that nobody has read yet. */
export function expectedError(path: string, status: number): ExpectedError {
  const expected = BY_MEANING[path] ?? BY_STATUS[status];
  if (expected === undefined)
    throw new Error(`${path}: a recorded ${status} that the table of expected errors does not know`);
  return expected;
}

/** A request that the gateway must refuse before it asks anybody. */
export interface OwnRefusal {
  /** Fields at fault; the error names one of them. */
  readonly fields: readonly string[];
  readonly why: string;
}

const priced = (field: string): OwnRefusal => ({ fields: [field], why: "priced, and has no price" });
const invalid = (why: string, ...fields: string[]): OwnRefusal => ({ fields, why });

const TEXT_LINK = "an image link as text: Mistral takes it, the interface has an object";

/** Recordings whose request is not valid by the interface, or costs what has no price. */
export const REFUSED_BY_US: Readonly<Record<string, OwnRefusal>> = {
  "chat-completions/openai/gpt-4o-mini-search-preview--sync--27830bc4.json": priced("web_search_options"),
  "chat-completions/openrouter/deepseek-deepseek-chat--stream--1b6f2813.json": priced("tools[0].type"),
  "chat-completions/openrouter/deepseek-deepseek-chat--sync--56f7185b.json": priced("tools[0].type"),
  "chat-completions/openrouter/openai-gpt-5.2--sync-reasoning-details--45b831b4.json":
    priced("tools[0].type"),
  "messages/anthropic/claude-haiku-4-5-20251001--sync--8bc97002.json": priced("tools[0].type"),
  "messages/anthropic/claude-sonnet-4-6--sync-thinking-signature--789f4a40.json": priced("tools[0].type"),
  "messages/anthropic/claude-sonnet-5--stream-thinking-signature--7b20de08.json": priced("tools[0].type"),
  "errors/anthropic/claude-3-opus-20240229--400--d3063ce3.json": invalid(
    "a text for a message",
    "messages[0]",
  ),
  "cross-protocol/predictionParam/chat-completions--first--sync.json": priced("prediction"),
  "cross-protocol/predictionParam/chat-completions--followup--sync.json": priced("prediction"),
  "chat-completions/mistral/pixtral-12b--sync-image-input--7b264785.json": invalid(
    TEXT_LINK,
    "messages[0].content[1].image_url",
  ),
  "chat-completions/mistral/mistral-small-latest--sync-tool-result-image-input--7c8d2052.json": invalid(
    TEXT_LINK,
    "messages[3].content[1].image_url",
  ),
  "errors/google-vertex/gemini-2.5-pro--400--c3556a08.json": invalid(
    "out of range",
    "generationConfig.temperature",
  ),
  "errors/google-vertex/gemini-2.5-pro--400--c46bcfe1.json": invalid("no such role", "contents[0].role"),
  "errors/openai/gpt-4o--400--c30390db.json": invalid("out of range", "temperature"),
  "errors/openai/gpt-4o-mini--400--1c671ba6.json": invalid(
    "a part without type",
    "messages[1].content[0].type",
  ),
  "errors/openai/gpt-5-nano--400--4c2b08a3.json": invalid("no message", "messages"),
  "errors/openai/gpt-5-nano--400--5ca68833.json": invalid(
    "out of range",
    "max_tokens",
    "temperature",
    "messages[0].content",
  ),
};

/** Words of a provider that are about our account there, and no business of a client. */
export const ACCOUNT_WORDS =
  /api.?key|billing|quota|subscription|credential|unauthorized|authentication|access denied|deployment|your account|settings\/|does not exist|integrations/i;
