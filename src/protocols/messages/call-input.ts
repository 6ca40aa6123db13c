import { isJsonObject, type JsonObject } from "../../core/json-value.ts";
import { invalid } from "../request-json.ts";

/** The language's way to write a number by its digits, which the types do not know yet. */
const { rawJSON } = JSON as typeof JSON & { rawJSON(text: string): object };

/**
 * The input of a tool call as an object, to be written as JSON again; none is an empty one. Numbers keep their digits.
 * Throws a 400 for what is no JSON object.
 */
export function callInput(text: string, name: string): JsonObject {
  if (text.trim() === "") return {};
  let value: unknown;
  try {
    value = JSON.parse(text, keepDigits);
  } catch {
    throw invalid(
      `The arguments of the call of ${JSON.stringify(name.slice(0, 64))} are not valid JSON.`,
      "messages",
    );
  }
  if (value === null) return {};
  if (isJsonObject(value)) return value;
  throw invalid(
    `The arguments of the call of ${JSON.stringify(name.slice(0, 64))} must be a JSON object.`,
    "messages",
  );
}

function keepDigits(_key: string, value: unknown, at?: { readonly source?: string }): unknown {
  const source = at?.source;
  return typeof value === "number" && source !== undefined && String(value) !== source
    ? rawJSON(source)
    : value;
}
