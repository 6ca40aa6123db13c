import { MAX_SIZED_IMAGES, rawImageSizeOf } from "../../core/image-size.ts";
import { isJsonObject } from "../../core/json-value.ts";
import type { Modality } from "../../core/model.ts";
import type { PriceBucket } from "../../core/price.ts";
import { estimateTokens, measureText, type TextSize } from "../../core/token-estimate.ts";
import type { Demand, ImageInput } from "../protocol.ts";
import { type GenerateContentBody, type Part, PART_DATA } from "./schema.ts";
import { TOOLS, WHOLE_CONTEXT } from "./tools.ts";

/** Tokens around a turn, and around the whole. */
const PER_TURN = { expected: 2, ceiling: 12 };
const PER_REQUEST = { expected: 1, ceiling: 96 };

/** What the presence of tools adds at most: instructions that the vendor puts before them unseen. */
const ANY_TOOL_CEILING = 600;

/** What a declaration adds to its own text. */
const PER_TOOL = { expected: 8, ceiling: 200 };

/** Searches that one request is taken to make at most; recorded are one to three. */
const MOST_SEARCHES = 10;

/**
 * What `body` asks for. The guess measures the fields that models read; the bound counts every byte that goes up but
 * those of media. `schemaBytes` is the length of its tools and response schema as they were sent.
 */
export function readDemand(body: GenerateContentBody, bodyBytes: number, schemaBytes: number): Demand {
  const size: TextSize = { ascii: schemaBytes, alphabetic: 0, ideographic: 0 };
  const media: Media = { counts: {}, images: [], imageBytes: 0, otherBytes: 0 };
  const turns = [...(body.systemInstruction === undefined ? [] : [body.systemInstruction]), ...body.contents];
  for (const part of turns.flatMap((turn) => turn.parts ?? [])) {
    measurePart(part, size);
    measureMedia(part, media);
  }
  const text = estimateTokens(size);
  const textBytes = bodyBytes - media.imageBytes - media.otherBytes;
  const tools = (body.tools ?? []).flatMap((tool) => Object.keys(tool));
  const declared = (body.tools ?? []).reduce(
    (sum, tool) => sum + (tool.functionDeclarations?.length ?? 0),
    0,
  );
  const searches = tools.some((name) => TOOLS[name]?.searches === true);
  const unseen =
    (body.cachedContent === undefined ? 0 : WHOLE_CONTEXT) +
    tools.reduce((sum, name) => sum + (TOOLS[name]?.adds ?? 0), 0);
  const ceiling =
    Math.max(text.ceiling, Math.ceil(textBytes / 2)) +
    turns.length * PER_TURN.ceiling +
    declared * PER_TOOL.ceiling +
    (tools.length > 0 ? ANY_TOOL_CEILING : 0) +
    PER_REQUEST.ceiling;
  const config = body.generationConfig ?? {};
  const outputs = config.responseModalities?.map((name) => OUTPUTS[name]) ?? [];
  return {
    textTokens: {
      expected:
        text.expected +
        turns.length * PER_TURN.expected +
        declared * PER_TOOL.expected +
        PER_REQUEST.expected,
      ceiling: ceiling + unseen,
    },
    media: media.counts,
    images: media.images,
    mediaBytes: media.otherBytes,
    ...(config.maxOutputTokens === undefined ? {} : { maxOutputTokens: config.maxOutputTokens }),
    choices: config.candidateCount ?? 1,
    webSearches: searches ? MOST_SEARCHES : 0,
    buckets: [...pricedBuckets(media.counts, outputs), ...(searches ? (["web_search"] as const) : [])],
    // Without a word of it a model gives all it can: those of images answer with images.
    ...(outputs.length === 0 ? {} : { outputModalities: outputs }),
  };
}

const OUTPUTS = { TEXT: "text", IMAGE: "image", AUDIO: "audio" } as const;

function pricedBuckets(
  media: Readonly<Partial<Record<Modality, number>>>,
  outputs: readonly Modality[],
): PriceBucket[] {
  const buckets: PriceBucket[] = [];
  if (media.audio !== undefined) buckets.push("audio_input");
  if (outputs.includes("audio")) buckets.push("audio_output");
  if (outputs.includes("image")) buckets.push("image_output");
  return buckets;
}

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

/** The media of a request. Bytes are of those that stand in the body itself. */
interface Media {
  readonly counts: Partial<Record<Modality, number>>;
  readonly images: ImageInput[];
  imageBytes: number;
  otherBytes: number;
}

function measureMedia(part: Part, media: Media): void {
  const held = [part, ...(part.functionResponse?.parts ?? [])];
  for (const { inlineData, fileData } of held) {
    if (inlineData !== undefined) addInline(inlineData, media);
    if (fileData !== undefined) addFile(fileData, media);
  }
  // What only its provider knows is taken for a document: the dearest kind of input text.
  if (!Object.keys(part).some((name) => DATA.has(name))) count("pdf", media);
}

// A signature that came alone goes back alone.
const DATA: ReadonlySet<string> = new Set([...PART_DATA, "thoughtSignature"]);

function addInline(data: { readonly mimeType: string; readonly data: string }, media: Media): void {
  const kind = kindOf(data.mimeType);
  if (kind === "text") return;
  count(kind, media);
  if (kind !== "image") {
    media.otherBytes += data.data.length;
    return;
  }
  media.imageBytes += data.data.length;
  const size = media.images.length < MAX_SIZED_IMAGES ? rawImageSizeOf(data.data) : undefined;
  media.images.push(size === undefined ? {} : { size });
}

function addFile(file: { readonly mimeType?: string; readonly fileUri: string }, media: Media): void {
  const kind = kindOf(file.mimeType ?? (VIDEO_SITE.test(file.fileUri) ? "video/*" : ""));
  // Of a text behind an address nobody knows the length.
  count(kind === "text" ? "pdf" : kind, media);
  if (kind === "image") media.images.push({});
}

/** Addresses that the vendor reads as a video: https://ai.google.dev/gemini-api/docs/video-understanding */
const VIDEO_SITE = /^https:\/\/(?:(?:www|m)\.)?(?:youtube\.com|youtu\.be)\//i;

function kindOf(mimeType: string): Modality {
  const [kind = ""] = mimeType.toLowerCase().split("/");
  if (kind === "image" || kind === "audio" || kind === "video" || kind === "text") return kind;
  return /^application\/(?:json|xml|javascript|x-javascript|x-python|typescript)\b/i.test(mimeType)
    ? "text"
    : "pdf";
}

function count(kind: Modality, { counts }: Media): void {
  counts[kind] = (counts[kind] ?? 0) + 1;
}

/** Bytes of a value as JSON; 0 for none. */
export function jsonBytes(value: unknown): number {
  return isJsonObject(value) || Array.isArray(value) ? JSON.stringify(value).length : 0;
}
