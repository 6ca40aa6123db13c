import { quoted } from "../../core/errors.ts";
import { isJsonObject, type JsonObject } from "../../core/json/json-value.ts";
import { invalid } from "../request-json.ts";

/**
 * The format is JSON of Protocol Buffers (https://protobuf.dev/programming-guides/json/). A field may be spelled as
 * `inlineData` or as `inline_data`, and null stands for absent. A field of many may hold the only one without its list.
 */

/** Members that hold what a caller wrote: their keys are his. */
const OPAQUE = new Set(
  "args response parameters parametersJsonSchema responseSchema responseJsonSchema labels".split(" "),
);

/** Fields of many that clients in the wild send without the list. */
const REPEATED = new Set(
  "contents parts tools functionDeclarations stopSequences responseModalities safetySettings".split(" "),
);

/** No field of the format has a name so long: one that does keeps its spelling. */
const LONGEST_FIELD = 64;

/** The name of a field as the reference spells it. */
export function fieldName(name: string): string {
  return name.length <= LONGEST_FIELD && name.includes("_")
    ? name.replace(/(?<=.)_([a-z0-9])/g, (_, next: string) => next.toUpperCase())
    : name;
}

/** Where a value stands: a path is written only for a 400. */
interface Place {
  readonly up: Place | undefined;
  readonly step: string | number;
}

function pathOf({ up, step }: Place): string {
  if (up === undefined) return `${step}`;
  return typeof step === "number" ? `${pathOf(up)}[${step}]` : `${pathOf(up)}.${step}`;
}

/**
 * The request as if it had been spelled as the reference does: what is so already is the same object. Throws a 400 for a
 * field that stands in both spellings.
 */
export function readSpelling(value: JsonObject, up?: Place): JsonObject {
  const read: Record<string, unknown> = {};
  let isSame = true;
  for (const key in value) {
    const member = value[key];
    const name = fieldName(key);
    if (Object.hasOwn(read, name) || (name !== key && Object.hasOwn(value, name))) {
      const twice = pathOf({ up, step: key });
      throw invalid(`${quoted(twice)} stands in two spellings: send it once.`, twice.slice(0, 100));
    }
    isSame &&= name === key && member !== null;
    if (member === null) continue;
    const field = OPAQUE.has(name) ? member : readValue(member, up, key);
    const listed = REPEATED.has(name) && isJsonObject(field) ? [field] : field;
    const wrapped = name === "responseModalities" ? upperCase(listed) : listed;
    isSame &&= wrapped === member;
    // A field named `__proto__` is a field like any other.
    if (name === "__proto__") Object.defineProperty(read, name, { value: wrapped, enumerable: true });
    else read[name] = wrapped;
  }
  return isSame ? value : read;
}

/** The words for kinds of output are taken in any case: the vendor's own examples have `Text` and `TEXT`. */
function upperCase(words: unknown): unknown {
  if (!Array.isArray(words)) return words;
  return words.map((word: unknown) => (typeof word === "string" ? word.toUpperCase() : word));
}

function readValue(value: unknown, up: Place | undefined, step: string | number): unknown {
  if (typeof value !== "object" || value === null) return value;
  const place = { up, step };
  if (!Array.isArray(value)) return readSpelling(value as JsonObject, place);
  const read = value.map((item, i) => readValue(item, place, i));
  return read.every((item, i) => item === value[i]) ? value : read;
}

/** A path in the reference's spelling, as the client spelled it. */
export function spelledPath(path: string, original: unknown): string {
  let at: unknown = original;
  let spelled = "";
  for (const [step] of path.matchAll(/[^.[\]]+|\[\d+\]/g)) {
    if (step.startsWith("[")) {
      // The only one, without its list.
      if (!Array.isArray(at)) continue;
      at = at[Number(step.slice(1, -1))];
      spelled += step;
      continue;
    }
    const key = isJsonObject(at) ? (Object.keys(at).find((name) => fieldName(name) === step) ?? step) : step;
    at = isJsonObject(at) ? at[key] : undefined;
    spelled += spelled === "" ? key : `.${key}`;
  }
  return spelled;
}
