import { isJsonObject, type JsonObject } from "../../core/json-value.ts";
import { invalid } from "../request-json.ts";

/** What the language has for numbers that must keep their digits, which the types do not know yet. */
interface ExactJson {
  parse(
    text: string,
    revive: (key: string, value: unknown, at: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): object;
}

const exact = JSON as unknown as ExactJson;

/**
 * The input of a tool call as an object, to be written as JSON again; none is an empty one. Numbers keep their digits.
 * Throws a 400 for what is no JSON object.
 */
export function callInput(text: string, name: string): JsonObject {
  if (text.trim() === "") return {};
  let value: unknown;
  try {
    value = exact.parse(text, (_key, found, { source }) =>
      typeof found === "number" && source !== undefined && String(found) !== source
        ? exact.rawJSON(source)
        : found,
    );
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
