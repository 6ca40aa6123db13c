import { isJsonObject, type JsonObject } from "../../core/json-value.ts";
import { PART_DATA, PART_FIELDS } from "../../protocols/generate-content/schema.ts";
import { fieldName } from "../../protocols/generate-content/spelling.ts";
import { Refusal } from "./ask.ts";
import type { AskContext } from "./format.ts";
import { canBeFollowed, isBase64 } from "./given-media.ts";
import { objectOf, objectsOf, textOf } from "./members.ts";

/** What a rule looks at: the request in the reference's spelling, and as it came. */
interface Given extends AskContext {
  readonly body: JsonObject;
  readonly received: JsonObject;
}

/** A rule of Google's servers: what is wrong, in their words, or undefined. */
type Rule = (given: Given) => string | undefined;

/**
 * Refuses what Google's servers refuse and the gateway lets up to them. Sources: recorded errors,
 * https://ai.google.dev/api/generate-content and https://ai.google.dev/gemini-api/docs/thought-signatures.
 */
export function checkGenerate(given: Given): void {
  for (const rule of RULES) {
    const wrong = rule(given);
    if (wrong !== undefined) throw new Refusal(400, "invalid", wrong);
  }
}

/** Google's sentence about the first name that is none of `known`. */
function unknownName(value: unknown, known: ReadonlySet<string>, path: string): string | undefined {
  if (!isJsonObject(value)) return undefined;
  const unknown = Object.keys(value).find((name) => !known.has(fieldName(name)));
  if (unknown === undefined) return undefined;
  return `Invalid JSON payload received. Unknown name "${unknown.slice(0, 60)}" at '${path}': Cannot find field.`;
}

const names = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

/** The interface wants a list, though Google's servers make one of a tool that stands by itself. */
const toolsAreListed: Rule = ({ received: { tools } }) =>
  tools === undefined || tools === null || Array.isArray(tools)
    ? undefined
    : "Invalid value at 'tools': it must be a list.";

const turnsHaveParts: Rule = ({ body }) => {
  const contents = objectsOf(body.contents);
  // Recorded: the model's turn may be empty where it was cut off before its first word.
  const empty = contents.findIndex(
    (turn, i) => partsOf(turn).length === 0 && (turn.role !== "model" || i === contents.length - 1),
  );
  return empty === -1
    ? undefined
    : `* GenerateContentRequest.contents[${empty}].parts: contents.parts must not be empty.`;
};

const FUNCTION_CALL = names("id name args partialArgs willContinue");
const FUNCTION_RESPONSE = names("id name response parts scheduling willContinue");
const INLINE_DATA = names("mimeType data displayName");
const FILE_DATA = names("mimeType fileUri displayName");

const partsAreSound: Rule = ({ body }) => {
  const turns = objectsOf(body.contents).map((turn, i) => [`contents[${i}]`, turn] as const);
  for (const [path, turn] of [["system_instruction", objectOf(body.systemInstruction)] as const, ...turns])
    for (const [i, part] of partsOf(turn).entries()) {
      const wrong = faultOfPart(part, `${path}.parts[${i}]`);
      if (wrong !== undefined) return wrong;
    }
  return undefined;
};

function faultOfPart(part: JsonObject, path: string): string | undefined {
  const { functionCall: call, functionResponse: response } = part;
  if (!PART_DATA.some((name) => part[name] !== undefined))
    return `${path}.data: required oneof field 'data' must have one initialized field`;
  const signature = signatureOf(part);
  if (signature !== undefined && !isBase64(signature))
    return `Invalid value at '${path}.thought_signature' (TYPE_BYTES), Base64 decoding failed.`;
  const wrong =
    unknownName(part, PART_FIELDS, path) ??
    unknownName(call, FUNCTION_CALL, `${path}.function_call`) ??
    unknownName(response, FUNCTION_RESPONSE, `${path}.function_response`) ??
    faultOfFile(part, path);
  if (wrong !== undefined || response === undefined) return wrong;
  if (!isJsonObject(objectOf(response).response))
    return `Invalid value at '${path}.function_response.response' (type.googleapis.com/google.protobuf.Struct).`;
  return objectsOf(objectOf(response).parts)
    .map((inner, i) => faultOfFile(inner, `${path}.function_response.parts[${i}]`))
    .find((fault) => fault !== undefined);
}

/** What is wrong with the file that a part holds or names, if it does. */
function faultOfFile({ inlineData, fileData }: JsonObject, path: string): string | undefined {
  const { data } = objectOf(inlineData);
  if (data !== undefined && !isBase64(textOf(data)))
    return `Invalid value at '${path}.inline_data.data' (TYPE_BYTES), Base64 decoding failed.`;
  if (!canBeFollowed(textOf(objectOf(fileData).fileUri)))
    return "Cannot fetch content from the provided URL. Please ensure the URL is valid and accessible.";
  return (
    unknownName(inlineData, INLINE_DATA, `${path}.inline_data`) ??
    unknownName(fileData, FILE_DATA, `${path}.file_data`)
  );
}

const THINKING = names("includeThoughts thinkingBudget thinkingLevel");

const thinkingIsSaidOnce: Rule = ({ body }) => {
  const { thinkingConfig } = objectOf(body.generationConfig);
  const unknown = unknownName(thinkingConfig, THINKING, "generation_config.thinking_config");
  if (unknown !== undefined) return unknown;
  const { thinkingBudget, thinkingLevel } = objectOf(thinkingConfig);
  return thinkingBudget !== undefined && thinkingLevel !== undefined
    ? "You can only set only one of thinking budget and thinking level."
    : undefined;
};

const DECLARATION = names(
  "name description behavior parameters parametersJsonSchema response responseJsonSchema",
);
/** The subset of OpenAPI that `parameters` and `responseSchema` are written in. */
const SCHEMA = names(`type format title description nullable enum items minItems maxItems properties required
  propertyOrdering minProperties maxProperties minLength maxLength pattern minimum maximum anyOf default example`);

const schemasAreOpenApi: Rule = ({ body }) => {
  const { responseSchema } = objectOf(body.generationConfig);
  const wrong = unknownInSchema(responseSchema, "generation_config.response_schema", 0);
  if (wrong !== undefined) return wrong;
  for (const [i, { functionDeclarations }] of objectsOf(body.tools).entries())
    for (const [j, declared] of objectsOf(functionDeclarations).entries()) {
      const fault = faultOfFunction(declared, `tools[${i}].function_declarations[${j}]`);
      if (fault !== undefined) return fault;
    }
  return undefined;
};

function faultOfFunction(declared: JsonObject, path: string): string | undefined {
  const { name, parameters, parametersJsonSchema } = declared;
  if (!/^[a-zA-Z_][\w.:-]{0,127}$/.test(textOf(name)))
    return `Invalid function name at '${path}'. Must start with a letter or an underscore.`;
  if (parameters !== undefined && parametersJsonSchema !== undefined)
    return `${path}: parameters and parameters_json_schema are mutually exclusive.`;
  return unknownName(declared, DECLARATION, path) ?? unknownInSchema(parameters, `${path}.parameters`, 0);
}

function unknownInSchema(schema: unknown, path: string, depth: number): string | undefined {
  if (!isJsonObject(schema) || depth > 64) return undefined;
  const unknown = unknownName(schema, SCHEMA, path);
  if (unknown !== undefined) return unknown;
  const { properties, items, anyOf, any_of: snake } = schema;
  const within = [
    ...Object.entries(objectOf(properties)),
    ["items", items] as const,
    ...objectsOf(anyOf ?? snake).map((option, i) => [`any_of[${i}]`, option] as const),
  ];
  for (const [name, inner] of within) {
    const wrong = unknownInSchema(inner, `${path}.${name}`.slice(0, 200), depth + 1);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

/** What one side says in one go, which may come in several turns: of streams chats keep each chunk as one. */
interface Side {
  readonly isModel: boolean;
  /** Where its first turn stands. */
  readonly at: number;
  readonly parts: readonly JsonObject[];
}

function sidesOf(contents: readonly JsonObject[]): readonly Side[] {
  const sides: { isModel: boolean; at: number; parts: JsonObject[] }[] = [];
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

const callsAreAnswered: Rule = ({ body }) => {
  const sides = sidesOf(objectsOf(body.contents));
  for (const [i, { isModel, parts }] of sides.entries()) {
    if (isModel) {
      if (parts.some(hasCall) && i === 0)
        return "Please ensure that function call turn comes immediately after a user turn or after a function response turn.";
      continue;
    }
    const answered = parts.filter(hasResponse).length;
    const asked = sides[i - 1]?.parts.filter(hasCall).length ?? 0;
    if (answered > 0 && asked === 0)
      return "Please ensure that function response turn comes immediately after a function call turn.";
    if (answered !== asked)
      return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
  }
  return undefined;
};

const signaturesAreOurs: Rule = ({ body, seal }) => {
  const foreign = objectsOf(body.contents)
    .flatMap(partsOf)
    .map(signatureOf)
    .some((signature) => signature !== undefined && !seal.isToken(signature));
  return foreign ? "Corrupted thought signature." : undefined;
};

/** In the current turn, since the last that a person said, the first call of each step is signed. */
const callsAreSigned: Rule = ({ body }) => {
  const sides = sidesOf(objectsOf(body.contents));
  const current = sides.findLastIndex(
    ({ isModel, parts }) => !isModel && parts.some((part) => !hasResponse(part)),
  );
  for (const { isModel, at, parts } of sides.slice(current + 1)) {
    const call = isModel ? parts.find(hasCall) : undefined;
    if (call === undefined || signatureOf(call) !== undefined) continue;
    const name = textOf(objectOf(call.functionCall).name).slice(0, 128);
    return `Function call \`${name}\` in the \`${at + 1}.\` content block is missing a \`thought_signature\`.`;
  }
  return undefined;
};

const imagesAreSigned: Rule = ({ body, model }) => {
  const unsigned = objectsOf(body.contents)
    .filter(({ role }) => role === "model")
    .flatMap(partsOf)
    .some((part) => part.inlineData !== undefined && signatureOf(part) === undefined);
  return unsigned && model.outputModalities.includes("image")
    ? "Image part is missing a thought_signature."
    : undefined;
};

/** The signature of a part. Bytes of which there are none count as left out in Protocol Buffers. */
function signatureOf({ thoughtSignature }: JsonObject): string | undefined {
  return typeof thoughtSignature === "string" && thoughtSignature !== "" ? thoughtSignature : undefined;
}

function partsOf(turn: JsonObject): readonly JsonObject[] {
  return objectsOf(turn.parts);
}

const RULES: readonly Rule[] = [
  toolsAreListed,
  turnsHaveParts,
  partsAreSound,
  thinkingIsSaidOnce,
  schemasAreOpenApi,
  callsAreAnswered,
  signaturesAreOurs,
  callsAreSigned,
  imagesAreSigned,
];
