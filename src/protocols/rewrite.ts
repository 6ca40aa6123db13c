import { eachField, fieldOf, type Fields } from "../catalog/parameter-tables/field.ts";
import type { Member } from "../core/json-scan.ts";
import { applyEdits, type Edit, objectEdits } from "../core/json-splice.ts";
import { createMeantField, type MeantField, unknownField } from "./meant-field.ts";
import { printable } from "./printable.ts";
import type { RelayTarget } from "./protocol.ts";
import { invalid, type RequestJson } from "./request-json.ts";
import { MOST_WARNINGS } from "./warnings.ts";

/** What a table of fields is made of. */
interface FieldTableParts {
  /** As a sentence names the format: `it is not a field of chat completions`. */
  readonly format: string;
  /** The object that the fields stand in, for sentences; absent for the request itself. */
  readonly within?: string;
  /** The name that the table has for a field which may be spelled in more than one way. */
  readonly canonical?: (name: string) => string;
  readonly fields: Fields;
  /** What other interfaces call what is no field here, by words that say what to send. */
  readonly otherNames?: Readonly<Record<string, string>>;
}

/** The fields of one format. */
export interface FieldTable extends Omit<FieldTableParts, "otherNames"> {
  /** What is meant by a name that is no field. */
  readonly meant: MeantField;
}

/** A table that knows what is meant by the other names of its fields, and by these in another spelling. */
export function createFieldTable({ otherNames = {}, ...table }: FieldTableParts): FieldTable {
  const own = [...eachField(table.fields)].map(({ path, field }) => [path, field.otherNames ?? ""]);
  return {
    ...table,
    meant: createMeantField(Object.keys(table.fields), { ...Object.fromEntries(own), ...otherNames }),
  };
}

/** Changes gathered for one body. */
export interface Rewrite {
  readonly remove: Set<Member>;
  readonly replace: Map<Member, string>;
  readonly rename: Map<Member, string>;
  readonly append: string[];
  /** Spans inside members that stay as they are otherwise: parts of messages, of tools. */
  readonly within: Edit[];
  readonly warnings: string[];
}

/** A rewrite that changes nothing yet. */
export function openRewrite(): Rewrite {
  return { remove: new Set(), replace: new Map(), rename: new Map(), append: [], within: [], warnings: [] };
}

/** Adds changes inside members that stay. There may be very many of them. */
export function addWithin(rewrite: Rewrite, edits: readonly Edit[]): void {
  for (const edit of edits) rewrite.within.push(edit);
}

/** Tells of a change, as long as somebody reads it. */
export function tell(rewrite: Rewrite, sentence: () => string): void {
  if (rewrite.warnings.length < MOST_WARNINGS) rewrite.warnings.push(sentence());
}

/** The bytes with the changes made. */
export function rewritten(json: RequestJson, rewrite: Rewrite): Uint8Array {
  const edits = [...objectEdits(json.bytes, json.members, rewrite), ...rewrite.within];
  return applyEdits(
    json.bytes,
    edits.sort((a, b) => a.start - b.start),
  );
}

/**
 * Goes over the members by the format's table: what the model ignores and what nobody knows is left out with a
 * warning; a priced field is a 400; `judge` is told of the gateway's own fields and those of previews where the
 * target does not take all.
 */
export function checkFields(
  json: RequestJson,
  target: RelayTarget,
  { format, within, canonical = itself, fields, meant }: FieldTable,
  rewrite: Rewrite,
  judge: (name: string, at: Member) => void = () => {},
): void {
  for (const [name, at] of json.byName) {
    const known = canonical(name);
    const path = within === undefined ? name : `${within}.${name}`;
    const field = fieldOf(fields, known);
    if (target.model.ignoredParameters.some((ignored) => canonical(ignored) === known)) {
      rewrite.remove.add(at);
      tell(rewrite, () => `${printable(path)} was left out: ${target.model.id} does not take it`);
    } else if (field === undefined) {
      if (target.unknownFields === "pass") continue;
      rewrite.remove.add(at);
      tell(rewrite, () => unknownField(path, format, meant(name)));
    } else if (field.rule === "priced" && !field.freeValues.includes(json.value[name])) {
      throw invalid(
        `${path} changes the price, and ${target.model.id} has no price for it: leave it out.`,
        path,
      );
    } else if ((field.rule === "gateway" || field.rule === "preview") && target.unknownFields === "remove")
      judge(name, at);
  }
}

const itself = (name: string): string => name;

/** Whether the model's data says that it does not take this field. */
export function ignores(target: RelayTarget, name: string): boolean {
  return target.model.ignoredParameters.includes(name);
}
