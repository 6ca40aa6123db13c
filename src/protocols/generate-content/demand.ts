import { rawImageSizeOf } from "../../core/image-size.ts";
import { isJsonObject } from "../../core/json-value.ts";
import type { Modality } from "../../core/model.ts";
import { measureText, type TextSize } from "../../core/token-estimate.ts";
import {
  addImage,
  addMedium,
  ANY_TOOL,
  type Found,
  inputOf,
  mediaBuckets,
  openFound,
  PER_TOOL,
} from "../demand.ts";
import type { Demand } from "../protocol.ts";
import { VIDEO_SITE } from "./encode-media.ts";
import { type GenerateContentBody, type Part, PART_DATA } from "./schema.ts";
import { TOOLS, WHOLE_CONTEXT } from "./tools.ts";

/** Tokens around a turn, and around the whole. */
const PER_TURN = { expected: 2, ceiling: 12 };
const PER_REQUEST = { expected: 1, ceiling: 96 };

/** Searches that one request is taken to make at most; recorded are one to three. */
const MOST_SEARCHES = 10;

/** What `body` asks for. `schemaBytes` is the length of its tools and response schema as they were sent. */
export function readDemand(body: GenerateContentBody, bodyBytes: number, schemaBytes: number): Demand {
  const found = openFound(schemaBytes);
  const turns = [...(body.systemInstruction === undefined ? [] : [body.systemInstruction]), ...body.contents];
  for (const part of turns.flatMap((turn) => turn.parts ?? [])) {
    measurePart(part, found.size);
    measureMedia(part, found);
  }
  const tools = (body.tools ?? []).flatMap((tool) => Object.keys(tool));
  const declared = (body.tools ?? []).flatMap(({ functionDeclarations = [] }) => functionDeclarations);
  const searches = tools.some((name) => TOOLS[name]?.searches === true);
  const unseen =
    (body.cachedContent === undefined ? 0 : WHOLE_CONTEXT) +
    tools.reduce((sum, name) => sum + (TOOLS[name]?.adds ?? 0), 0);
  const config = body.generationConfig ?? {};
  const outputs = config.responseModalities?.map((name) => OUTPUTS[name]) ?? [];
  return {
    ...inputOf(found, bodyBytes, [
      [PER_REQUEST, 1],
      [PER_TURN, turns.length],
      [PER_TOOL, declared.length],
      [ANY_TOOL, tools.length > 0 ? 1 : 0],
      [{ expected: 0, ceiling: unseen }, 1],
    ]),
    ...(config.maxOutputTokens === undefined ? {} : { maxOutputTokens: config.maxOutputTokens }),
    choices: config.candidateCount ?? 1,
    webSearches: searches ? MOST_SEARCHES : 0,
    buckets: [...mediaBuckets(found, outputs), ...(searches ? (["web_search"] as const) : [])],
    // Without a word of it a model gives all it can: those of images answer with images.
    ...(outputs.length === 0 ? {} : { outputModalities: outputs }),
  };
}

const OUTPUTS = { TEXT: "text", IMAGE: "image", AUDIO: "audio" } as const;

/** Thoughts go back in signatures, and are counted: about one token to eight characters of them, where text has four. */
const SIGNATURE_SHARE = 1 / 2;

function measurePart(part: Part, size: TextSize): void {
  if (part.text !== undefined) measureText(part.text, size);
  size.ascii += Math.ceil((part.thoughtSignature?.length ?? 0) * SIGNATURE_SHARE);
  const { functionResponse: response } = part;
  if (response !== undefined)
    measureText(JSON.stringify({ name: response.name, ...response.response }), size);
  const calls = [
    part.functionCall,
    part.executableCode,
    part.codeExecutionResult,
    part.toolCall,
    part.toolResponse,
  ];
  for (const call of calls) if (call !== undefined) measureText(JSON.stringify(call), size);
  if (part.inlineData !== undefined && kindOf(part.inlineData.mimeType) === "text")
    size.ascii += (part.inlineData.data.length * 3) / 4;
}

function measureMedia(part: Part, found: Found): void {
  const held = [part, ...(part.functionResponse?.parts ?? [])];
  for (const { inlineData, fileData } of held) {
    if (inlineData !== undefined) addInline(inlineData, found);
    if (fileData !== undefined) addFile(fileData, found);
  }
  // What only its provider knows is taken for a document: the dearest kind of input text.
  if (!Object.keys(part).some((name) => DATA.has(name))) addMedium("pdf", found);
}

// A signature that came alone goes back alone.
const DATA: ReadonlySet<string> = new Set([...PART_DATA, "thoughtSignature"]);

function addInline({ mimeType, data }: NonNullable<Part["inlineData"]>, found: Found): void {
  const kind = kindOf(mimeType);
  if (kind === "image") addImage(found, data.length, () => rawImageSizeOf(data));
  else if (kind !== "text") addMedium(kind, found, data.length);
}

function addFile({ mimeType, fileUri }: NonNullable<Part["fileData"]>, found: Found): void {
  const kind = kindOf(mimeType ?? (VIDEO_SITE.test(fileUri) ? "video/*" : ""));
  if (kind === "image") addImage(found, 0, () => undefined);
  // Of a text behind an address nobody knows the length.
  else addMedium(kind === "text" ? "pdf" : kind, found);
}

function kindOf(mimeType: string): Modality {
  const [kind = ""] = mimeType.toLowerCase().split("/");
  if (kind === "image" || kind === "audio" || kind === "video" || kind === "text") return kind;
  return /^application\/(?:json|xml|javascript|x-javascript|x-python|typescript)\b/i.test(mimeType)
    ? "text"
    : "pdf";
}

/** Characters of a value as JSON; 0 for none. */
export function jsonLength(value: unknown): number {
  return isJsonObject(value) || Array.isArray(value) ? JSON.stringify(value).length : 0;
}
