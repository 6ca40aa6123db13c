import { creditsText } from "../core/credits.ts";
import { GatewayError } from "../core/errors.ts";
import { openScan, readMembers } from "../core/json-scan.ts";
import { applyEdits, type Edit, type MemberChange, objectEdits } from "../core/json-splice.ts";
import { isJsonObject, type JsonObject } from "../core/json-value.ts";
import { exactValue } from "./exact-json.ts";
import type { AnswerContext, Metered, RelayAnswer } from "./protocol.ts";
import { errorWithin, readErrorObject } from "./refusal.ts";

const MAX_DEPTH = 256;

/**
 * Parses a provider's answer, or the error that came as a list of one: gives its bytes without a byte order mark, which
 * JSON has no place for. Throws `upstream_error` when it is no JSON object.
 */
export function readAnswerJson(received: Uint8Array) {
  const marked = received[0] === 0xef && received[1] === 0xbb && received[2] === 0xbf;
  const bytes = marked ? received.subarray(3) : received;
  const text = decoder.decode(bytes);
  const value = parsed(text);
  if (value === undefined) throw new GatewayError("upstream_error", "The provider's answer is not JSON.");
  if (isJsonObject(value)) return { bytes, text, value };
  const [first] = Array.isArray(value) ? (value as readonly unknown[]) : [];
  if (isJsonObject(first) && isJsonObject(first.error)) return { bytes, text, value: first };
  throw new GatewayError("upstream_error", "The provider's answer is not a JSON object.");
}

/** The value of a provider's answer, whatever it is; `undefined` when it is no JSON. */
export function jsonValue(received: Uint8Array): unknown {
  return parsed(decoder.decode(received));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What a format reads in a whole answer. */
export interface AnswerReading {
  readonly metered: Metered;
  /** Names of the repairs that were made to the value. */
  readonly repairs?: readonly string[];
  /** Usage to write, where the provider's is missing or cannot be. */
  readonly usage?: JsonObject | undefined;
}

/** How whole answers of a format are read for a relay. */
export interface AnswerFormat {
  /** Reads and mends the value. Throws `upstream_error` for a 200 that is no answer. */
  read(value: JsonObject, context: AnswerContext): AnswerReading;
  readonly usageMember: string;
  /** Whether an answer has `model`, which is to be the gateway's id. */
  readonly hasModel: boolean;
  /** Stands in every answer that calls a tool with an object, which is written again and must keep its digits. */
  readonly callMark?: string;
}

/**
 * Reads a whole answer: its bytes stay, but for `model`, padding, `credit` at the end, and usage where the provider's
 * is missing or cannot be. Throws `upstream_error` for a 200 that is no answer.
 */
export function readWholeAnswer(
  format: AnswerFormat,
  received: Uint8Array,
  context: AnswerContext,
): RelayAnswer {
  const answer = readAnswerJson(received);
  const { value } = answer;
  const error = errorWithin(value);
  if (error !== undefined) throw readErrorObject(error, context);
  const { metered, repairs = [], usage } = format.read(value, context);
  if (nestsBeyond(value, MAX_DEPTH)) throw tooDeep();
  const bytes = repairs.length === 0 ? answer.bytes : encoder.encode(JSON.stringify(value));
  const set = usage === undefined ? [] : [`"${format.usageMember}":${JSON.stringify(usage)}`];
  const changes: AnswerChanges = {
    model: format.hasModel ? JSON.stringify(context.model) : undefined,
    remove: [...context.padding, "credit", ...(usage === undefined ? [] : [format.usageMember])],
  };
  // Found before the charge: an answer that cannot be written must not be paid for.
  const edit = quickEdits(bytes, value, changes) ?? exactEdits(bytes, changes);
  return {
    metered,
    repairs,
    encode: (credit) => applyEdits(bytes, edit([...set, `"credit":${creditsText(credit)}`])),
    said: () => {
      const isExact = format.callMark !== undefined && answer.text.includes(format.callMark);
      return isExact ? (exactValue(answer.text, value) as JsonObject) : value;
    },
  };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What is changed in an answer before members are put at its end. */
interface AnswerChanges {
  /** JSON text of the id to show as `model`; absent in the format that has no such member. */
  readonly model: string | undefined;
  /** Members to take out. */
  readonly remove: readonly string[];
}

/** Gives the edits of an answer that has these members put at its end. */
type EndWith = (members: readonly string[]) => readonly Edit[];

const MODEL = Buffer.from('"model"');
/** What an escape of each letter of `model` begins with. */
const LETTER_ESCAPE = Buffer.from("\\u006");

/**
 * The edits without a look at every byte, where nothing is taken out and `model`, if it is there, can stand in one place
 * only: its quoted name comes once, and no escape can spell it. `undefined` for all other answers.
 */
function quickEdits(
  bytes: Uint8Array,
  value: JsonObject,
  { model, remove }: AnswerChanges,
): EndWith | undefined {
  if (remove.some((name) => Object.hasOwn(value, name)) || Object.keys(value).length === 0) return undefined;
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const edits: Edit[] = [];
  const missing: string[] = [];
  if (model !== undefined && !Object.hasOwn(value, "model")) missing.push(`"model":${model}`);
  else if (model !== undefined) {
    const at = buffer.indexOf(MODEL);
    if (buffer.includes(MODEL, at + 1) || buffer.includes(LETTER_ESCAPE)) return undefined;
    const start = pastSpace(bytes, pastSpace(bytes, at + MODEL.length) + 1);
    const end = buffer.indexOf(QUOTE, start + 1) + 1;
    if (bytes[start] !== QUOTE || buffer.subarray(start, end).includes(BACKSLASH)) return undefined;
    edits.push({ start, end, text: model });
  }
  let last = buffer.lastIndexOf(CLOSE);
  while (isSpace(bytes[last - 1])) last -= 1;
  return (members) => [
    ...edits,
    { start: last, end: last, text: [...missing, ...members].map((member) => `,${member}`).join("") },
  ];
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const CLOSE = 0x7d;

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function pastSpace(bytes: Uint8Array, at: number): number {
  while (isSpace(bytes[at])) at += 1;
  return at;
}

/** The edits of any answer. */
function exactEdits(bytes: Uint8Array, { model, remove }: AnswerChanges): EndWith {
  const members = readMembers(openScan(bytes, bytes.length, MAX_DEPTH));
  if (members === undefined) throw tooDeep();
  return (more) => {
    const added = model === undefined ? more : [`"model":${model}`, ...more];
    let append = added;
    const changeOf = (name: string): MemberChange | undefined => {
      if (remove.includes(name)) return { isRemoved: true };
      if (name !== "model" || model === undefined) return undefined;
      append = more;
      return { text: model };
    };
    return objectEdits(bytes, members, changeOf, () => append);
  };
}

function tooDeep(): GatewayError {
  return new GatewayError("upstream_error", "The provider's answer nests too deeply.");
}

function nestsBeyond(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const name in value) if (nestsBeyond((value as JsonObject)[name], levels - 1)) return true;
  return false;
}
