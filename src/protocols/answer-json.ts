import { GatewayError } from "../core/errors.ts";
import { type Member, memberName, openScan, readMembers } from "../core/json-scan.ts";
import { spliceObject } from "../core/json-splice.ts";
import { isJsonObject, type JsonObject } from "../core/json-value.ts";

const MAX_DEPTH = 256;

/** A plain answer: its bytes without a byte order mark, which JSON has no place for, and its value. */
export interface AnswerJson {
  readonly bytes: Uint8Array;
  readonly value: JsonObject;
}

/** Parses a provider's answer, or the error that came as a list of one. Throws `upstream_error` when it is no JSON object. */
export function readAnswerJson(received: Uint8Array): AnswerJson {
  const marked = received[0] === 0xef && received[1] === 0xbb && received[2] === 0xbf;
  const bytes = marked ? received.subarray(3) : received;
  const value = jsonValue(bytes);
  if (value === undefined) throw new GatewayError("upstream_error", "The provider's answer is not JSON.");
  if (isJsonObject(value)) return { bytes, value };
  const [first] = Array.isArray(value) ? (value as readonly unknown[]) : [];
  if (isJsonObject(first) && isJsonObject(first.error)) return { bytes, value: first };
  throw new GatewayError("upstream_error", "The provider's answer is not a JSON object.");
}

/** The value of a provider's answer, whatever it is; `undefined` when it is no JSON. */
export function jsonValue(received: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(received));
  } catch {
    return undefined;
  }
}

/**
 * The members of an answer, found before its charge: one that cannot be written must not be paid for. Throws
 * `upstream_error` for one that nests too deeply.
 */
export function answerMembers(bytes: Uint8Array): readonly Member[] {
  const members = readMembers(openScan(bytes, bytes.length, MAX_DEPTH));
  if (members !== undefined) return members;
  throw new GatewayError("upstream_error", "The provider's answer nests too deeply.");
}

/** What is put into an answer. */
export interface AnswerChanges {
  /** The id to show as `model`; absent in the format that has no such member. */
  readonly model?: string;
  /** Members to take out. */
  readonly remove: readonly string[];
  /** Members to set at the end, as name and JSON text; what stood under their names goes. */
  readonly set: readonly (readonly [name: string, text: string])[];
}

/** The answer's own bytes with the changes made: the gateway's id as `model` in its place, all else at the end. */
export function putIntoAnswer(
  bytes: Uint8Array,
  members: readonly Member[],
  changes: AnswerChanges,
): Uint8Array {
  const names = new Set([...changes.remove, ...changes.set.map(([name]) => name)]);
  const named = members.map((member) => [memberName(bytes, member.keyStart, member.keyEnd), member] as const);
  const model = changes.model === undefined ? undefined : JSON.stringify(changes.model);
  const models =
    model === undefined
      ? []
      : named.filter(([name]) => name === "model").map(([, member]) => [member, model] as const);
  return spliceObject(bytes, members, {
    remove: new Set(named.filter(([name]) => names.has(name)).map(([, member]) => member)),
    replace: new Map(models),
    append: [
      ...(model === undefined || models.length > 0 ? [] : [`"model":${model}`]),
      ...changes.set.map(([name, text]) => `"${name}":${text}`),
    ],
  });
}
