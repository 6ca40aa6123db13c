import { rawImageSizeOf } from "../../core/media/image-size.ts";
import { isJsonObject, present } from "../../core/json/json-value.ts";
import type { Modality } from "../../core/model.ts";
import { ANY_TOOL, createKeptListSizes, type Found, openFound, PER_TOOL } from "../demand.ts";
import type { Demand } from "../protocol.ts";
import type { RequestJson } from "../request-json.ts";
import { VIDEO_SITE } from "./client/encode-media.ts";
import { type GenerateContentBody, type Part, PART_DATA } from "./schema.ts";
import { TOOLS, WHOLE_CONTEXT } from "./tools.ts";

/** Tokens around a turn, and around the whole. */
const PER_TURN = { expected: 2, ceiling: 12 };
const PER_REQUEST = { expected: 1, ceiling: 96 };

/** Searches that one request is taken to make at most; recorded are one to three. */
const MOST_SEARCHES = 10;

const keptSizes = createKeptListSizes();

/** What `body` asks for. `schemaBytes` is the length of its tools and response schema as they were sent. */
export function readDemand(
  body: GenerateContentBody,
  { length }: Pick<RequestJson, "length">,
  schemaBytes: number,
): Demand {
  const { tools = [], systemInstruction: system, generationConfig: config } = body;
  const turns = system === undefined ? body.contents : [system, ...body.contents];
  const kinds = tools.flatMap((tool) => Object.keys(tool));
  const unseen =
    (body.cachedContent === undefined ? 0 : WHOLE_CONTEXT) +
    kinds.reduce((sum, name) => sum + (TOOLS[name]?.adds ?? 0), 0);
  const found = openFound(schemaBytes, [
    [PER_REQUEST, 1],
    [PER_TURN, turns.length],
    [PER_TOOL, tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations).length],
    [ANY_TOOL, kinds.length > 0 ? 1 : 0],
    [{ expected: 0, ceiling: unseen }, 1],
  ]);
  if (body.cachedContent !== undefined) found.stored();
  if (system !== undefined) found.part(system, measureTurn, keptSizes.parts);
  found.parts(body.contents, measureTurn, keptSizes);
  const outputs = config?.responseModalities?.map((name) => OUTPUTS[name]) ?? [];
  return found.demand(length, {
    choices: config?.candidateCount ?? 1,
    webSearches: kinds.some((name) => TOOLS[name]?.searches === true) ? MOST_SEARCHES : 0,
    longCache: false,
    ...present({
      maxOutputTokens: config?.maxOutputTokens,
      // Without a word of it a model gives all it can: those of images answer with images.
      outputModalities: outputs.length === 0 ? undefined : outputs,
    }),
  });
}

const OUTPUTS = { TEXT: "text", IMAGE: "image", AUDIO: "audio" } as const;

/** Thoughts go back in signatures, and are counted: about one token to eight characters of them, where text has four. */
const SIGNATURE_SHARE = 1 / 2;

function measureTurn({ parts = [] }: { readonly parts?: readonly Part[] }, found: Found): void {
  for (const part of parts) measurePart(part, found);
}

function measurePart(part: Part, found: Found): void {
  const { functionResponse: answer } = part;
  found.text(part.text);
  found.ascii(Math.ceil((part.thoughtSignature?.length ?? 0) * SIGNATURE_SHARE));
  if (answer !== undefined) found.text({ name: answer.name, ...answer.response });
  for (const call of CALLS) found.text(part[call]);
  for (const { inlineData, fileData } of [part, ...(answer?.parts ?? [])]) {
    if (inlineData !== undefined) addInline(inlineData, found);
    if (fileData !== undefined) addFile(fileData, found);
  }
  // What only its provider knows is taken for a document: the dearest kind of input text.
  if (!Object.keys(part).some((name) => DATA.has(name))) found.medium("pdf");
}

/** Parts that the model reads as JSON. */
const CALLS = ["functionCall", "executableCode", "codeExecutionResult", "toolCall", "toolResponse"] as const;

// A signature that came alone goes back alone.
const DATA: ReadonlySet<string> = new Set([...PART_DATA, "thoughtSignature"]);

function addInline({ mimeType, data }: NonNullable<Part["inlineData"]>, found: Found): void {
  const kind = kindOf(mimeType);
  if (kind === "image") found.image(data.length, () => rawImageSizeOf(data));
  else if (kind === "text") found.ascii((data.length * 3) / 4);
  else found.medium(kind, data.length);
}

/** Google's own file, an object of a bucket, or a video of its site: who may see it is for Google to say. */
function addFile({ mimeType, fileUri }: NonNullable<Part["fileData"]>, found: Found): void {
  found.stored();
  const kind = kindOf(mimeType ?? (VIDEO_SITE.test(fileUri) ? "video/*" : ""));
  if (kind === "image") found.image(0, () => undefined);
  // Of a text behind an address nobody knows the length.
  else found.medium(kind === "text" ? "pdf" : kind);
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
