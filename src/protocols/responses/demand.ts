import { imageSizeOf } from "../../core/media/image-size.ts";
import { isJsonObject, type JsonObject, objectsIn, present } from "../../core/json/json-value.ts";
import { ANY_TOOL, createKeptListSizes, type Found, openFound, PER_TOOL } from "../demand.ts";
import { fileModality } from "../file-type.ts";
import type { Model } from "../../core/model.ts";
import type { Demand, RelayTarget } from "../protocol.ts";
import { type RequestJson, spanLength } from "../request-json.ts";
import { searchesOf } from "./hosted-tools.ts";
import type { ResponsesItem, ResponsesRequestBody } from "./schema.ts";

/** Tokens around an item, and around the whole. */
const PER_ITEM = { expected: 4, ceiling: 12 };
const PER_REQUEST = { expected: 3, ceiling: 96 };

const keptSizes = createKeptListSizes();

/** What `body` asks for. */
export function readDemand(body: ResponsesRequestBody, json: RequestJson): Demand {
  const { input, instructions, tools = [] } = body;
  const schemaBytes = spanLength(json, "tools") + spanLength(json, "text");
  const found = openFound(schemaBytes, [
    [PER_REQUEST, 1],
    [PER_ITEM, typeof input === "string" ? 1 : input.length],
    [PER_TOOL, tools.length],
    [ANY_TOOL, tools.length > 0 ? 1 : 0],
  ]);
  found.text(instructions);
  if (typeof input === "string") found.text(input);
  else found.parts(input, measureItem, keptSizes);
  return found.demand(json.length, {
    choices: 1,
    webSearches: 0,
    longCache: false,
    outputModalities: ["text"],
    ...present({ maxOutputTokens: body.max_output_tokens }),
  });
}

/** The least bound on output that OpenAI takes; it refuses one below by `integer_below_min_value`. */
const LEAST_OUTPUT = 16;

/** The least that a model's output can be bounded to. */
export function leastOutput(model: Model): number {
  return isOpenAi(model) ? LEAST_OUTPUT : 1;
}

/** Whether a model is OpenAI's, whose words and bounds other vendors of the format do not share. */
export function isOpenAi({ id }: Model): boolean {
  return id.startsWith("openai/");
}

/** The same at a model: with searches that it has a price for, others are left out, and a bound that it takes. */
export function demandAt(asked: WithDemand, { model }: RelayTarget): Demand {
  const { body } = asked;
  const { maxOutputTokens: bound } = asked.demand;
  const least = leastOutput(model);
  const isRaised = bound !== undefined && bound < least;
  const demand = isRaised ? { ...asked.demand, maxOutputTokens: least } : asked.demand;
  const webSearches = model.prices.web_search === undefined ? 0 : searchesOf(body);
  if (webSearches === 0) return demand;
  return { ...demand, webSearches, buckets: [...demand.buckets, "web_search"] };
}

interface WithDemand {
  readonly demand: Demand;
  readonly body: ResponsesRequestBody;
}

/** Members of items whose text the model reads, whatever the item. */
const TEXTS = ["name", "arguments", "input", "action", "operation", "tools", "results"] as const;

function measureItem(item: ResponsesItem, found: Found): void {
  const { content, output } = item;
  const held: Readonly<JsonObject> = item;
  if (typeof content === "string") found.text(content);
  else for (const part of content ?? []) measurePart(part, found);
  if (typeof output === "string") found.text(output);
  else if (Array.isArray(output)) for (const part of objectsIn(output)) measurePart(part, found);
  else found.text(output);
  for (const part of objectsIn(held.summary)) measurePart(part, found);
  for (const name of TEXTS) found.text(held[name]);
}

function measurePart(part: Readonly<JsonObject>, found: Found): void {
  for (const name of ["text", "refusal"]) found.text(part[name]);
  const {
    image_url: image,
    file_data: data,
    file_url: link,
    file_id: file,
    filename,
    input_audio: audio,
  } = part;
  if (typeof image === "string") {
    const detail = typeof part.detail === "string" ? part.detail : undefined;
    found.image(inlineBytes(image), () => imageSizeOf(image), detail);
  } else if (part.type === "input_image") found.medium("image");
  if (typeof data === "string")
    found.medium(
      fileModality({ file_data: data, ...(typeof filename === "string" ? { filename } : {}) }),
      data.length,
    );
  else if (typeof link === "string" || (typeof file === "string" && part.type === "input_file"))
    found.medium("pdf");
  if (typeof file === "string") found.stored();
  if (isJsonObject(audio)) found.medium("audio", typeof audio.data === "string" ? audio.data.length : 0);
}

function inlineBytes(url: string): number {
  return url.startsWith("data:") ? url.length : 0;
}
