import { isJsonObject, type JsonObject } from "../core/json-value.ts";
import type { Checker } from "../core/schema.ts";
import { type MeantField, schemaRefusal, unknownField } from "./meant-field.ts";
import { printable } from "./printable.ts";
import { invalid, memberNamed, type RequestJson, withoutNulls } from "./request-json.ts";

/** A body whose fields are of the interface, and what of it was left out. */
export interface MediaBody<Fields> {
  readonly fields: Fields;
  readonly warnings: readonly string[];
}

/** How the bodies of an endpoint are read. */
export interface BodyForm<Fields> {
  readonly checker: Checker<Fields>;
  readonly names: ReadonlySet<string>;
  /** What is meant by a name that is none of them. */
  readonly meant: MeantField;
  /** What the endpoint makes, in the plural. */
  readonly makes: string;
  /** The one spelling of a value that the interface lists; anything that is none stays as it is. */
  readonly spell: (name: string, value: unknown, raw: () => string) => unknown;
  /** What objects in a list can have, by the list's name. */
  readonly members: Readonly<Record<string, Members>>;
}

/** What an object in a list can have. */
export interface Members {
  readonly names: ReadonlySet<string>;
  /** What is meant by a name that is none of them. */
  readonly meant: MeantField;
}

/** Members of a body, or of an object in it, that nobody knows, by their paths. */
interface Unknown {
  readonly paths: string[];
  /** The first whose meaning is known, and the field that was not sent in its place. */
  misnamed?: { readonly path: string; readonly meant: string };
}

const REQUIRED: ReadonlySet<string> = new Set(["model", "prompt"]);

/**
 * Reads a body: within the limits of any request, no key twice, every field of the type and range that the interface
 * has for all models. Fields that nobody knows are left out, with a warning. Throws a 400 that names the field: also for a
 * known field by another name, since without it other images or another video would be made, and paid for.
 */
export function readMediaBody<Fields>(json: RequestJson, form: BodyForm<Fields>): MediaBody<Fields> {
  const given = withoutNulls(json.value, REQUIRED);
  refuseStreams(given, form.makes);
  const fields: JsonObject = {};
  const unknown: Unknown = { paths: [] };
  for (const [name, value] of Object.entries(given)) {
    if (form.names.has(name)) {
      const spelled = form.spell(name, value, () => rawText(json, name));
      const members = form.members[name];
      fields[name] = members === undefined ? spelled : knownMembers(spelled, members, { name, unknown });
    } else if (!STREAM_FIELDS.has(name)) noteUnknown(unknown, name, form.meant(name), given);
  }
  if (!form.checker.accepts(fields)) {
    throw schemaRefusal(form.checker.faultOf(fields), given, form.meant);
  }
  refuseMisnamed(unknown, form.makes);
  refuseOddText(fields, "");
  return { fields, warnings: warningsOf(unknown.paths, form) };
}

/** A name whose field was sent too is one too many, and no more. */
function noteUnknown(unknown: Unknown, path: string, meant: string | undefined, beside: JsonObject): void {
  unknown.paths.push(path);
  if (meant !== undefined && !Object.hasOwn(beside, meant)) unknown.misnamed ??= { path, meant };
}

function refuseMisnamed({ misnamed }: Unknown, makes: string): void {
  if (misnamed === undefined) return;
  const { path, meant } = misnamed;
  throw invalid(`${printable(path)} is not a field of requests for ${makes}: send ${meant}.`, path);
}

/** Objects of a list without members that are null, and without those that nobody knows, which are noted. */
function knownMembers(
  value: unknown,
  { names, meant }: Members,
  { name, unknown }: { readonly name: string; readonly unknown: Unknown },
): unknown {
  if (!Array.isArray(value)) return value;
  return value.map((item: unknown, i) => {
    if (!isJsonObject(item)) return item;
    const known = Object.entries(item).filter(([member, of]) => {
      if (!names.has(member)) noteUnknown(unknown, `${name}[${i}].${member}`, meant(member), item);
      return names.has(member) && of !== null;
    });
    return Object.fromEntries(known);
  });
}

/** As many as a reader reads; a body can have very many. */
const MOST_WARNINGS = 8;

function warningsOf(
  unknown: readonly string[],
  { makes, meant }: Pick<BodyForm<unknown>, "makes" | "meant">,
): readonly string[] {
  const told = unknown
    .slice(0, MOST_WARNINGS)
    .map((name) => unknownField(name, `requests for ${makes}`, meant(name)));
  const more = unknown.length - told.length;
  return more === 0
    ? told
    : [...told, `${more} further fields were left out: they are none of requests for ${makes}`];
}

/** Fields by which clients ask for a stream; false and none say what is the case anyway. */
const STREAM_FIELDS: ReadonlySet<string> = new Set(["stream", "partial_images"]);

function refuseStreams({ stream = false, partial_images = 0 }: JsonObject, makes: string): void {
  if (stream !== false) throw invalid(`stream must be false: ${makes} are not streamed.`, "stream");
  if (partial_images !== 0)
    throw invalid(`partial_images must be 0: ${makes} are not streamed.`, "partial_images");
}

/** The bytes of a member, as far as a number needs them. */
function rawText(json: RequestJson, name: string): string {
  const at = memberNamed(json, name);
  if (at === undefined) return "";
  return new TextDecoder().decode(
    json.bytes.subarray(at.valueStart, Math.min(at.valueEnd, at.valueStart + 32)),
  );
}

/** Text that no store keeps as it is: a NUL, or half of a surrogate pair. */
function refuseOddText(value: unknown, path: string): void {
  if (typeof value === "string") {
    if (value.includes("\0")) throw invalid(`${path} must not have a NUL in it.`, path);
    if (!value.isWellFormed()) throw invalid(`${path} must be whole Unicode characters.`, path);
  } else if (Array.isArray(value)) {
    value.forEach((item, i) => refuseOddText(item, `${path}[${i}]`));
  } else if (typeof value === "object" && value !== null) {
    for (const [name, member] of Object.entries(value))
      refuseOddText(member, path === "" ? name : `${path}.${name}`);
  }
}
