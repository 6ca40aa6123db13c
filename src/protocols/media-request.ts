import { isJsonObject, type JsonObject } from "../core/json/json-value.ts";
import type { Checker } from "../core/schema.ts";
import { type MeantField, schemaRefusal, unknownField } from "./meant-field.ts";
import { printable } from "./printable.ts";
import { invalid, memberNamed, type RequestJson, withoutNulls } from "./request-json.ts";

/** A body whose fields are of the interface, and what of it was left out. */
export interface MediaBody<Fields> {
  readonly fields: Fields;
  readonly warnings: readonly string[];
}

/** What an object can have. */
interface Members {
  readonly names: ReadonlySet<string>;
  /** What is meant by a name that is none of them. */
  readonly meant: MeantField;
}

/** How the bodies of an endpoint are read. */
export interface BodyForm<Fields> extends Members {
  readonly checker: Checker<Fields>;
  /** What the endpoint makes, in the plural. */
  readonly makes: string;
  /** The one spelling of a value that the interface lists; anything that is none stays as it is. */
  readonly spell: (name: string, value: unknown, raw: () => string) => unknown;
  /** What objects in a list can have, by the list's name. */
  readonly members: Readonly<Record<string, Members>>;
}

const REQUIRED: ReadonlySet<string> = new Set(["model", "prompt"]);

/** As many as a reader reads; a body can have very many. */
const MOST_WARNINGS = 8;

/**
 * Reads a body within the limits of any request. No key may come twice, and every field has the type and range that the
 * interface has for all models. Fields that nobody knows are left out, with a warning. Throws a 400 that names the
 * field. It does so also for a known field by another name: without the field the client would pay for other images or
 * another video.
 */
export function readMediaBody<Fields>(json: RequestJson, form: BodyForm<Fields>): MediaBody<Fields> {
  const { checker, makes, meant } = form;
  const given = withoutNulls(json.value, REQUIRED);
  // By these clients ask for a stream; false and none say what is the case anyway.
  const { stream = false, partial_images = 0, ...members } = given;
  if (stream !== false) throw invalid(`stream must be false: ${makes} are not streamed.`, "stream");
  if (partial_images !== 0)
    throw invalid(`partial_images must be 0: ${makes} are not streamed.`, "partial_images");
  const unknown: Unknown = { paths: [] };
  const fields = knownMembers(members, form, unknown, "", (name, value) => {
    const spelled = form.spell(name, value, () => rawText(json, name));
    const within = form.members[name];
    if (within === undefined || !Array.isArray(spelled)) return spelled;
    return spelled.map((item: unknown, i) =>
      isJsonObject(item) ? knownMembers(item, within, unknown, `${name}[${i}].`) : item,
    );
  });
  if (!checker.accepts(fields)) throw schemaRefusal(checker.faultOf(fields), given, meant);
  const { paths, misnamed } = unknown;
  if (misnamed !== undefined) {
    const { path, instead } = misnamed;
    throw invalid(`${printable(path)} is not a field of requests for ${makes}: send ${instead}.`, path);
  }
  refuseOddText(fields, "");
  const warnings = paths
    .slice(0, MOST_WARNINGS)
    .map((path) => unknownField(path, `requests for ${makes}`, meant(path)));
  const more = paths.length - warnings.length;
  if (more > 0) warnings.push(`${more} further fields were left out: they are none of requests for ${makes}`);
  return { fields, warnings };
}

/** Members of a body, or of an object in it, that nobody knows, by their paths. */
interface Unknown {
  readonly paths: string[];
  /** The first whose meaning is known, and the field that was not sent in its place. */
  misnamed?: { readonly path: string; readonly instead: string };
}

/** The members that an object can have, as `read` gives them; without it those that are null go. The others are noted. */
function knownMembers(
  members: JsonObject,
  { names, meant }: Members,
  unknown: Unknown,
  within: string,
  read?: (name: string, value: unknown) => unknown,
): JsonObject {
  const known: JsonObject = {};
  for (const [name, value] of Object.entries(members)) {
    if (names.has(name)) {
      if (read !== undefined) known[name] = read(name, value);
      else if (value !== null) known[name] = value;
      continue;
    }
    const path = within + name;
    const instead = meant(name);
    unknown.paths.push(path);
    // A name whose field was sent too is one too many, and no more.
    if (instead !== undefined && !Object.hasOwn(members, instead)) unknown.misnamed ??= { path, instead };
  }
  return known;
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
