import type { GatewayError } from "../../core/errors.ts";
import { compileSchema, type SchemaFault } from "../../core/schema.ts";
import type { JsonObject } from "../../core/json-value.ts";
import { schemaRefusal } from "../meant-field.ts";
import type { RelayRequest, WireRequest } from "../protocol.ts";
import {
  invalid,
  readRequestJson,
  refuseTwiceWithin,
  type RequestJson,
  spanCharacters,
  writeRequestJson,
} from "../request-json.ts";
import { jsonLength, readDemand } from "./demand.ts";
import {
  type GenerateContentBody,
  GenerateContentRequestSchema,
  REQUEST_FIELDS,
  type Part,
  PART_DATA,
  PART_FIELDS,
} from "./schema.ts";
import { TOOLS } from "./tools.ts";
import { fieldName, readSpelling, spelledPath } from "./spelling.ts";

/** A generateContent request: its value in the reference's spelling, and its bytes with where its members stand. */
export interface GenerateContentRequest extends RelayRequest {
  readonly body: GenerateContentBody;
  readonly json: RequestJson;
}

/** Levels that are read: turns, parts, what a part holds; and the parts of a function's response within. */
const PART_LEVELS = 4;
const RESPONSE_LEVELS = 7;

const checker = compileSchema(GenerateContentRequestSchema);

/** Parses and checks the body once. Throws a `GatewayError` that names the field at fault as the client spelled it. */
export function readRequest(wire: WireRequest): GenerateContentRequest {
  const { address } = wire;
  if (address === undefined) throw new Error("The route did not say which model it is about.");
  return readChecked(readRequestJson(wire), address);
}

/** What the path says of a request. */
type Address = NonNullable<WireRequest["address"]>;

/** Checks a body that was written here, in the reference's spelling; see `ClientEnd`. */
export function readWritten(value: JsonObject, address: Address): GenerateContentRequest {
  const json = writeRequestJson(value);
  return checkedRequest(json, value, address, spanCharacters(json, "tools"));
}

/** Checks a body that was parsed. */
export function readChecked(json: RequestJson, address: Address): GenerateContentRequest {
  const value = readSpelling(json.value);
  return checkedRequest(json, value, address, jsonLength(value.tools));
}

/** `toolsLength`: characters of the tools as JSON without white space, in the reference's spelling. */
function checkedRequest(
  json: RequestJson,
  value: JsonObject,
  address: Address,
  toolsLength: number,
): GenerateContentRequest {
  if (!checker.accepts(value)) throw refused(checker.faultOf(value), json.value);
  if (json.repeatsKey) refuseTwice(json, value);
  checkTurns(value, json.value);
  checkTools(value, json.value);
  return {
    model: address.model,
    stream: address.stream,
    demand: readDemand(
      value,
      json.bytes.length,
      toolsLength +
        jsonLength(value.generationConfig?.responseSchema) +
        jsonLength((value.generationConfig as JsonObject | undefined)?.responseJsonSchema),
    ),
    body: value,
    json,
  };
}

function refused({ path, problem }: SchemaFault, original: JsonObject): GatewayError {
  return schemaRefusal({ path: spelledPath(path, original), problem }, original, REQUEST_FIELDS.meant);
}

function refuseTwice(json: RequestJson, body: GenerateContentBody): void {
  const deep = body.contents.some(({ parts = [] }) =>
    parts.some(({ functionResponse }) => functionResponse?.parts !== undefined),
  );
  for (const name of Object.keys(json.value)) {
    const field = fieldName(name);
    if (field === "contents") refuseTwiceWithin(json, name, deep ? RESPONSE_LEVELS : PART_LEVELS);
    if (field === "systemInstruction") refuseTwiceWithin(json, name, PART_LEVELS);
    if (field === "generationConfig") refuseTwiceWithin(json, name, 1);
    if (field === "tools") refuseTwiceWithin(json, name, 2);
  }
}

function checkTurns(body: GenerateContentBody, original: JsonObject): void {
  const turns = [
    ...(body.systemInstruction === undefined ? [] : [["systemInstruction", body.systemInstruction] as const]),
    ...body.contents.map((turn, i) => [`contents[${i}]`, turn] as const),
  ];
  for (const [path, turn] of turns) {
    turn.parts?.forEach((part, i) => checkPart(part, `${path}.parts[${i}]`, original));
  }
}

function checkPart(part: Part, path: string, original: JsonObject): void {
  const data = PART_DATA.filter((name) => part[name] !== undefined);
  const fail = (at: string, problem: string): never => {
    const spelled = spelledPath(at, original);
    throw invalid(`${spelled} ${problem}`, spelled);
  };
  if (data.length > 1) fail(path, `has ${data.join(" and ")}: a part has one of them.`);
  if (Object.keys(part).length === 0) fail(path, `must have one of ${PART_DATA.join(", ")}.`);
  checkFile(part.fileData?.fileUri, `${path}.fileData.fileUri`, fail);
  part.functionResponse?.parts?.forEach((inner, i) =>
    checkFile(inner.fileData?.fileUri, `${path}.functionResponse.parts[${i}].fileData.fileUri`, fail),
  );
}

/** Addresses go to the provider as they are; only schemes that it knows are let through. */
function checkFile(
  uri: string | undefined,
  path: string,
  fail: (path: string, problem: string) => never,
): void {
  if (uri === undefined || /^files\/[\w-]+$/.test(uri)) return;
  if (!/^(?:https|gs):\/\/[^\s\\]+$/i.test(uri) || !URL.canParse(uri))
    fail(path, "must be an https or gs address, or a file of the provider.");
}

/** The first part that has no field which is known to be its data, as a path. */
export function unknownPart(body: GenerateContentBody): string | undefined {
  for (const [i, { parts = [] }] of body.contents.entries()) {
    const at = parts.findIndex((part) => Object.keys(part).some((name) => !PART_FIELDS.has(name)));
    if (at === -1) continue;
    const name = Object.keys(parts[at] ?? {}).find((field) => !PART_FIELDS.has(field));
    return `contents[${i}].parts[${at}].${name}`;
  }
  return undefined;
}

function checkTools(body: GenerateContentBody, original: JsonObject): void {
  for (const [i, tool] of (body.tools ?? []).entries()) {
    for (const name of Object.keys(tool)) {
      if (Object.hasOwn(TOOLS, name)) continue;
      const path = spelledPath(`tools[${i}].${name}`, original).slice(0, 120);
      const why =
        name === "googleMaps"
          ? "is charged by the request, and no model here has a price for it"
          : "is no tool that is known here, so what it costs is not known either";
      throw invalid(`${path} ${why}: leave it out.`, path);
    }
  }
}
