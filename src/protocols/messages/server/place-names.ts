import { placeNames } from "../../../catalog/parameter-tables/field.ts";
import { MESSAGES } from "../../../catalog/parameter-tables/messages.ts";
import type { PlaceNames } from "../../protocol.ts";
import type { MessagesRequestBody } from "../schema.ts";

/** What the places of a request in no format are called here. What clients of the format cannot say has its own words. */
const PLACE_NAMES: PlaceNames = {
  ...placeNames(MESSAGES),
  turns: "messages",
  user: "metadata.user_id",
  responseFormat: "output_config.format",
  parallelToolCalls: "tool_choice.disable_parallel_tool_use",
  allowedTools: "tool_choice",
  choices: "the number of answers",
  outputModalities: "the kinds of output",
  image: "the size of images",
  presencePenalty: "presence_penalty",
  frequencyPenalty: "frequency_penalty",
  seed: "seed",
  verbosity: "verbosity",
  cacheKey: "the name of a cache",
  cache: "cache_control",
  callId: "tool_use_id",
  callInput: "input of tool_use blocks",
  callSignature: "the signature of a thinking block before a tool_use block",
  detail: "the detail of images",
  fileData: "a source of type base64",
  hidden: "thinking.display",
  imageLink: "source.url",
  logprobs: "logprobs",
  jsonObject: "output_config.format",
  jsonSchema: "output_config.format json_schema",
  signature: "signature",
  strict: "tools[].strict",
  thinkingParts: "thinking blocks",
  toolName: "tools[].name",
  webSearch: "tools[].type web_search",
};

/** The same for one request: a wish for thinking is called by the field that says it, a search by its tool. */
export function namesIn(body: MessagesRequestBody, search: string | undefined): PlaceNames {
  return {
    ...PLACE_NAMES,
    thinking: body.thinking === undefined ? "output_config.effort" : "thinking",
    webSearch: search ?? PLACE_NAMES.webSearch,
  };
}
