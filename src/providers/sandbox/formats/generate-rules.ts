import { isJsonObject, type JsonObject, objectsIn } from "../../../core/json/json-value.ts";
import { PART_DATA, PART_FIELDS } from "../../../protocols/generate-content/schema.ts";
import { fieldName } from "../../../protocols/generate-content/spelling.ts";
import { type AskContext, refuse } from "./ask.ts";
import { canBeFollowed, isBase64 } from "./given-media.ts";
import { fieldNames, objectOf, textOf } from "../members.ts";

/** A request in the reference's spelling, and as it came. */
interface Given extends AskContext {
  readonly body: JsonObject;
  readonly received: JsonObject;
}

/**
 * Refuses what Google's servers refuse and the gateway lets up to them, in their order. Sources: recorded errors,
 * https://ai.google.dev/api/generate-content and https://ai.google.dev/gemini-api/docs/thought-signatures.
 */
export function checkGenerate({ body, received: { tools }, seal, model }: Given): void {
  // The interface wants a list, though Google's servers make one of a tool that stands by itself.
  if (tools !== undefined && tools !== null && !Array.isArray(tools))
    refuse("Invalid value at 'tools': it must be a list.");
  const contents = objectsIn(body.contents);
  // Recorded: the model's turn may be empty where it was cut off before its first word.
  for (const [i, turn] of contents.entries())
    if (partsOf(turn).length === 0 && (turn.role !== "model" || i === contents.length - 1))
      refuse(`* GenerateContentRequest.contents[${i}].parts: contents.parts must not be empty.`);
  checkParts(objectOf(body.systemInstruction), "system_instruction");
  for (const [i, turn] of contents.entries()) checkParts(turn, `contents[${i}]`);
  const { thinkingConfig, responseSchema } = objectOf(body.generationConfig);
  checkNames(thinkingConfig, "thinking", "generation_config.thinking_config");
  const { thinkingBudget, thinkingLevel } = objectOf(thinkingConfig);
  if (thinkingBudget !== undefined && thinkingLevel !== undefined)
    refuse("You can only set only one of thinking budget and thinking level.");
  checkSchema(responseSchema, "generation_config.response_schema", 0);
  checkTools(body);
  const sides = sidesOf(contents);
  checkCalls(sides);
  for (const signature of contents.flatMap(partsOf).map(signatureOf))
    if (signature !== "" && !seal.isToken(signature)) refuse("Corrupted thought signature.");
  checkSigned(sides);
  const own = sides.filter(({ isModel }) => isModel).flatMap(({ parts }) => parts);
  if (
    model.outputModalities.includes("image") &&
    own.some((part) => part.inlineData !== undefined && signatureOf(part) === "")
  )
    refuse("Image part is missing a thought_signature.");
}

/** Names that objects of the request may have; of a schema those of OpenAPI that Google takes. */
const NAMES = {
  part: PART_FIELDS,
  functionCall: fieldNames("id name args partialArgs willContinue"),
  functionResponse: fieldNames("id name response parts scheduling willContinue"),
  inlineData: fieldNames("mimeType data displayName"),
  fileData: fieldNames("mimeType fileUri displayName"),
  thinking: fieldNames("includeThoughts thinkingBudget thinkingLevel"),
  declaration: fieldNames(
    "name description behavior parameters parametersJsonSchema response responseJsonSchema",
  ),
  schema: fieldNames(`type format title description nullable enum items minItems maxItems properties required
    propertyOrdering minProperties maxProperties minLength maxLength pattern minimum maximum anyOf default example`),
} as const;

/** Google's sentence about other names. */
function checkNames(value: unknown, kind: keyof typeof NAMES, path: string): void {
  for (const name of Object.keys(objectOf(value)))
    if (!NAMES[kind].has(fieldName(name)))
      refuse(
        `Invalid JSON payload received. Unknown name "${name.slice(0, 60)}" at '${path}': Cannot find field.`,
      );
}

function checkParts(turn: JsonObject, place: string): void {
  for (const [i, part] of partsOf(turn).entries()) {
    const path = `${place}.parts[${i}]`;
    const { functionCall, functionResponse } = part;
    if (!PART_DATA.some((name) => part[name] !== undefined))
      refuse(`${path}.data: required oneof field 'data' must have one initialized field`);
    if (signatureOf(part) !== "" && !isBase64(signatureOf(part)))
      refuse(`Invalid value at '${path}.thought_signature' (TYPE_BYTES), Base64 decoding failed.`);
    checkNames(part, "part", path);
    checkNames(functionCall, "functionCall", `${path}.function_call`);
    checkNames(functionResponse, "functionResponse", `${path}.function_response`);
    checkFile(part, path);
    if (functionResponse === undefined) continue;
    const { response, parts } = objectOf(functionResponse);
    if (!isJsonObject(response))
      refuse(
        `Invalid value at '${path}.function_response.response' (type.googleapis.com/google.protobuf.Struct).`,
      );
    for (const [j, inner] of objectsIn(parts).entries())
      checkFile(inner, `${path}.function_response.parts[${j}]`);
  }
}

/** What is wrong with the file that a part holds or names, if it does. */
function checkFile({ inlineData, fileData }: JsonObject, path: string): void {
  const { data } = objectOf(inlineData);
  if (data !== undefined && !isBase64(textOf(data)))
    refuse(`Invalid value at '${path}.inline_data.data' (TYPE_BYTES), Base64 decoding failed.`);
  if (!canBeFollowed(textOf(objectOf(fileData).fileUri)))
    refuse("Cannot fetch content from the provided URL. Please ensure the URL is valid and accessible.");
  checkNames(inlineData, "inlineData", `${path}.inline_data`);
  checkNames(fileData, "fileData", `${path}.file_data`);
}

function checkTools({ tools }: JsonObject): void {
  for (const [i, { functionDeclarations }] of objectsIn(tools).entries())
    for (const [j, declared] of objectsIn(functionDeclarations).entries()) {
      const path = `tools[${i}].function_declarations[${j}]`;
      const { name, parameters, parametersJsonSchema } = declared;
      if (!/^[a-zA-Z_][\w.:-]{0,127}$/.test(textOf(name)))
        refuse(`Invalid function name at '${path}'. Must start with a letter or an underscore.`);
      if (parameters !== undefined && parametersJsonSchema !== undefined)
        refuse(`${path}: parameters and parameters_json_schema are mutually exclusive.`);
      checkNames(declared, "declaration", path);
      checkSchema(parameters, `${path}.parameters`, 0);
    }
}

function checkSchema(schema: unknown, path: string, depth: number): void {
  if (!isJsonObject(schema) || depth > 64) return;
  checkNames(schema, "schema", path);
  const { properties, items, anyOf, any_of: snake } = schema;
  const options = objectsIn(anyOf ?? snake).map((option, i) => [`any_of[${i}]`, option] as const);
  const inner = [...Object.entries(objectOf(properties)), ["items", items] as const, ...options];
  for (const [name, value] of inner) checkSchema(value, `${path}.${name}`.slice(0, 200), depth + 1);
}

/** What one side says in one go, which may come in several turns: of streams chats keep each chunk as one. */
interface Side {
  readonly isModel: boolean;
  /** Where its first turn stands. */
  readonly at: number;
  readonly parts: JsonObject[];
}

function sidesOf(contents: readonly JsonObject[]): readonly Side[] {
  const sides: Side[] = [];
  for (const [at, turn] of contents.entries()) {
    const isModel = turn.role === "model";
    const last = sides.at(-1);
    if (last?.isModel === isModel) last.parts.push(...partsOf(turn));
    else sides.push({ isModel, at, parts: [...partsOf(turn)] });
  }
  return sides;
}

const hasCall = ({ functionCall }: JsonObject): boolean => functionCall !== undefined;
const hasResponse = ({ functionResponse }: JsonObject): boolean => functionResponse !== undefined;

function checkCalls(sides: readonly Side[]): void {
  if (sides[0]?.isModel === true && sides[0].parts.some(hasCall))
    refuse(
      "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
    );
  for (const [i, { isModel, parts }] of sides.entries()) {
    if (isModel) continue;
    const answered = parts.filter(hasResponse).length;
    const asked = sides[i - 1]?.parts.filter(hasCall).length ?? 0;
    if (answered > 0 && asked === 0)
      refuse("Please ensure that function response turn comes immediately after a function call turn.");
    if (answered !== asked)
      refuse(
        "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
      );
  }
}

/** In the current turn, since the last that a person said, the first call of each step is signed. */
function checkSigned(sides: readonly Side[]): void {
  const current = sides.findLastIndex(
    ({ isModel, parts }) => !isModel && parts.some((part) => !hasResponse(part)),
  );
  for (const { isModel, at, parts } of sides.slice(current + 1)) {
    const call = isModel ? parts.find(hasCall) : undefined;
    if (call === undefined || signatureOf(call) !== "") continue;
    const name = textOf(objectOf(call.functionCall).name).slice(0, 128);
    refuse(
      `Function call \`${name}\` in the \`${at + 1}.\` content block is missing a \`thought_signature\`.`,
    );
  }
}

/** The signature of a part. Bytes of which there are none count as left out in Protocol Buffers. */
function signatureOf({ thoughtSignature }: JsonObject): string {
  return textOf(thoughtSignature);
}

/** The parts of a turn, if it has any. */
export function partsOf(turn: JsonObject | undefined): readonly JsonObject[] {
  return objectsIn(turn?.parts);
}
