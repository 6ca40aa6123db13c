import { isJsonObject, type JsonObject } from "../../core/json/json-value.ts";
import { type Changes, openChanges } from "../changes.ts";
import { targetSentences } from "../losses.ts";
import type { PlaceNames, RelayTarget, UpstreamBody } from "../protocol.ts";
import { checkFields, type FieldTable } from "../field-table.ts";
import { type GenerateContentRequest, refusal } from "./request.ts";
import { CONFIG_FIELDS, PART_FIELDS, REQUEST_FIELDS } from "./schema.ts";
import { isCarriedSignature, NO_SIGNATURE } from "./signatures.ts";
import { fieldName } from "./spelling.ts";

/**
 * The request as the target takes it, which is its own bytes with rewrites. The bound on output is set or lowered
 * inside `generationConfig`. Fields that the model ignores or nobody knows are taken out with a warning. Model and verb
 * stand in the path. Throws a 400 that names a field which the target cannot express.
 */
export function upstreamBody(
  request: GenerateContentRequest,
  target: RelayTarget,
  names?: PlaceNames,
): UpstreamBody {
  const changes = changeFields(request, target, REQUEST_FIELDS, names);
  return { body: changes.splice(request.json), warnings: changes.warnings };
}

/** The changes to a request whose fields are those of `fields`. */
export function changeFields(
  request: GenerateContentRequest,
  target: RelayTarget,
  fields: FieldTable,
  names?: PlaceNames,
): Changes {
  const changes = openChanges(targetSentences(target.model.id, names));
  const { value } = request.json;
  checkFields(Object.entries(value), target, fields, changes);
  if (target.unknownFields === "remove") refuseUnknownPart(request);
  leaveForeignSignatures(request, changes);
  const name = spelled(value, "generationConfig");
  const config = value[name];
  if (isJsonObject(config)) changeConfig(request, target, { name, config }, changes);
  else if (target.outputBound !== undefined) changes.set([name], { maxOutputTokens: target.outputBound });
  return changes;
}

/** The field as the client spelled it. */
function spelled(fields: JsonObject, field: string): string {
  return Object.keys(fields).find((name) => fieldName(name) === field) ?? field;
}

/** What another vendor's model signed, and a client kept for us, is nothing that this provider can read. */
function leaveForeignSignatures({ body, json }: GenerateContentRequest, changes: Changes): void {
  for (const [i, { parts = [] }] of body.contents.entries()) {
    const pathOf = (j: number) => pathIn(json.value, ["contents", i, "parts", j, "thoughtSignature"]);
    const firstCall = parts.findIndex(({ functionCall }) => functionCall !== undefined);
    let isOthers = false;
    for (const [j, { thoughtSignature, functionCall }] of parts.entries()) {
      if (thoughtSignature === undefined || !isCarriedSignature(thoughtSignature)) continue;
      isOthers = true;
      if (functionCall === undefined) changes.remove(pathOf(j));
      else changes.set(pathOf(j), NO_SIGNATURE);
      changes.warn(
        `contents[${i}].parts[${j}]: thinking that another vendor's model has signed was left out`,
      );
    }
    // The first call of a turn wants a signature; this one says that it has none.
    if (isOthers && firstCall !== -1 && parts[firstCall]?.thoughtSignature === undefined)
      changes.set(pathOf(firstCall), NO_SIGNATURE);
  }
}

/** A path in the reference's spelling as the caller spelled it; the only one of many may stand without its list. */
function pathIn(original: unknown, path: readonly (string | number)[]): (string | number)[] {
  let at = original;
  return path.flatMap((step): (string | number)[] => {
    if (typeof step === "number") {
      if (!Array.isArray(at)) return [];
      at = at[step];
      return [step];
    }
    const key = isJsonObject(at) ? spelled(at, step) : step;
    at = isJsonObject(at) ? at[key] : undefined;
    return [key];
  });
}

function refuseUnknownPart({ body, json }: GenerateContentRequest): void {
  for (const [i, { parts = [] }] of body.contents.entries()) {
    for (const [at, part] of parts.entries()) {
      const name = Object.keys(part).find((field) => !PART_FIELDS.has(field));
      if (name === undefined) continue;
      const problem = "is not a field of a part that is known here.";
      throw refusal(`contents[${i}].parts[${at}].${name}`, problem, json.value);
    }
  }
}

/** What changes inside `generationConfig`; its other members keep their bytes. */
function changeConfig(
  { body }: GenerateContentRequest,
  target: RelayTarget,
  { name, config }: { readonly name: string; readonly config: JsonObject },
  changes: Changes,
): void {
  checkFields(Object.entries(config), target, { ...CONFIG_FIELDS, within: name }, changes);
  const bound = spelled(config, "maxOutputTokens");
  const asked = body.generationConfig?.maxOutputTokens;
  const most = target.model.maxOutput;
  if (asked === undefined) {
    if (target.outputBound !== undefined) changes.set([name, bound], target.outputBound);
  } else if (most !== null && asked > most) {
    changes.set([name, bound], most);
    changes.warn({ field: `${name}.${bound}`, place: "maxOutputTokens", why: "most_output", most });
  }
}
