import { type Member, openScan, readMembersAt } from "../../core/json-scan.ts";
import { objectEdits } from "../../core/json-splice.ts";
import { isJsonObject } from "../../core/json-value.ts";
import type { RelayTarget, UpstreamBody } from "../protocol.ts";
import { indexMembers, invalid, type RequestJson } from "../request-json.ts";
import { addWithin, checkFields, type FieldTable, openRewrite, type Rewrite, rewritten } from "../rewrite.ts";
import { type GenerateContentRequest, unknownPart } from "./request.ts";
import { CONFIG_FIELDS, REQUEST_FIELDS } from "./schema.ts";
import { fieldName, spelledPath } from "./spelling.ts";

/**
 * The request as the target takes it: its own bytes, with the bound on output set or lowered inside
 * `generationConfig`, and fields taken out with a warning that the model ignores or nobody knows. Model and verb
 * stand in the path. Throws a 400 that names a field which the target cannot express.
 */
export function upstreamBody(request: GenerateContentRequest, target: RelayTarget): UpstreamBody {
  const rewrite = rewriteFields(request, target, REQUEST_FIELDS);
  return { body: rewritten(request.json, rewrite), warnings: rewrite.warnings };
}

/** The changes to a request whose fields are those of `fields`. */
export function rewriteFields(
  request: GenerateContentRequest,
  target: RelayTarget,
  fields: FieldTable,
): Rewrite {
  const rewrite = openRewrite();
  checkFields(request.json, target, fields, rewrite);
  if (target.unknownFields === "remove") refuseUnknownPart(request);
  const config = find(request.json, "generationConfig");
  if (config !== undefined && isJsonObject(request.json.value[config.name])) {
    changeConfig(request, target, config, rewrite);
  } else if (target.outputBound !== undefined) {
    const bound = `{"maxOutputTokens":${target.outputBound}}`;
    if (config === undefined) rewrite.append.push(`"generationConfig":${bound}`);
    else rewrite.replace.set(config.at, bound);
  }
  return rewrite;
}

interface Field {
  /** As the client spelled it. */
  readonly name: string;
  readonly at: Member;
}

function find(json: Pick<RequestJson, "byName">, field: string): Field | undefined {
  for (const [name, at] of json.byName) if (fieldName(name) === field) return { name, at };
  return undefined;
}

function refuseUnknownPart(request: GenerateContentRequest): void {
  const path = unknownPart(request.body);
  if (path === undefined) return;
  const spelled = spelledPath(path, request.json.value).slice(0, 120);
  throw invalid(`${spelled} is not a field of a part that is known here.`, spelled);
}

/** What changes inside `generationConfig`; its other members keep their bytes. */
function changeConfig(
  { json, body }: GenerateContentRequest,
  target: RelayTarget,
  { name, at }: Field,
  rewrite: Rewrite,
): void {
  const value = json.value[name];
  const members = readMembersAt(openScan(json.bytes, at.valueEnd), at.valueStart);
  if (members === undefined || !isJsonObject(value)) throw new Error("generationConfig was checked before.");
  const byName = indexMembers(json.bytes, members);
  const inner: Rewrite = { ...openRewrite(), warnings: rewrite.warnings };
  checkFields({ ...json, value, members, byName }, target, { ...CONFIG_FIELDS, within: name }, inner);
  const bound = find({ byName }, "maxOutputTokens");
  const asked = body.generationConfig?.maxOutputTokens;
  const most = target.model.maxOutput;
  if (asked !== undefined && bound !== undefined) {
    if (most !== null && asked > most) {
      inner.replace.set(bound.at, String(most));
      inner.warnings.push(
        `${name}.${bound.name} was lowered to ${most}: ${target.model.id} puts out no more`,
      );
    }
  } else if (target.outputBound !== undefined) {
    if (bound !== undefined) inner.replace.set(bound.at, String(target.outputBound));
    else inner.append.push(`"maxOutputTokens":${target.outputBound}`);
  }
  addWithin(rewrite, objectEdits(json.bytes, members, inner, at.valueStart));
}
