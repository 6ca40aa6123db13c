import type { ToolCallPart } from "../core/chat.ts";
import { isJsonObject, type JsonObject } from "../core/json/json-value.ts";
import { parseExact } from "./exact-json.ts";
import type { Losses } from "./losses.ts";

/** The input of a tool call as an object, to be written as JSON again; none is an empty one. */
export function callInput({ input, name }: ToolCallPart, losses: Losses): JsonObject {
  const text = input.trim();
  if (text === "") return {};
  const value = parseExact(text);
  // A number that keeps its digits is an object too.
  if (isJsonObject(value) && text.startsWith("{")) return value;
  throw losses.refusal({ place: "callInput", why: "no_object", name });
}
