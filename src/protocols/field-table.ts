import { eachField, fieldOf, type Fields } from "../catalog/parameter-tables/field.ts";
import type { Changes, Path } from "./changes.ts";
import { createMeantField, type MeantField } from "./meant-field.ts";
import type { RelayTarget } from "./protocol.ts";
import { invalid } from "./request-json.ts";

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

/**
 * Goes over fields by the format's table. It leaves out with a warning what the model ignores and what nobody knows. A
 * priced field is a 400. `judge` receives the gateway's own fields and those of previews where the target does not take
 * all.
 */
export function checkFields(
  given: Iterable<readonly [name: string, value: unknown]>,
  target: RelayTarget,
  { format, within, canonical = itself, fields, meant }: FieldTable,
  changes: Changes,
  judge: (name: string) => void = () => {},
): void {
  const { ignoredParameters } = target.model;
  const placeOf = (name: string): Path => (within === undefined ? [name] : [within, name]);
  for (const [name, value] of given) {
    const known = canonical(name);
    const field = fieldOf(fields, known);
    if (hasName(ignoredParameters, known, canonical)) {
      const at = placeOf(name);
      changes.remove(at);
      const place = field?.place === "wire" ? undefined : field?.place;
      changes.warn({ field: at.join("."), place, why: "not_taken" });
    } else if (field === undefined) {
      if (target.unknownFields === "pass") continue;
      const at = placeOf(name);
      changes.remove(at);
      changes.warn({ field: at.join("."), why: "unknown", format, meant: meant(name) });
    } else if (field.rule === "priced" && !field.freeValues.includes(value)) {
      const path = placeOf(name).join(".");
      throw invalid(
        `${path} changes the price, and ${target.model.id} has no price for it: leave it out.`,
        path,
      );
    } else if ((field.rule === "gateway" || field.rule === "preview") && target.unknownFields === "remove")
      judge(name);
  }
}

const itself = (name: string): string => name;

/** Whether one of the names is this one, in whatever spelling. Each field of a request passes here. */
function hasName(names: readonly string[], known: string, canonical: (name: string) => string): boolean {
  for (const name of names) if (canonical(name) === known) return true;
  return false;
}

/** Whether the model's data says that it does not take this field. */
export function ignores(target: RelayTarget, name: string): boolean {
  return target.model.ignoredParameters.includes(name);
}
