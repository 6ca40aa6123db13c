import type { Answer } from "./answer.ts";
import { jsonAnswer } from "./answer.ts";
import { duplicateKey } from "./json-keys.ts";
import type { SeenRequest } from "./seen-request.ts";
import type { StrictCheck } from "./strict.ts";
import { CONTENT_RULES } from "./strict-gemini-contents.ts";
import { type Fields, fieldOf, isFields, listOf, type Refused, unknownName } from "./strict-gemini-fields.ts";

/** What a strict Gemini knows. */
export interface StrictGemini {
  /** The accepted API keys; any non-empty one when not given. */
  readonly keys?: readonly string[];
  /** The known models; any when not given. */
  readonly models?: readonly string[];
}

/**
 * A check of generateContent requests, and of those to count, as strict as Google's Gemini 3 models, for handlers to apply before they
 * answer. Sources: recorded errors, https://ai.google.dev/api/generate-content and
 * https://ai.google.dev/gemini-api/docs/thought-signatures; wording that was not recorded is our own.
 */
export function strictGenerateContent(profile: StrictGemini = {}): StrictCheck {
  return (request) => {
    const refused = checkKey(request, profile) ?? checkTarget(request, profile) ?? checkBody(request);
    return refused === undefined ? undefined : refusalAnswer(refused);
  };
}

function refusalAnswer({ status, word, message, details }: Refused): Answer {
  return jsonAnswer(status, {
    error: { code: status, message, status: word, ...(details === undefined ? {} : { details }) },
  });
}

function checkKey(request: SeenRequest, { keys }: StrictGemini): Refused | undefined {
  const key = request.header("x-goog-api-key");
  if (key === undefined || key === "") {
    const message =
      "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.";
    return { status: 403, word: "PERMISSION_DENIED", message };
  }
  if (keys === undefined || keys.includes(key)) return undefined;
  return {
    status: 400,
    word: "INVALID_ARGUMENT",
    message: "API key not valid. Please pass a valid API key.",
    details: [
      {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        reason: "API_KEY_INVALID",
        domain: "googleapis.com",
      },
    ],
  };
}

const TARGET = /^\/v1beta\/models\/([^:/?]+):(generateContent|countTokens|streamGenerateContent\?alt=sse)$/;

function checkTarget(request: SeenRequest, { models }: StrictGemini): Refused | undefined {
  const model = TARGET.exec(request.target)?.[1];
  if (model !== undefined && (models === undefined || models.includes(model))) return undefined;
  const message = `models/${model} is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.`;
  return { status: 404, word: "NOT_FOUND", message };
}

function checkBody(request: SeenRequest): Refused | undefined {
  if (request.header("content-type")?.startsWith("application/json") !== true)
    return invalid("The content type must be application/json.");
  let body: unknown;
  try {
    body = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(request.body));
  } catch {
    return invalid("Invalid JSON payload received. Expected a value.");
  }
  if (!isFields(body)) return invalid("Invalid JSON payload received. Root element must be a message.");
  const twice = duplicateKey(request.bodyText);
  if (twice !== undefined) return invalid(`Invalid JSON payload received. '${twice}' stands twice.`);
  if (TARGET.exec(request.target)?.[2] === "countTokens") return checkCount(request, body);
  return checkRequest(body);
}

/** `contents` alone, or a whole request that names the model of the path; https://ai.google.dev/api/tokens */
function checkCount(request: SeenRequest, body: Fields): Refused | undefined {
  const unknown = unknownName(body, ["contents", "generateContentRequest"], "");
  if (unknown !== undefined) return invalid(unknown);
  const whole = fieldOf(body, "generateContentRequest");
  if (whole === undefined) return checkRequest(body);
  if (fieldOf(body, "contents") !== undefined || !isFields(whole))
    return invalid("Exactly one of contents and generate_content_request must be set.");
  const named = `models/${TARGET.exec(request.target)?.[1]}`;
  if (whole["model"] !== named) return invalid(`The model in the request must be ${named}.`);
  return checkRequest(whole);
}

function checkRequest(body: Fields): Refused | undefined {
  for (const rule of [namesAreKnown, configIsInRange, toolsAreSound, ...CONTENT_RULES]) {
    const message = rule(body);
    if (message !== undefined) return invalid(message);
  }
  return undefined;
}

function invalid(message: string): Refused {
  return { status: 400, word: "INVALID_ARGUMENT", message };
}

const REQUEST =
  `contents systemInstruction generationConfig tools toolConfig safetySettings cachedContent labels
  serviceTier store model`.split(/\s+/);
const CONFIG =
  `temperature topP topK candidateCount maxOutputTokens stopSequences presencePenalty frequencyPenalty
  seed responseMimeType responseSchema responseJsonSchema responseModalities responseLogprobs logprobs imageConfig
  speechConfig mediaResolution thinkingConfig enableEnhancedCivicAnswers`.split(/\s+/);
const THINKING = ["includeThoughts", "thinkingBudget", "thinkingLevel"];
const TOOL =
  "functionDeclarations googleSearch googleSearchRetrieval codeExecution urlContext computerUse fileSearch googleMaps".split(
    " ",
  );
const DECLARATION =
  "name description behavior parameters parametersJsonSchema response responseJsonSchema".split(" ");
/** The subset of OpenAPI that `parameters` and `responseSchema` take. */
const SCHEMA = `type format title description nullable enum items minItems maxItems properties required
  propertyOrdering minProperties maxProperties minLength maxLength pattern minimum maximum anyOf default
  example`.split(/\s+/);

function namesAreKnown(body: Fields): string | undefined {
  const config = fieldOf(body, "generationConfig");
  const thinking = fieldOf(config, "thinkingConfig");
  return (
    unknownName(body, REQUEST, "") ??
    unknownName(config, CONFIG, "generation_config") ??
    unknownName(thinking, THINKING, "generation_config.thinking_config") ??
    unknownSchema(fieldOf(config, "responseSchema"), "generation_config.response_schema")
  );
}

function unknownSchema(schema: unknown, path: string): string | undefined {
  if (!isFields(schema)) return undefined;
  const unknown = unknownName(schema, SCHEMA, path);
  if (unknown !== undefined) return unknown;
  const properties = schema["properties"];
  const inner = [
    ...(isFields(properties) ? Object.entries(properties) : []),
    ["items", schema["items"]] as const,
    ...listOf(schema["anyOf"]).map((item, i) => [`any_of[${i}]`, item] as const),
  ];
  for (const [name, value] of inner) {
    const found = unknownSchema(value, `${path}.${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function configIsInRange(body: Fields): string | undefined {
  const config = fieldOf(body, "generationConfig");
  if (config !== undefined && !isFields(config)) return "Invalid value at 'generation_config'.";
  const number = (name: string): number | undefined => {
    const value = fieldOf(config, name);
    return typeof value === "number" ? value : undefined;
  };
  const outside = (name: string, least: number, most: number): boolean => {
    const value = number(name);
    return value !== undefined && (value < least || value > most);
  };
  const ranges = [
    ["temperature", 0, 2],
    ["topP", 0, 1],
    ["maxOutputTokens", 1, 65_536],
    ["candidateCount", 1, 8],
  ] as const;
  for (const [name, least, most] of ranges) {
    if (outside(name, least, most))
      return `Unable to submit request because it has a ${name} value of ${number(name)} but the supported range is from ${least} to ${most}.`;
  }
  if (listOf(fieldOf(config, "stopSequences")).length > 5)
    return "Only up to 5 stop sequences are supported.";
  const thinking = fieldOf(config, "thinkingConfig");
  if (fieldOf(thinking, "thinkingBudget") !== undefined && fieldOf(thinking, "thinkingLevel") !== undefined)
    return "You can only set only one of thinking budget and thinking level.";
  return undefined;
}

function toolsAreSound(body: Fields): string | undefined {
  for (const [i, tool] of listOf(fieldOf(body, "tools")).entries()) {
    const unknown = unknownName(tool, TOOL, `tools[${i}]`);
    if (unknown !== undefined) return unknown;
    for (const [j, declared] of listOf(fieldOf(tool, "functionDeclarations")).entries()) {
      const path = `tools[${i}].function_declarations[${j}]`;
      const wrong = checkDeclaration(declared, path);
      if (wrong !== undefined) return wrong;
    }
  }
  return undefined;
}

function checkDeclaration(declared: unknown, path: string): string | undefined {
  const unknown = unknownName(declared, DECLARATION, path);
  if (unknown !== undefined) return unknown;
  if (!/^[a-zA-Z_][\w.:-]{0,127}$/.test(String(fieldOf(declared, "name"))))
    return `Invalid function name at '${path}'.`;
  const parameters = fieldOf(declared, "parameters");
  if (parameters !== undefined && fieldOf(declared, "parametersJsonSchema") !== undefined)
    return `${path}: parameters and parameters_json_schema are mutually exclusive.`;
  return unknownSchema(parameters, `${path}.parameters`);
}
