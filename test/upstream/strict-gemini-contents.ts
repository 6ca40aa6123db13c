import { leadsInside } from "./strict-media.ts";
import { type Fields, fieldOf, isFields, listOf, unknownName } from "./strict-gemini-fields.ts";

/** A rule about the turns: Google's sentence, or undefined when they keep it. */
type Rule = (body: Fields) => string | undefined;

const DATA =
  "text inlineData fileData functionCall functionResponse executableCode codeExecutionResult toolCall toolResponse".split(
    " ",
  );
const PART = [...DATA, "thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"];
const BASE64 = /^(?:[A-Za-z0-9+/_-]{4})*(?:[A-Za-z0-9+/_-]{2,3}={0,2})?$/;

/** The documented placeholder for a history of another model. */
const PLACEHOLDERS: ReadonlySet<unknown> = new Set([
  "skip_thought_signature_validator",
  "context_engineering_is_the_way_to_go",
]);

const turnsAreSound: Rule = (body) => {
  const contents = listOf(fieldOf(body, "contents"));
  if (contents.length === 0) return "* GenerateContentRequest.contents: contents is not specified\n";
  const system = fieldOf(body, "systemInstruction");
  if (system !== undefined && !isFields(system)) return "Invalid value at 'system_instruction'.";
  for (const [i, turn] of [...contents, ...listOf(system)].entries()) {
    const path = i < contents.length ? `contents[${i}]` : "system_instruction";
    const unknown = unknownName(turn, ["role", "parts"], path);
    if (unknown !== undefined) return unknown;
    const role = fieldOf(turn, "role");
    if (path !== "system_instruction" && !["user", "model", "function", undefined].includes(role as string))
      return "Please use a valid role: user, model.";
    // Recorded: a turn of the model that was cut off before its first word has no parts.
    if (partsOf(turn).length === 0 && (role !== "model" || i === contents.length - 1))
      return `* GenerateContentRequest.${path}.parts: contents.parts must not be empty.\n`;
    for (const [j, part] of partsOf(turn).entries()) {
      const wrong = checkPart(part, `${path}.parts[${j}]`);
      if (wrong !== undefined) return wrong;
    }
  }
  return undefined;
};

function checkPart(part: unknown, path: string): string | undefined {
  const unknown = unknownName(part, PART, path);
  if (unknown !== undefined) return unknown;
  const data = DATA.filter((name) => fieldOf(part, name) !== undefined);
  if (data.length !== 1) return `${path}.data: required oneof field 'data' must have one initialized field`;
  const call = fieldOf(part, "functionCall");
  const response = fieldOf(part, "functionResponse");
  const blob = fieldOf(part, "inlineData");
  const wrong =
    unknownName(call, ["id", "name", "args", "partialArgs", "willContinue"], `${path}.function_call`) ??
    unknownName(
      response,
      ["id", "name", "response", "parts", "scheduling", "willContinue"],
      `${path}.function_response`,
    ) ??
    unknownName(blob, ["mimeType", "data", "displayName"], `${path}.inline_data`) ??
    unknownName(fieldOf(part, "fileData"), ["mimeType", "fileUri", "displayName"], `${path}.file_data`);
  if (wrong !== undefined) return wrong;
  if (response !== undefined && !isFields(fieldOf(response, "response")))
    return `Invalid value at '${path}.function_response.response' (type.googleapis.com/google.protobuf.Struct).`;
  for (const bytes of [fieldOf(part, "thoughtSignature"), fieldOf(blob, "data")]) {
    if (bytes === undefined || PLACEHOLDERS.has(bytes)) continue;
    if (typeof bytes !== "string" || !BASE64.test(bytes))
      return `Invalid value at '${path}' (TYPE_BYTES), Base64 decoding failed.`;
  }
  if (leadsInside(fieldOf(fieldOf(part, "fileData"), "fileUri")))
    return "Cannot fetch content from the provided URL. Please ensure the URL is valid and accessible.";
  return undefined;
}

const partsOf = (turn: unknown): readonly unknown[] => listOf(fieldOf(turn, "parts"));
const callsOf = (turn: unknown): readonly unknown[] =>
  partsOf(turn).filter((part) => fieldOf(part, "functionCall") !== undefined);
const responsesOf = (turn: unknown): readonly unknown[] =>
  partsOf(turn).filter((part) => fieldOf(part, "functionResponse") !== undefined);

/** What one side says in one go. It may come in several turns, as chats of streams and LangChain keep it. */
interface Side {
  readonly isModel: boolean;
  /** Where its last turn stands. */
  readonly place: number;
  readonly turn: { readonly parts: readonly unknown[] };
}

function sidesOf(contents: readonly unknown[]): readonly Side[] {
  const sides: Side[] = [];
  for (const [place, turn] of contents.entries()) {
    const isModel = fieldOf(turn, "role") === "model";
    const before = sides.at(-1)?.isModel === isModel ? sides.pop() : undefined;
    sides.push({ isModel, place, turn: { parts: [...(before?.turn.parts ?? []), ...partsOf(turn)] } });
  }
  return sides;
}

const callsAreAnswered: Rule = (body) => {
  const sides = sidesOf(listOf(fieldOf(body, "contents")));
  for (const [i, { isModel, turn }] of sides.entries()) {
    const answered = responsesOf(turn).length;
    const asked = i === 0 ? 0 : callsOf(sides[i - 1]?.turn).length;
    if (answered > 0 && asked === 0)
      return "Please ensure that function response turn comes immediately after a function call turn.";
    if (answered !== asked)
      return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
    if (isModel && callsOf(turn).length > 0 && i === 0)
      return "Please ensure that function call turn comes immediately after a user turn or after a function response turn.";
  }
  return undefined;
};

/** In the current turn, since the last thing a person said, the first call of each step has its signature. */
const callsAreSigned: Rule = (body) => {
  const sides = sidesOf(listOf(fieldOf(body, "contents")));
  const begins = sides.findLastIndex(
    ({ isModel, turn }) => !isModel && responsesOf(turn).length < turn.parts.length,
  );
  for (const { isModel, place, turn } of sides.slice(begins + 1)) {
    const [first] = isModel ? callsOf(turn) : [];
    if (first === undefined || fieldOf(first, "thoughtSignature") !== undefined) continue;
    const name = String(fieldOf(fieldOf(first, "functionCall"), "name"));
    return `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${name}\` , position ${place + 1}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`;
  }
  return undefined;
};

/** The rules about turns, in the order they are applied. */
export const CONTENT_RULES: readonly Rule[] = [turnsAreSound, callsAreAnswered, callsAreSigned];
