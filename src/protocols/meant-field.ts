import { faultSentence, IS_REQUIRED, type SchemaFault } from "../core/schema.ts";
import type { GatewayError } from "../core/errors.ts";
import type { JsonObject } from "../core/json/json-value.ts";
import { printable } from "./printable.ts";
import { invalid } from "./request-json.ts";

/** The field that is meant by a name which is none of a format's; `undefined` where nothing is known of the name. */
export type MeantField = (name: string) => string | undefined;

/** A longer name is none that anybody has for a field. */
const LONGEST_NAME = 64;

/**
 * Knows the names that other interfaces have for the fields of this one: `others` has them by the field, or by words that
 * say what to send, with spaces between. Its own fields (`own`) are known in any spelling: `maxTokens`, `Max-Tokens`.
 */
export function createMeantField(
  own: readonly string[],
  others: Readonly<Record<string, string>>,
): MeantField {
  const fields = new Map(own.map((field) => [folded(field), field]));
  for (const [field, names] of Object.entries(others))
    for (const name of names.match(/\S+/g) ?? []) fields.set(folded(name), field);
  return (name) => (name.length > LONGEST_NAME ? undefined : fields.get(folded(name)));
}

function folded(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, "");
}

/** The warning of a field that is left out because nobody knows it, and the field that was meant, where that is known. */
export function unknownField(path: string, format: string, meant: string | undefined): string {
  const instead = meant === undefined ? "" : `, did you mean ${meant}?`;
  return `${printable(path)} was left out: it is not a field of ${format}${instead}`;
}

/**
 * The 400 of a body that is not of its schema. For a missing field it says under which other name the field was sent.
 */
export function schemaRefusal(fault: SchemaFault, body: JsonObject, meant: MeantField): GatewayError {
  const { path, problem } = fault;
  const sent = problem === IS_REQUIRED && Object.keys(body).find((name) => meant(name) === path);
  const hint = sent ? ` What was sent as ${printable(sent)} belongs there.` : "";
  return invalid(faultSentence(fault) + hint, path);
}
