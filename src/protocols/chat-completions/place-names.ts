import { CHAT } from "../../catalog/parameter-tables/chat-completions.ts";
import { placeNames } from "../../catalog/parameter-tables/field.ts";
import type { PlaceNames } from "../losses.ts";

/** What the places of a request in no format are called here; of one with several fields, as sentences call it. */
export const PLACE_NAMES: PlaceNames = {
  ...placeNames(CHAT),
  thinking: "reasoning",
  user: "user or safety_identifier",
  cache: "cache_control",
  callId: "tool_call_id",
  callInput: "tool_calls[].function.arguments",
  callSignature: "tool_calls[].extra_content.google.thought_signature",
  detail: "image_url.detail",
  fileData: "file_data",
  hidden: "reasoning.exclude",
  imageLink: "image_url.url",
  jsonObject: "response_format json_object",
  jsonSchema: "json_schema",
  signature: "thought_signature",
  strict: "tools[].function.strict",
  thinkingParts: "reasoning_details",
  toolName: "tools[].function.name",
};
