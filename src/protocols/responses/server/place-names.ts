import { isJsonObject, type JsonObject } from "../../../core/json/json-value.ts";
import type { PlaceNames } from "../../protocol.ts";

/** What the places of a request in no format are called here. */
const PLACE_NAMES: PlaceNames = {
  turns: "input",
  tools: "tools",
  toolChoice: "tool_choice",
  allowedTools: "tool_choice.tools",
  parallelToolCalls: "parallel_tool_calls",
  webSearch: "web_search",
  maxOutputTokens: "max_output_tokens",
  temperature: "temperature",
  topP: "top_p",
  topK: "top_k",
  presencePenalty: "presence_penalty",
  frequencyPenalty: "frequency_penalty",
  seed: "seed",
  stop: "stop",
  choices: "n",
  thinking: "reasoning",
  outputModalities: "modalities",
  image: "image",
  responseFormat: "text.format",
  verbosity: "text.verbosity",
  cacheKey: "prompt_cache_key",
  user: "safety_identifier",
  cache: "prompt_cache_breakpoint",
  callId: "call_id",
  callInput: "arguments",
  callSignature: "the signature of a function_call",
  detail: "detail",
  fileData: "file_data",
  hidden: "reasoning.summary",
  imageLink: "image_url",
  logprobs: "top_logprobs",
  jsonObject: "text.format json_object",
  jsonSchema: "text.format json_schema",
  signature: "encrypted_content",
  strict: "tools[].strict",
  thinkingParts: "reasoning items",
  toolName: "tools[].name",
};

/** The same for one request: what has two fields is called by the one that says it, a search by its tool. */
export function namesIn(body: Readonly<JsonObject>, search: string | undefined): PlaceNames {
  const { effort } = isJsonObject(body.reasoning) ? body.reasoning : {};
  return {
    ...PLACE_NAMES,
    ...(search === undefined ? {} : { webSearch: search }),
    ...(typeof effort === "string" ? { thinking: "reasoning.effort" } : {}),
    ...(typeof body.user === "string" ? { user: "user" } : {}),
    ...(body.top_logprobs === undefined ? { logprobs: "include message.output_text.logprobs" } : {}),
    ...(body.max_output_tokens === undefined ? { maxOutputTokens: "the bound on output" } : {}),
  };
}
