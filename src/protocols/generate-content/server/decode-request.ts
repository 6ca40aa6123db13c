import type { ChatRequest, ResponseFormat, ThinkingWish } from "../../../core/chat.ts";
import { filled, filledText, isJsonObject, type JsonObject, present } from "../../../core/json/json-value.ts";
import { EFFORTS } from "../../../core/model.ts";
import { unknownField } from "../../meant-field.ts";
import type { DecodedRequest } from "../../translate.ts";
import { createWarnings, MOST_WARNINGS, type Warn } from "../../warnings.ts";
import { type GenerateContentRequest, refusal } from "../request.ts";
import { CONFIG_FIELDS, REQUEST_FIELDS } from "../schema.ts";
import { spelledPath } from "../spelling.ts";
import { decodeContents } from "./decode-contents.ts";
import { jsonSchemaOf } from "./json-schema.ts";
import { decodeTools } from "./decode-tools.ts";
import { PLACE_NAMES } from "./place-names.ts";

/** Fields that have a place in a request of no format. */
const READ = new Set(["contents", "systemInstruction", "generationConfig", "tools", "toolConfig"]);
const READ_CONFIG = new Set(
  `temperature topP topK maxOutputTokens stopSequences presencePenalty frequencyPenalty seed candidateCount
   responseMimeType responseSchema responseJsonSchema thinkingConfig responseModalities imageConfig
   responseLogprobs logprobs`.match(/\S+/g),
);

/** Fields without which the answer would be another one, and what asks for nothing. */
const MEANT: Readonly<Record<string, (value: unknown) => boolean>> = {
  cachedContent: () => false,
  speechConfig: (value) => isJsonObject(value) && filled(value) === undefined,
  responseFormat: () => false,
};

/**
 * A checked request in no format. The decoder leaves out with a warning what only helps and has no place elsewhere.
 * Throws a 400 that names the field, as its caller spelled it, for what would change the answer.
 */
export function decodeRequest(request: GenerateContentRequest): DecodedRequest {
  const { body, json, stream } = request;
  const warnings = createWarnings();
  const warn: Warn = (sentence) => void warnings.add(sentence);
  const config: JsonObject = { ...body.generationConfig };
  leaveRest(body, READ, "", request, warn);
  leaveRest(config, READ_CONFIG, "generationConfig.", request, warn);
  const thinking = decodeWish(config);
  const { tools, ...choice } = decodeTools(request);
  const chat: ChatRequest = {
    turns: decodeContents(request, warn),
    tools,
    ...choice,
    ...(present({
      maxOutputTokens: config.maxOutputTokens,
      temperature: config.temperature,
      topP: config.topP,
      topK: config.topK,
      presencePenalty: config.presencePenalty,
      frequencyPenalty: config.frequencyPenalty,
      seed: config.seed,
      thinking,
      outputModalities: decodeModalities(config, json.value),
      image: decodeImage(config),
      responseFormat: decodeFormat(config),
      logprobs:
        config.responseLogprobs === true
          ? { top: typeof config.logprobs === "number" ? config.logprobs : 0 }
          : undefined,
    }) as Partial<ChatRequest>),
    stop: body.generationConfig?.stopSequences ?? [],
    choices: body.generationConfig?.candidateCount ?? 1,
  };
  return {
    chat,
    names: PLACE_NAMES,
    ...(saysWhetherShown(config) ? {} : { unsaid: ["hidden"] }),
    stream,
    warnings: [...warnings],
    echo: { showsThoughts: thinking?.hidden !== true },
  };
}

/** Goes over the fields that have no place: those that change the answer are refused. */
function leaveRest(
  fields: Readonly<JsonObject>,
  read: ReadonlySet<string>,
  within: string,
  { json }: GenerateContentRequest,
  warn: Warn,
): void {
  const table = within === "" ? REQUEST_FIELDS : CONFIG_FIELDS;
  let told = 0;
  for (const [name, value] of Object.entries(fields)) {
    if (read.has(name)) continue;
    const path = within + name;
    const asksNothing = Object.hasOwn(MEANT, name) ? MEANT[name] : undefined;
    const field = table.fields[name];
    if (asksNothing !== undefined && !asksNothing(value))
      throw refusal(path, "cannot be had from this model's provider: leave it out.", json.value);
    // The caller's spelling is looked for as often as there is something to tell.
    if (asksNothing !== undefined || told > MOST_WARNINGS) continue;
    told += 1;
    if (field === undefined)
      warn(unknownField(spelledPath(path, json.value), table.format, table.meant(name)));
    else if (field.rule === "priced" && !field.freeValues.includes(value))
      throw refusal(path, "cannot be had from this model's provider: leave it out.", json.value);
    else if (field.rule !== "priced")
      warn(`${spelledPath(path, json.value)} was left out: this model's provider has no such field`);
  }
}

function saysWhetherShown({ thinkingConfig: config }: JsonObject): boolean {
  return isJsonObject(config) && typeof config.includeThoughts === "boolean";
}

/** Thoughts are shown to those who ask for them. */
function decodeWish({ thinkingConfig: config }: JsonObject): ThinkingWish | undefined {
  if (!isJsonObject(config)) return { hidden: true };
  const { thinkingBudget: budget, thinkingLevel: level, includeThoughts } = config;
  const hidden = includeThoughts === true ? undefined : true;
  if (budget === 0) return { mode: "off" };
  const word = filledText(level)?.toLowerCase();
  const effort = EFFORTS.find((known) => known === word);
  return present({
    mode:
      budget === -1 || (includeThoughts === true && budget === undefined && effort === undefined)
        ? "auto"
        : undefined,
    budgetTokens: typeof budget === "number" && budget > 0 ? budget : undefined,
    effort,
    hidden,
  }) as ThinkingWish;
}

function decodeModalities({ responseModalities: kinds }: JsonObject, original: JsonObject) {
  if (!Array.isArray(kinds) || kinds.length === 0) return undefined;
  return kinds.map((kind: unknown) => {
    if (kind === "TEXT") return "text" as const;
    if (kind === "IMAGE") return "image" as const;
    const path = "generationConfig.responseModalities";
    throw refusal(path, "must be TEXT or IMAGE: this model's provider gives no audio.", original);
  });
}

function decodeImage({ imageConfig: config }: JsonObject): ChatRequest["image"] {
  if (!isJsonObject(config)) return undefined;
  const { aspectRatio, imageSize } = config;
  return filled(present({ aspectRatio: filledText(aspectRatio), size: filledText(imageSize) }));
}

function decodeFormat(config: JsonObject): ResponseFormat | undefined {
  const { responseMimeType: type, responseJsonSchema: schema, responseSchema: old } = config;
  if (isJsonObject(schema)) return { type: "json_schema", name: "response", schema };
  if (isJsonObject(old)) return { type: "json_schema", name: "response", schema: jsonSchemaOf(old) };
  return type === "application/json" ? { type: "json_object" } : undefined;
}
