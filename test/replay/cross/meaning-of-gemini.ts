import type { Json } from "../wire-json.ts";
import {
  addTurn,
  callNumbers,
  type Item,
  type Meaning,
  type MeantThinking,
  noMeaning,
  onlyKnown,
} from "./meaning.ts";

const CONFIG =
  `maxOutputTokens temperature topP topK presencePenalty frequencyPenalty seed stopSequences candidateCount
responseLogprobs logprobs thinkingConfig responseMimeType responseJsonSchema responseSchema responseModalities`.replaceAll(
    "\n",
    " ",
  );

/** What a generateContent request means: https://ai.google.dev/api/generate-content. */
export function meaningOfGemini(body: Json): Meaning {
  onlyKnown(body, "contents systemInstruction tools toolConfig generationConfig", "generateContent");
  const { generationConfig: config = {}, toolConfig: tooling = {}, tools = [] } = body;
  onlyKnown(config, CONFIG, "generationConfig");
  const meaning = noMeaning();
  const calls = callNumbers();
  meaning.system = (body.systemInstruction?.parts ?? []).map((part: Json) => itemOf(part, calls));
  for (const { role, parts = [] } of body.contents)
    addTurn(
      meaning,
      role === "model" ? "assistant" : "user",
      parts.flatMap((part: Json) =>
        [part].concat(part.functionResponse?.parts ?? []).map((one: Json) => itemOf(one, calls)),
      ),
    );
  meaning.tools = tools.flatMap(({ functionDeclarations }: Json) => functionDeclarations.map(toolOf));
  return {
    ...meaning,
    choice: choiceOf(tooling.functionCallingConfig),
    most: config.maxOutputTokens,
    temperature: config.temperature,
    topP: config.topP,
    presence: config.presencePenalty,
    frequency: config.frequencyPenalty,
    seed: config.seed,
    stop: config.stopSequences ?? [],
    answers: config.candidateCount ?? 1,
    logprobs: config.responseLogprobs === true ? (config.logprobs ?? 0) : undefined,
    thinking: thinkingOf(config.thinkingConfig),
    form: formOf(config),
  };
}

function toolOf(declaration: Json): Meaning["tools"][number] {
  onlyKnown(declaration, "name description parameters parametersJsonSchema", "functionDeclarations");
  const { name, description, parameters, parametersJsonSchema } = declaration;
  return { name, description, schema: parametersJsonSchema ?? lowered(parameters), strict: false };
}

/** The vendor's own schemas have types in capital letters. */
function lowered(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(lowered);
  if (typeof schema !== "object" || schema === null) return schema;
  const entries = Object.entries(schema).map(([name, value]: [string, Json]) => [
    name,
    name === "type" && typeof value === "string" ? value.toLowerCase() : lowered(value),
  ]);
  return Object.fromEntries(entries);
}

function choiceOf(config: Json): Json {
  if (config === undefined) return undefined;
  const { mode, allowedFunctionNames: names } = config;
  if (mode === "ANY") return names === undefined ? "required" : { tool: names.join() };
  return mode.toLowerCase();
}

function thinkingOf(config: Json): MeantThinking | undefined {
  if (config === undefined) return undefined;
  onlyKnown(config, "thinkingBudget thinkingLevel includeThoughts", "thinkingConfig");
  const { thinkingBudget: budget, thinkingLevel: level, includeThoughts: shown } = config;
  return {
    on: budget !== 0,
    ...(level === undefined ? {} : { effort: level.toLowerCase() }),
    ...(budget === undefined ? {} : { budget }),
    shown: shown === true,
  };
}

function formOf({ responseMimeType: mime, responseJsonSchema, responseSchema }: Json): Json {
  const schema = responseJsonSchema ?? (responseSchema === undefined ? undefined : lowered(responseSchema));
  if (schema !== undefined) return { schema };
  return mime === "application/json" ? "json" : undefined;
}

function itemOf(part: Json, calls: ReturnType<typeof callNumbers>): Item {
  onlyKnown(part, "text thought thoughtSignature functionCall functionResponse inlineData fileData", "part");
  const { functionCall: call, functionResponse: response, inlineData, fileData, thoughtSignature } = part;
  const signed = thoughtSignature === undefined ? {} : { signature: thoughtSignature };
  if (call !== undefined)
    return {
      is: "call",
      number: calls.call(call.id, call.name),
      name: call.name,
      args: call.args ?? {},
      ...signed,
    };
  if (response !== undefined) {
    const { output, ...rest } = response.response;
    const value = output === undefined || Object.keys(rest).length > 0 ? response.response : output;
    return { is: "result", of: calls.result(response.id, response.name), value };
  }
  if (inlineData !== undefined)
    return { is: kindOf(inlineData.mimeType), mime: inlineData.mimeType, data: inlineData.data, ...signed };
  if (fileData !== undefined)
    return { is: kindOf(fileData.mimeType), mime: fileData.mimeType, url: fileData.fileUri };
  return { is: part.thought === true ? "thinking" : "text", text: part.text, ...signed };
}

function kindOf(mime: string): string {
  const kind = mime.split("/", 1)[0] as string;
  return kind === "image" || kind === "audio" || kind === "video" ? kind : "document";
}
