import type { GatewayError } from "../../core/errors.ts";
import { compileSchema } from "../../core/schema.ts";
import type { JsonObject } from "../../core/json/json-value.ts";
import type { CarrierKey } from "../carrier.ts";
import { schemaRefusal } from "../meant-field.ts";
import type { RelayRequest, WireRequest } from "../protocol.ts";
import {
  invalid,
  readRequestJson,
  refuseTwiceWithin,
  type RequestJson,
  spanText,
  writeRequestJson,
} from "../request-json.ts";
import { jsonLength, readDemand } from "./demand.ts";
import {
  type GenerateContentBody,
  GenerateContentRequestSchema,
  REQUEST_FIELDS,
  type Part,
  PART_DATA,
} from "./schema.ts";
import { TOOLS } from "./tools.ts";
import { fieldName, readSpelling, spelledPath } from "./spelling.ts";

/** A generateContent request: its value in the reference's spelling, and its bytes with where its members stand. */
export interface GenerateContentRequest extends RelayRequest {
  readonly body: GenerateContentBody;
  readonly json: RequestJson;
}

/** Levels that are read: turns, parts, what a part holds; and the parts of a function's response within. */
const READ_LEVELS: ReadonlyMap<string, number> = new Map([
  ["contents", 4],
  ["systemInstruction", 4],
  ["generationConfig", 1],
  ["tools", 2],
]);
const RESPONSE_LEVELS = 7;

const checker = compileSchema(GenerateContentRequestSchema);

/** Parses and checks the body once. Throws a `GatewayError` that names the field at fault as the client spelled it. */
export function readRequest(wire: WireRequest): GenerateContentRequest {
  return readChecked(readRequestJson(wire), wire);
}

/** What the path says of a request. */
type Address = NonNullable<WireRequest["address"]>;

/** Checks a body that was written here, in the reference's spelling; see `ClientEnd`. */
export function readWritten(value: JsonObject, address: Address): GenerateContentRequest {
  return checkedRequest(writeRequestJson(value), value, address, undefined);
}

/** Checks a body that was parsed. */
export function readChecked(
  json: RequestJson,
  { address, carrier }: Pick<WireRequest, "address" | "carrier">,
): GenerateContentRequest {
  if (address === undefined) throw new Error("The route did not say which model it is about.");
  return checkedRequest(json, readSpelling(json.value), address, carrier);
}

/** `value` is the body in the reference's spelling: the same where it was written here. */
function checkedRequest(
  json: RequestJson,
  value: JsonObject,
  { model, stream }: Address,
  carrier: CarrierKey | undefined,
): GenerateContentRequest {
  const original = json.value;
  if (!checker.accepts(value)) {
    const { path, problem } = checker.faultOf(value);
    throw schemaRefusal({ path: spelledPath(path, original), problem }, original, REQUEST_FIELDS.meant);
  }
  if (json.repeatsKey) refuseTwice(json, value);
  checkTurns(value, original);
  checkTools(value, original);
  const { responseSchema, responseJsonSchema }: JsonObject = { ...value.generationConfig };
  const schemas = toolsLength(json, value) + jsonLength(responseSchema) + jsonLength(responseJsonSchema);
  return { model, stream, demand: readDemand(value, json, schemas), body: value, json, carrier };
}

/** Characters of the tools as JSON without white space, in the reference's spelling. */
function toolsLength(json: RequestJson, { tools }: JsonObject): number {
  const isSpelledSo = tools === json.value.tools && json.isCompact && !json.repeatsKey;
  const text = isSpelledSo ? (spanText(json, "tools") ?? "") : ESCAPE;
  // A character that is written as its number is longer in the text.
  return text.includes(ESCAPE) ? jsonLength(tools) : text.length;
}

const ESCAPE = "\\u";

/** The 400 for what stands at a path of the reference, which it names as the client spelled it. */
export function refusal(path: string, problem: string, original: JsonObject): GatewayError {
  const spelled = spelledPath(path, original).slice(0, 120);
  return invalid(`${spelled} ${problem}`, spelled);
}

function refuseTwice(json: RequestJson, body: GenerateContentBody): void {
  const deep = body.contents.some(({ parts = [] }) =>
    parts.some(({ functionResponse }) => functionResponse?.parts !== undefined),
  );
  for (const name of Object.keys(json.value)) {
    const field = fieldName(name);
    const levels = deep && field === "contents" ? RESPONSE_LEVELS : READ_LEVELS.get(field);
    if (levels !== undefined) refuseTwiceWithin(json, name, levels);
  }
}

function checkTurns({ systemInstruction, contents }: GenerateContentBody, original: JsonObject): void {
  const check = (turn: GenerateContentBody["systemInstruction"], path: string): void =>
    turn?.parts?.forEach((part, i) => checkPart(part, `${path}.parts[${i}]`, original));
  check(systemInstruction, "systemInstruction");
  contents.forEach((turn, i) => check(turn, `contents[${i}]`));
}

function checkPart(part: Part, path: string, original: JsonObject): void {
  const data = PART_DATA.filter((name) => part[name] !== undefined);
  if (data.length > 1) throw refusal(path, `has ${data.join(" and ")}: a part has one of them.`, original);
  if (Object.keys(part).length === 0)
    throw refusal(path, `must have one of ${PART_DATA.join(", ")}.`, original);
  checkFile(part, path, original);
  part.functionResponse?.parts?.forEach((inner, i) =>
    checkFile(inner, `${path}.functionResponse.parts[${i}]`, original),
  );
}

/** Addresses go to the provider as they are; only schemes that it knows are let through. */
function checkFile({ fileData }: Pick<Part, "fileData">, path: string, original: JsonObject): void {
  if (fileData === undefined || /^files\/[\w-]+$/.test(fileData.fileUri)) return;
  if (/^(?:https|gs):\/\/[^\s\\]+$/i.test(fileData.fileUri) && URL.canParse(fileData.fileUri)) return;
  const problem = "must be an https or gs address, or a file of the provider.";
  throw refusal(`${path}.fileData.fileUri`, problem, original);
}

function checkTools({ tools = [] }: GenerateContentBody, original: JsonObject): void {
  tools.forEach((tool, i) => {
    const name = Object.keys(tool).find((known) => !Object.hasOwn(TOOLS, known));
    if (name === undefined) return;
    const why =
      name === "googleMaps"
        ? "is charged by the request, and no model here has a price for it"
        : "is no tool that is known here, so what it costs is not known either";
    throw refusal(`tools[${i}].${name}`, `${why}: leave it out.`, original);
  });
}
