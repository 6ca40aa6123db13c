import { quoted } from "../../core/errors.ts";
import { isJsonObject, type JsonObject } from "../../core/json-value.ts";
import { parseExact } from "../exact-json.ts";
import { invalid } from "../request-json.ts";

/**
 * The input of a tool call as an object, to be written as JSON again; none is an empty one. Throws a 400 for what is no
 * JSON object.
 */
export function callInput(text: string, name: string): JsonObject {
  const value = text.trim() === "" ? null : parseExact(text);
  if (value === null) return {};
  // A number that keeps its digits is an object too.
  if (isJsonObject(value) && text.trimStart().startsWith("{")) return value;
  throw invalid(
    `The arguments of the call of ${quoted(name)} must be a JSON object, written as text.`,
    "messages",
  );
}
