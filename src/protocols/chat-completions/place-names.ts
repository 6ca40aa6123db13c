import { CHAT } from "../../catalog/parameter-tables/chat-completions.ts";
import { fieldsAt, placeNames } from "../../catalog/parameter-tables/field.ts";
import { present } from "../../core/json/json-value.ts";
import type { PlaceNames } from "../protocol.ts";
import { THINKING_FIELDS } from "./thinking.ts";

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

/** The same for one request: a bound, or a wish for thinking, is called by the first field that says it. */
export function namesIn(body: Readonly<Record<string, unknown>>): PlaceNames {
  const sent = (fields: readonly string[]): string | undefined =>
    fields.find((name) => body[name] !== undefined && body[name] !== null);
  return { ...PLACE_NAMES, ...present({ maxOutputTokens: sent(BOUNDS), thinking: sent(THINKING_FIELDS) }) };
}

const BOUNDS = fieldsAt(CHAT, "maxOutputTokens");
