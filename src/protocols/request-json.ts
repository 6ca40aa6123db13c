import { joinBytes, type Pieces } from "../core/bytes/bytes.ts";
import { GatewayError, quoted } from "../core/errors.ts";
import {
  findDuplicateKey,
  type Member,
  memberName,
  nameOf,
  openScan,
  readMembers,
} from "../core/json/json-scan.ts";
import { countMembers, readShape, type ShapeBounds } from "../core/json/json-shape.ts";
import { readKnown } from "../core/json/read-known.ts";
import { isJsonObject, type JsonObject } from "../core/json/json-value.ts";
import { openJsonWriter } from "./json-writer.ts";
import type { WireRequest } from "./protocol.ts";

/** A body that is a JSON object: its value, its bytes, and where its own members stand in them. */
export interface RequestJson {
  readonly value: JsonObject;
  /** Those of a body that was written here are put together when they are looked at. */
  readonly bytes: Uint8Array;
  /** The same in pieces, and how many there are. */
  readonly pieces: Pieces;
  readonly length: number;
  readonly members: readonly Member[];
  /** A key stands twice in one of its objects, whichever that is. */
  readonly repeatsKey: boolean;
  /** The values of its members are written without white space. */
  readonly isCompact: boolean;
}

/**
 * Nesting that any request needs, with room; deeper is an attack on whoever serialises it next. And values in one body:
 * parsing cost grows with these, not with bytes.
 */
export const BOUNDS: ShapeBounds = { depth: 64, values: 200_000 };

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Reads the body's structure once, within limits, and parses it once; tells `asked` of its `model`. Throws a
 * `GatewayError` for what is no JSON object, or has a member twice.
 */
export function readRequestJson(
  { body: bytes, asked, known }: Pick<WireRequest, "body" | "asked" | "known">,
  bounds = BOUNDS,
): RequestJson {
  const read = known && readKnown(bytes, bounds, known, parse);
  if (read !== undefined) {
    asked?.(read.value.model);
    const { members, isCompact } = read.shape;
    return { value: read.value, ...wholeText(bytes), members, repeatsKey: false, isCompact };
  }
  const shape = readShape(bytes, bounds);
  const value = shape === undefined ? undefined : parse(bytes);
  if (shape === undefined || !isJsonObject(value)) throw unreadable(bytes, bounds);
  const { members, isCompact } = shape;
  const repeatsKey = countMembers(value) < shape.memberCount;
  if (repeatsKey) refuseTwice(bytes, members);
  asked?.(value.model);
  return { value, ...wholeText(bytes), members, repeatsKey, isCompact };
}

function wholeText(bytes: Uint8Array): Pick<RequestJson, "bytes" | "pieces" | "length"> {
  return { bytes, pieces: [bytes], length: bytes.length };
}

/** A body that was written here, and no client sent: its text is made of the value, once. */
export function writeRequestJson(value: JsonObject): RequestJson {
  const out = openJsonWriter();
  const members: Member[] = [];
  for (const [name, held] of Object.entries(value)) {
    if (held === undefined) continue;
    const keyStart = out.add(members.length === 0 ? "{" : ",");
    const keyEnd = out.add(JSON.stringify(name));
    const valueStart = out.add(":");
    members.push({ name, keyStart, keyEnd, valueStart, valueEnd: out.value(held) });
  }
  const length = out.add(members.length === 0 ? "{}" : "}");
  const { pieces } = out;
  let joined: Uint8Array | undefined;
  return {
    value,
    get bytes() {
      return (joined ??= joinBytes(pieces));
    },
    pieces,
    length,
    members,
    repeatsKey: false,
    isCompact: true,
  };
}

/** The object that is the value of the member `name`, as a body of its own. */
export function bodyWithin(json: RequestJson, name: string): RequestJson {
  const at = memberNamed(json, name);
  const value = json.value[name];
  if (at === undefined || !isJsonObject(value)) throw new Error("The member is no object.");
  const bytes = json.bytes.subarray(at.valueStart, at.valueEnd);
  const { members = [] } = readShape(bytes, BOUNDS) ?? {};
  if (json.repeatsKey) refuseTwice(bytes, members);
  return { ...json, value, ...wholeText(bytes), members };
}

/** A 400 that names a field. */
export function invalid(message: string, param?: string): GatewayError {
  return new GatewayError("invalid_request_error", message, param === undefined ? {} : { param });
}

/** The 400 of a field of which this is wrong. */
export function wrong(path: string, problem: string): GatewayError {
  return invalid(`${path} ${problem}.`, path);
}

/**
 * Refuses a name that stands twice: two readers of the same bytes could see two different requests, and we charge by
 * what we read.
 */
function refuseTwice(bytes: Uint8Array, members: readonly Member[]): void {
  const names = new Set<string>();
  for (const { keyStart, keyEnd } of members) {
    const name = memberName(bytes, keyStart, keyEnd);
    if (names.has(name))
      throw invalid(`${quoted(name)} stands twice in the body: send it once.`, name.slice(0, 64));
    names.add(name);
  }
}

/** The body's member of this name. */
export function memberNamed(json: RequestJson, name: string): Member | undefined {
  if (!Object.hasOwn(json.value, name)) return undefined;
  for (const member of json.members) if (nameOf(json, member) === name) return member;
  return undefined;
}

/** Refuses a key that stands twice in an object of the member `name`, looking `levels` deep: the input is charged by what is read there. */
export function refuseTwiceWithin(json: RequestJson, name: string, levels: number): void {
  const at = json.repeatsKey ? memberNamed(json, name) : undefined;
  if (at === undefined) return;
  const twice = findDuplicateKey(openScan(json.bytes, at.valueEnd), at.valueStart, levels);
  if (twice === undefined) return;
  throw invalid(`${quoted(twice)} stands twice in one object of ${name}: send it once.`, name);
}

/** Optional fields that are null are left out, as the official clients mean it; the bytes keep them. */
export function withoutNulls(value: JsonObject, required: ReadonlySet<string>): JsonObject {
  for (const name in value)
    if (isSilent(value[name], name, required))
      return Object.fromEntries(
        Object.entries(value).filter(([each, held]) => !isSilent(held, each, required)),
      );
  return value;
}

function isSilent(held: unknown, name: string, required: ReadonlySet<string>): boolean {
  return held === null && !required.has(name);
}

/** Bytes of a member's value; 0 when it is not there. */
export function spanLength(json: RequestJson, name: string): number {
  const { valueStart = 0, valueEnd = 0 } = memberNamed(json, name) ?? {};
  return valueEnd - valueStart;
}

/** The text of a member's value, if it is there. */
export function spanText(json: RequestJson, name: string): string | undefined {
  const member = memberNamed(json, name);
  return member && decoder.decode(json.bytes.subarray(member.valueStart, member.valueEnd));
}

/** The value of the text; `undefined` where it is none. */
function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch {
    return undefined;
  }
}

/** Why a body cannot be read, by the scanner that validates. */
function unreadable(bytes: Uint8Array, { depth, values }: ShapeBounds): GatewayError {
  const scan = openScan(bytes, bytes.length, depth, values);
  const members = readMembers(scan);
  if (members !== undefined) {
    refuseTwice(bytes, members);
    return invalid("The body is not valid UTF-8.");
  }
  switch (scan.failure) {
    case "depth":
      return invalid(`The body nests deeper than ${depth} levels.`);
    case "values":
      return new GatewayError("input_too_large", `The body has more than ${values} JSON values.`);
    case "syntax":
      return invalid("The body is not valid JSON.");
    case "":
      return invalid("The body must be a JSON object.");
  }
}
