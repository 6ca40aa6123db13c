/** Why a strict double refuses a request, before it is put into a vendor's shape. */
export interface Refusal {
  readonly status: number;
  readonly message: string;
  /** The kind of error in OpenAI's words. */
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
}

/** What a vendor insists on, as data. A test spreads one of `STRICT` and adds its keys and models. */
export interface StrictProfile {
  readonly vendor: string;
  /** The accepted API keys; any non-empty one when not given. */
  readonly keys?: readonly string[];
  /** The known models; any when not given. */
  readonly models?: readonly string[];
  /** The known properties of the body; any when not given. */
  readonly properties?: ReadonlySet<string>;
  /** The known properties of a message; any when not given. */
  readonly messageProperties?: ReadonlySet<string>;
  /** Models that reason and therefore refuse `max_tokens` and sampling parameters. */
  readonly reasoningModels?: RegExp;
  /** Fields that these models refuse, whatever their value. */
  readonly refusedFields?: readonly { readonly models: RegExp; readonly fields: readonly string[] }[];
  /** The efforts that a model takes; any when not given. */
  readonly efforts?: readonly string[];
  /** Whether a message of the role `tool` may have a name all the same. */
  readonly toolNames?: boolean;
  /** Properties of a message that it refuses. */
  readonly refusedMessageProperties?: ReadonlySet<string>;
  /** The known roles; any when not given. */
  readonly roles?: readonly string[];
  /** The known kinds of `response_format`; any when not given. */
  readonly responseFormats?: readonly string[];
  /** Whether JSON without a schema wants the word in a message. */
  readonly wantsJsonNamed?: boolean;
  /** The known kinds of tools; any when not given. */
  readonly toolTypes?: readonly string[];
  /** Whether more than one choice can be asked for; yes when not given. */
  readonly oneChoiceOnly?: boolean;
  /** Whether data URLs of images must have a plain media type. */
  readonly plainDataUrls?: boolean;
  /** Whether a file may be a link. */
  readonly fileLinks?: boolean;
  /** What a tool call id must look like. */
  readonly toolCallId?: RegExp;
  /** Whether every tool call must be answered and every tool message have a call. */
  readonly pairsToolCalls: boolean;
  /** The tool choices it knows besides absence; any when not given. */
  readonly toolChoices?: readonly string[];
  /** Models that think only in streams, so that a plain request must switch thinking off. */
  readonly thinksOnlyInStreams?: RegExp;
  /** Whether `content: null` is refused even beside tool calls. */
  readonly refusesNullContent?: boolean;
  /** Models that want `reasoning_content` on every assistant message once tools are in play. */
  readonly wantsReasoningBack?: RegExp;
  /** The body of an error. */
  readonly errorBody: (refusal: Refusal) => unknown;
  /** Wordings of refusals that differ from OpenAI's. */
  readonly wording: Partial<Wording>;
}

/** The messages that vendors word differently. */
export interface Wording {
  readonly noKey: () => Partial<Refusal>;
  readonly wrongKey: (key: string) => Partial<Refusal>;
  readonly unknownModel: (model: string) => Partial<Refusal>;
  readonly unknownProperty: (name: string) => Partial<Refusal>;
}

const OPENAI_PROPERTIES = new Set(
  `model messages stream stream_options temperature top_p max_completion_tokens max_tokens stop presence_penalty
  frequency_penalty tools tool_choice parallel_tool_calls reasoning_effort modalities response_format n logprobs
  top_logprobs logit_bias seed user safety_identifier prompt_cache_key prompt_cache_options prompt_cache_retention
  service_tier store metadata prediction verbosity web_search_options moderation audio functions function_call`.split(
    /\s+/,
  ),
);

const GROQ_PROPERTIES = new Set(
  `model messages stream stream_options temperature top_p max_completion_tokens max_tokens stop presence_penalty
  frequency_penalty tools tool_choice parallel_tool_calls reasoning_effort reasoning_format include_reasoning
  response_format n logprobs top_logprobs logit_bias seed user service_tier functions function_call
  disable_tool_validation search_settings include_domains exclude_domains`.split(/\s+/),
);

const GROQ_MESSAGE_PROPERTIES = new Set("role content name tool_calls tool_call_id function_call".split(" "));

const MISTRAL_PROPERTIES = new Set(
  `model messages stream temperature top_p max_tokens stop random_seed presence_penalty frequency_penalty tools
  tool_choice parallel_tool_calls response_format n prediction metadata safe_prompt prompt_mode reasoning_effort
  guardrails prompt_cache_key`.split(/\s+/),
);

/** A name may stand on results of tools only, which `toolNames` says. */
const MISTRAL_MESSAGE_PROPERTIES = new Set("role content tool_calls tool_call_id prefix".split(" "));

const MOONSHOT_PROPERTIES = new Set(
  `model messages stream stream_options temperature top_p max_tokens max_completion_tokens stop presence_penalty
  frequency_penalty tools tool_choice parallel_tool_calls response_format n thinking reasoning_effort prompt_cache_key
  safety_identifier`.split(/\s+/),
);

const XAI_PROPERTIES = new Set(
  `model messages stream stream_options temperature top_p max_tokens max_completion_tokens stop presence_penalty
  frequency_penalty tools tool_choice parallel_tool_calls response_format n logprobs top_logprobs seed user
  reasoning_effort deferred search_parameters web_search_options logit_bias`.split(/\s+/),
);

const REASONING_PROPERTIES = new Set(["reasoning_content", "reasoning", "reasoning_details", "images"]);

/** Roles where `developer` is not one. */
const OLD_ROLES = ["system", "user", "assistant", "tool", "function"];

/** What no vendor but the reference knows. */
const COMPATIBLE = { roles: OLD_ROLES, toolTypes: ["function"], plainDataUrls: true } as const;

const OPENAI_REASONING = /^(?:o\d|gpt-5)(?!.*chat)/;
const OPENAI_SHAPE = ({ message, type, param, code }: Refusal) => ({ error: { message, type, param, code } });

const MISTRAL_SHAPE = ({ message, type, param, code, status }: Refusal) =>
  status === 401 ? { detail: message } : { object: "error", message, type, param, code };

const DEEPSEEK_AUTH = { type: "authentication_error", code: "invalid_request_error" };
const ZHIPU_CODES: Readonly<Record<number, string>> = { 400: "1210", 401: "1002", 404: "1211" };
const GOOGLE_STATUS: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  404: "NOT_FOUND",
};

/** Vendors as they refuse. Shapes are recorded or published; wording that was not recorded is our own. */
export const STRICT = {
  openai: {
    vendor: "openai",
    properties: OPENAI_PROPERTIES,
    reasoningModels: OPENAI_REASONING,
    refusedMessageProperties: REASONING_PROPERTIES,
    plainDataUrls: true,
    wantsJsonNamed: true,
    // Recorded: "string too long. Expected a string with maximum length 40".
    toolCallId: /^[\s\S]{1,40}$/,
    pairsToolCalls: true,
    errorBody: OPENAI_SHAPE,
    wording: {},
  },
  groq: {
    vendor: "groq",
    ...COMPATIBLE,
    oneChoiceOnly: true,
    properties: GROQ_PROPERTIES,
    messageProperties: GROQ_MESSAGE_PROPERTIES,
    pairsToolCalls: true,
    errorBody: ({ message, type, code }) => ({
      error: { message, type, ...(code === null ? {} : { code }) },
    }),
    wording: {
      noKey: () => ({ message: "Invalid API Key", code: "invalid_api_key" }),
      wrongKey: () => ({ message: "Invalid API Key", code: "invalid_api_key" }),
      unknownProperty: (name) => ({ message: `property '${name}' is unsupported`, param: null, code: null }),
    },
  },
  mistral: {
    vendor: "mistral",
    ...COMPATIBLE,
    messageProperties: MISTRAL_MESSAGE_PROPERTIES,
    toolNames: true,
    properties: MISTRAL_PROPERTIES,
    toolCallId: /^[a-zA-Z0-9]{9}$/,
    pairsToolCalls: true,
    errorBody: MISTRAL_SHAPE,
    wording: {
      noKey: () => ({ message: "Unauthorized" }),
      wrongKey: () => ({ message: "Invalid API Key" }),
      unknownModel: (model) => ({
        status: 400,
        message: `Invalid model: ${model}`,
        type: "invalid_model",
        code: "1500",
      }),
      unknownProperty: (name) => ({ status: 422, message: `Extra inputs are not permitted: ${name}` }),
    },
  },
  deepseek: {
    vendor: "deepseek",
    ...COMPATIBLE,
    responseFormats: ["text", "json_object"],
    wantsJsonNamed: true,
    oneChoiceOnly: true,
    pairsToolCalls: true,
    wantsReasoningBack: /^deepseek-v4/,
    errorBody: OPENAI_SHAPE,
    wording: {
      noKey: () => ({ message: "Authentication Fails (no such user)", ...DEEPSEEK_AUTH }),
      wrongKey: (key) => ({
        message: `Authentication Fails, Your api key: ****${key.slice(-4)} is invalid`,
        ...DEEPSEEK_AUTH,
      }),
      unknownModel: () => ({ status: 400, message: "Model Not Exist", code: "invalid_request_error" }),
    },
  },
  dashscope: {
    vendor: "dashscope",
    ...COMPATIBLE,
    pairsToolCalls: true,
    wantsJsonNamed: true,
    thinksOnlyInStreams: /^qwen3-\d/,
    errorBody: (refusal) => ({
      ...OPENAI_SHAPE(refusal),
      request_id: "00000000-0000-0000-0000-000000000000",
    }),
    wording: {},
  },
  google: {
    vendor: "google",
    pairsToolCalls: false,
    refusesNullContent: true,
    errorBody: ({ status, message }) => [{ error: { code: status, message, status: GOOGLE_STATUS[status] } }],
    wording: {},
  },
  minimax: {
    vendor: "minimax",
    pairsToolCalls: true,
    toolChoices: ["none", "auto"],
    errorBody: OPENAI_SHAPE,
    wording: {},
  },
  openrouter: {
    vendor: "openrouter",
    fileLinks: true,
    pairsToolCalls: false,
    errorBody: ({ status, message }) => ({ error: { message, code: status } }),
    wording: { noKey: () => ({ message: "No cookie auth credentials found" }) },
  },
  moonshot: {
    vendor: "moonshot",
    ...COMPATIBLE,
    properties: MOONSHOT_PROPERTIES,
    refusedFields: [{ models: /^kimi-k3/, fields: ["thinking"] }],
    efforts: ["low", "high", "max"],
    pairsToolCalls: true,
    errorBody: OPENAI_SHAPE,
    wording: {},
  },
  "lm-studio": {
    vendor: "lm-studio",
    ...COMPATIBLE,
    toolChoices: ["none", "auto", "required"],
    responseFormats: ["text", "json_schema"],
    oneChoiceOnly: true,
    pairsToolCalls: false,
    errorBody: ({ message }) => ({ error: message }),
    wording: {},
  },
  local: {
    vendor: "local",
    ...COMPATIBLE,
    pairsToolCalls: false,
    errorBody: OPENAI_SHAPE,
    wording: {},
  },
  xai: {
    vendor: "xai",
    ...COMPATIBLE,
    properties: XAI_PROPERTIES,
    refusedMessageProperties: REASONING_PROPERTIES,
    refusedFields: [
      { models: /^grok-4(?!.*non-reasoning)/, fields: ["stop", "presence_penalty", "frequency_penalty"] },
      { models: /^grok-4(-0709|-fast|-1-fast|-latest)?$/, fields: ["reasoning_effort"] },
    ],
    efforts: ["none", "low", "medium", "high", "xhigh"],
    pairsToolCalls: false,
    errorBody: ({ code, message }) => ({
      code: code ?? "Client specified an invalid argument",
      error: message,
    }),
    wording: {},
  },
  zhipu: {
    vendor: "zhipu",
    ...COMPATIBLE,
    toolChoices: ["auto"],
    responseFormats: ["text", "json_object"],
    oneChoiceOnly: true,
    pairsToolCalls: false,
    errorBody: ({ status, message }) => ({ error: { code: ZHIPU_CODES[status] ?? "1210", message } }),
    wording: {},
  },
} as const satisfies Readonly<Record<string, StrictProfile>>;
