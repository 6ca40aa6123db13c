import { CHAT } from "../../../catalog/parameter-tables/chat-completions.ts";
import { fieldsAt, placeNames } from "../../../catalog/parameter-tables/field.ts";
import { type JsonObject, present } from "../../../core/json/json-value.ts";
import type { PlaceNames } from "../../protocol.ts";
import { wishField } from "../thinking.ts";

/** What the places of a request in no format are called here; of one with several fields, as sentences call it. */
export const PLACE_NAMES: PlaceNames = {
  ...placeNames(CHAT),
  thinking: "reasoning",
  user: "user or safety_identifier",
  allowedTools: "tool_choice.allowed_tools",
  cache: "cache_control",
  callId: "tool_call_id",
  callInput: "tool_calls[].function.arguments",
  callSignature: "tool_calls[].extra_content.google.thought_signature",
  detail: "image_url.detail",
  fileData: "file_data",
  hidden: "reasoning.exclude",
  imageLink: "image_url.url",
  logprobs: "logprobs",
  jsonObject: "response_format json_object",
  jsonSchema: "json_schema",
  signature: "thought_signature",
  strict: "tools[].function.strict",
  thinkingParts: "reasoning_details",
  toolName: "tools[].function.name",
  topK: "top_k",
};

/** The same for one request: a bound, or a wish for thinking, is called by the field that says it. */
export function namesIn(body: Readonly<JsonObject>): PlaceNames {
  const bound = BOUNDS.find((name) => body[name] !== undefined && body[name] !== null);
  const thinking = wishField(body);
  return { ...PLACE_NAMES, maxOutputTokens: bound ?? "the bound on output", ...present({ thinking }) };
}

const BOUNDS = fieldsAt(CHAT, "maxOutputTokens");
