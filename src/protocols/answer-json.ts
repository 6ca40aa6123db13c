import { creditsText, type MicroCredits } from "../core/money/credits.ts";
import { GatewayError } from "../core/errors.ts";
import type { Member } from "../core/json/json-scan.ts";
import { namesInOrder, readShape } from "../core/json/json-shape.ts";
import { applyEdits, type MemberChange, objectEdits } from "../core/json/json-splice.ts";
import { isJsonObject, type JsonObject } from "../core/json/json-value.ts";
import { exactValue } from "./exact-json.ts";
import type { AnswerContext, Metered, RelayAnswer } from "./protocol.ts";
import { errorWithin, readErrorObject } from "./refusal.ts";

const BOUNDS = { depth: 256, values: Number.MAX_SAFE_INTEGER };

/**
 * Parses a provider's answer, or the error that came as a list of one. Returns its bytes without a byte order mark,
 * which JSON has no place for. Throws `upstream_error` when it is no JSON object.
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
  /** The member that is to be the gateway's id of the model; absent: none is. */
  modelMember?(context: AnswerContext): string | undefined;
  /** Stands in every answer that calls a tool with an object, which is written again and must keep its digits. */
  readonly callMark?: string;
}

/**
 * Reads a whole answer. Its bytes stay, but for the model's name, padding, `credit` at the end, and usage where the
 * provider's is missing or impossible. Throws `upstream_error` for a 200 that is no answer.
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
  const bytes = repairs.length === 0 ? answer.bytes : encoder.encode(JSON.stringify(value));
  // Found before the charge: an answer that cannot be written must not be paid for.
  const shape = readShape(bytes, BOUNDS);
  if (shape === undefined)
    throw new GatewayError("upstream_error", "The provider's answer nests too deeply.");
  const parts = { format, context, value, bytes, members: shape.members, usage, text: answer.text };
  return new WholeAnswer(metered, repairs, parts);
}

/** What a whole answer is written from. */
interface AnswerParts {
  readonly format: AnswerFormat;
  readonly context: AnswerContext;
  readonly value: JsonObject;
  /** The text of the value, which has the repairs. */
  readonly bytes: Uint8Array;
  readonly members: readonly Member[];
  readonly usage: JsonObject | undefined;
  /** As it was received. */
  readonly text: string;
}

/** A class, since one is made for each request: its functions are not. */
class WholeAnswer implements RelayAnswer {
  readonly metered: Metered;
  readonly repairs: readonly string[];
  readonly #parts: AnswerParts;

  constructor(metered: Metered, repairs: readonly string[], parts: AnswerParts) {
    this.metered = metered;
    this.repairs = repairs;
    this.#parts = parts;
  }

  encode(credit: MicroCredits): Uint8Array {
    const { format, context, value, bytes, members, usage } = this.#parts;
    const ofUsage = usage === undefined ? "" : `"${format.usageMember}":${JSON.stringify(usage)},`;
    const added = `${ofUsage}"credit":${creditsText(credit)}`;
    const modelMember = format.modelMember?.(context);
    const model = JSON.stringify(context.model);
    const names = namesInOrder(value, members.length);
    if (modelMember !== undefined && names !== undefined && !this.#removesOneOf(names)) {
      const place = members[names.indexOf(modelMember)];
      if (place !== undefined) return withModel(bytes, members, place, model, added);
    }
    return this.#encodeChanged(modelMember, model, added);
  }

  said(): JsonObject {
    const { format, text, value } = this.#parts;
    const isExact = format.callMark !== undefined && text.includes(format.callMark);
    return isExact ? (exactValue(text, value) as JsonObject) : value;
  }

  /** The bytes with members taken out, or of an answer that had no member for the model. */
  #encodeChanged(modelMember: string | undefined, model: string, added: string): Uint8Array {
    const { bytes, members } = this.#parts;
    let missing = modelMember === undefined ? [] : [`"${modelMember}":${model}`];
    const changeOf = (name: string): MemberChange | undefined => {
      if (this.#removes(name)) return { isRemoved: true };
      if (name !== modelMember) return undefined;
      missing = [];
      return { text: model };
    };
    const append = (): string[] => [...missing, added];
    return applyEdits(bytes, objectEdits({ bytes }, members, changeOf, append));
  }

  #removesOneOf(names: readonly string[]): boolean {
    for (const name of names) if (this.#removes(name)) return true;
    return false;
  }

  #removes(name: string): boolean {
    const { format, context, usage } = this.#parts;
    if (name === "credit" || context.padding.includes(name)) return true;
    return usage !== undefined && name === format.usageMember;
  }
}

/** The usual end of an answer: its bytes with another model at `place`, and with `added` behind its last member. */
function withModel(
  bytes: Uint8Array,
  members: readonly Member[],
  place: Member,
  model: string,
  added: string,
): Uint8Array {
  const { valueStart, valueEnd } = place;
  const { valueEnd: end } = members.at(-1) ?? place;
  const name = encoder.encode(model);
  const tail = encoder.encode(`,${added}`);
  const result = new Uint8Array(bytes.length - (valueEnd - valueStart) + name.length + tail.length);
  result.set(bytes.subarray(0, valueStart));
  result.set(name, valueStart);
  const behindName = valueStart + name.length;
  result.set(bytes.subarray(valueEnd, end), behindName);
  const behindAll = behindName + end - valueEnd;
  result.set(tail, behindAll);
  result.set(bytes.subarray(end), behindAll + tail.length);
  return result;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
