import type { Refusal, StrictProfile } from "./strict-profiles.ts";

/** A JSON object whose fields are not checked yet. */
export type Fields = Readonly<Record<string, unknown>>;

/** A rule about the fields of a request body: a refusal, or undefined when the request keeps it. */
export type FieldRule = (body: Fields, profile: StrictProfile) => Refusal | undefined;

/** A 400 in OpenAI's words, unless told otherwise. */
export function refusal(message: string, more: Partial<Refusal> = {}): Refusal {
  return { status: 400, message, type: "invalid_request_error", param: null, code: null, ...more };
}

/** Whether a value is a JSON object. */
export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const modelIsKnown: FieldRule = (body, profile) => {
  const { model } = body;
  if (typeof model !== "string" || model === "") return refusal("you must provide a model parameter");
  if (profile.models === undefined || profile.models.includes(model)) return undefined;
  const message = `The model \`${model}\` does not exist or you do not have access to it.`;
  return {
    ...refusal(message, { status: 404, code: "model_not_found" }),
    ...profile.wording.unknownModel?.(model),
  };
};

const propertiesAreKnown: FieldRule = (body, profile) => {
  const unknown = Object.keys(body).find((name) => profile.properties?.has(name) === false);
  if (unknown === undefined) return undefined;
  const refused = refusal(`Unknown parameter: '${unknown}'.`, { param: unknown, code: "unknown_parameter" });
  return { ...refused, ...profile.wording.unknownProperty?.(unknown) };
};

const reasoningModelsTakeNoSampling: FieldRule = (body, profile) => {
  if (profile.reasoningModels?.test(String(body["model"])) !== true) return undefined;
  if (body["max_tokens"] !== undefined)
    return unsupported("max_tokens", " Use 'max_completion_tokens' instead.");
  const { temperature } = body;
  if (temperature !== undefined && temperature !== null && temperature !== 1) {
    const message = `Unsupported value: 'temperature' does not support ${JSON.stringify(temperature)} with this model. Only the default (1) value is supported.`;
    return refusal(message, { param: "temperature", code: "unsupported_value" });
  }
  if (body["top_p"] !== undefined && body["top_p"] !== null) return unsupported("top_p", "");
  const { stop } = body;
  // An empty list was accepted in a recording of o3-mini.
  const hasStop = typeof stop === "string" || (Array.isArray(stop) && stop.length > 0);
  return hasStop ? unsupported("stop", "") : undefined;
};

function unsupported(param: string, advice: string): Refusal {
  const message = `Unsupported parameter: '${param}' is not supported with this model.${advice}`;
  return refusal(message, { param, code: "unsupported_parameter" });
}

const streamOptionsNeedStream: FieldRule = (body) => {
  if (body["stream_options"] === undefined || body["stream_options"] === null || body["stream"] === true)
    return undefined;
  return refusal("The 'stream_options' parameter is only allowed when 'stream' is enabled.", {
    param: "stream_options",
  });
};

const parallelToolCallsNeedTools: FieldRule = (body) => {
  if (body["parallel_tool_calls"] === undefined || Array.isArray(body["tools"])) return undefined;
  return refusal(
    "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified.",
    { param: "parallel_tool_calls" },
  );
};

const toolChoiceIsKnown: FieldRule = (body, profile) => {
  const choice = body["tool_choice"];
  if (choice === undefined || profile.toolChoices === undefined) return undefined;
  if (typeof choice === "string" && profile.toolChoices.includes(choice)) return undefined;
  return refusal("invalid tool_choice: only 'none' and 'auto' are supported", { param: "tool_choice" });
};

const plainCallsDoNotThink: FieldRule = (body, profile) => {
  if (profile.thinksOnlyInStreams?.test(String(body["model"])) !== true) return undefined;
  if (body["stream"] === true || body["enable_thinking"] === false) return undefined;
  return refusal("parameter.enable_thinking must be set to false for non-streaming calls", {
    code: "invalid_parameter_error",
  });
};

const fieldIsNotRefused: FieldRule = (body, profile) => {
  for (const { models, fields } of profile.refusedFields ?? []) {
    const found = models.test(String(body["model"]))
      ? fields.find((name) => body[name] !== undefined)
      : undefined;
    if (found !== undefined)
      return refusal(`Argument not supported on this model: ${found}`, { param: found });
  }
  return undefined;
};

const effortIsKnown: FieldRule = (body, profile) => {
  const effort = body["reasoning_effort"];
  if (profile.efforts === undefined || effort === undefined || effort === null) return undefined;
  if (typeof effort === "string" && profile.efforts.includes(effort)) return undefined;
  return refusal(`Invalid reasoning_effort: ${JSON.stringify(effort)}`, { param: "reasoning_effort" });
};

const formatIsKnown: FieldRule = (body, profile) => {
  const format = body["response_format"];
  if (profile.responseFormats === undefined || !isFields(format)) return undefined;
  if (profile.responseFormats.includes(String(format["type"]))) return undefined;
  return refusal("This response_format type is unavailable now", { param: "response_format" });
};

const jsonIsNamed: FieldRule = (body, profile) => {
  const { response_format: format, messages } = body;
  if (profile.wantsJsonNamed !== true || !isFields(format) || format["type"] !== "json_object")
    return undefined;
  const texts = (Array.isArray(messages) ? messages : []).map((message: unknown) =>
    JSON.stringify(isFields(message) ? message["content"] : ""),
  );
  return texts.some((text) => /json/i.test(text))
    ? undefined
    : refusal("'messages' must contain the word 'json' in some form.", { param: "messages" });
};

const toolsAreKnown: FieldRule = (body, profile) => {
  const { tools } = body;
  if (profile.toolTypes === undefined || !Array.isArray(tools)) return undefined;
  const isKnown = (tool: unknown): boolean =>
    isFields(tool) && profile.toolTypes?.some((type) => type === (tool["type"] ?? "function")) === true;
  return tools.every(isKnown) ? undefined : refusal("Unknown type of tool.", { param: "tools" });
};

const logprobsAreFew: FieldRule = (body) => {
  const likeliest = body["top_logprobs"];
  if (typeof likeliest !== "number" || (likeliest >= 0 && likeliest <= 20)) return undefined;
  return refusal("Invalid 'top_logprobs': expected a value from 0 to 20.", { param: "top_logprobs" });
};

const choicesAreFew: FieldRule = (body, profile) => {
  if (profile.oneChoiceOnly !== true || body["n"] === undefined || body["n"] === 1) return undefined;
  return refusal("'n' : number must be at most 1", { param: "n" });
};

/** The rules about fields of the body other than the messages, in the order they are applied. */
export const FIELD_RULES: readonly FieldRule[] = [
  modelIsKnown,
  propertiesAreKnown,
  reasoningModelsTakeNoSampling,
  streamOptionsNeedStream,
  parallelToolCallsNeedTools,
  toolChoiceIsKnown,
  plainCallsDoNotThink,
  fieldIsNotRefused,
  effortIsKnown,
  formatIsKnown,
  jsonIsNamed,
  toolsAreKnown,
  logprobsAreFew,
  choicesAreFew,
];
