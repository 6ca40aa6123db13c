import { memberName } from "../../../core/json/json-scan.ts";
import { eachPart } from "../../../core/json/json-shape.ts";
import { isJsonObject } from "../../../core/json/json-value.ts";
import { memberNamed, type RequestJson } from "../../request-json.ts";

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Finds the inputs of calls as they were written, for the numbers in them: parsed, an id of nineteen digits is another one. */
export interface ExactInputs {
  /** The JSON text of the input that `value` was parsed from, of one block of one message. */
  text(value: object, message: number, block: number): string;
}

/** For one request. Its bytes are gone over only where an input has a number. */
export function openExactInputs(json: RequestJson): ExactInputs {
  let messages: readonly Span[] | undefined;
  return {
    text(value, message, block) {
      if (!hasNumber(value)) return JSON.stringify(value);
      const { bytes } = json;
      const list = memberNamed(json, "messages");
      messages ??= list === undefined ? [] : itemsAt(bytes, list.valueStart);
      const content = memberAt(bytes, messages[message], "content");
      const held = content && itemsAt(bytes, content.start)[block];
      const input = memberAt(bytes, held, "input");
      return input === undefined
        ? JSON.stringify(value)
        : decoder.decode(bytes.subarray(input.start, input.end));
    },
  };
}

function hasNumber(value: unknown): boolean {
  if (typeof value === "number") return true;
  if (Array.isArray(value)) return value.some(hasNumber);
  return isJsonObject(value) && Object.values(value).some(hasNumber);
}

function itemsAt(bytes: Uint8Array, at: number): readonly Span[] {
  const items: Span[] = [];
  eachPart(bytes, at, (_keyStart, _keyEnd, start, end) => void items.push({ start, end }));
  return items;
}

/** The value of an object's member. Names that stand twice were refused before. */
function memberAt(bytes: Uint8Array, object: Span | undefined, name: string): Span | undefined {
  let found: Span | undefined;
  if (object === undefined) return undefined;
  eachPart(bytes, object.start, (keyStart, keyEnd, start, end) => {
    if (memberName(bytes, keyStart, keyEnd) === name) found = { start, end };
  });
  return found;
}

const decoder = new TextDecoder();
