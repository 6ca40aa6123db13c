import type { CacheMark, Part, Source } from "../../../core/chat.ts";
import {
  filledText,
  isJsonObject,
  type JsonObject,
  objectsIn,
  present,
} from "../../../core/json/json-value.ts";
import { isKept, keep } from "../../../core/json/kept.ts";
import { readDataUrl } from "../../data-url.ts";
import { fileType, isLink } from "../../file-type.ts";
import { checkMediaUrl } from "../../links.ts";
import { printableName } from "../../printable.ts";
import { wrong } from "../../request-json.ts";

const NO_FILE = "names a file of another vendor's store: send its data, or a link to it";

const keptTexts = new WeakMap<JsonObject, readonly Part[]>();

/** The parts of a message; those of one that comes again come again with it, where all are text. */
export function contentOf(message: JsonObject, path: string): readonly Part[] {
  const known = keptTexts.get(message);
  if (known !== undefined) return known;
  const parts = decodeContent(message.content, `${path}.content`);
  // What is no text names its place in the request.
  if (isKept(message) && parts.every(({ type }) => type === "text")) keptTexts.set(message, parts.map(keep));
  return parts;
}

/** The parts of an item's content, empty texts left out. Throws a 400 that names the part for what it cannot be. */
export function decodeContent(content: unknown, path: string): Part[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  if (content === undefined || content === null) return [];
  if (!Array.isArray(content)) throw wrong(path, "must be a string or an array of parts");
  return objectsIn(content).flatMap((part, i) => decodePart(part, `${path}[${i}]`) ?? []);
}

function decodePart(part: JsonObject, path: string): Part | undefined {
  const cached = present({ cache: markOf(part) });
  switch (part.type) {
    case "input_text":
    case "output_text":
    case "text":
    case "refusal": {
      const text = filledText(part.type === "refusal" ? part.refusal : part.text);
      return text === undefined ? undefined : { type: "text", text, ...cached };
    }
    case "input_image":
    case "image_url": {
      const detail = filledText(part.detail);
      return { type: "image", ...linkedImage(part, path), ...present({ detail }), ...cached };
    }
    case "input_file":
      return { ...decodeFile(part, path), ...cached };
    case "input_audio":
      return decodeAudio(part.input_audio, `${path}.input_audio`);
    default:
      throw wrong(
        `${path}.type`,
        `must be input_text, input_image, input_file or input_audio, not ${printableName(part.type)}`,
      );
  }
}

function linkedImage({ image_url: link, file_id: id }: JsonObject, path: string) {
  const url = filledText(isJsonObject(link) ? link.url : link);
  if (url === undefined) {
    if (filledText(id) !== undefined) throw wrong(`${path}.file_id`, NO_FILE);
    throw wrong(`${path}.image_url`, "is required");
  }
  const at = `${path}.image_url`;
  checkMediaUrl(url, "image", at);
  if (isLink(url)) return { source: { kind: "url", url } as const, at };
  const { mediaType, data, signature } = readDataUrl(url, at);
  return { source: { kind: "data", mediaType, data } as const, at, ...present({ signature }) };
}

function decodeAudio(audio: unknown, at: string): Part {
  const { data, format } = isJsonObject(audio) ? audio : {};
  if (typeof data !== "string" || data === "") throw wrong(`${at}.data`, "is required");
  if (typeof format !== "string" || !/^[a-z0-9.+-]{1,32}$/i.test(format))
    throw wrong(`${at}.format`, "must be a format such as wav or mp3");
  return { type: "audio", source: { kind: "data", mediaType: `audio/${format.toLowerCase()}`, data }, at };
}

/** A file is what its media type says: a document, or an image, a video or audio sent as a file. */
function decodeFile(part: JsonObject, path: string): Part {
  const [data, url, filename] = [part.file_data, part.file_url, part.filename].map(filledText);
  const said = data ?? url;
  if (said === undefined) {
    if (filledText(part.file_id) !== undefined) throw wrong(`${path}.file_id`, NO_FILE);
    throw wrong(`${path}.file_data`, "or file_url is required");
  }
  const at = `${path}.${data === undefined ? "file_url" : "file_data"}`;
  const mediaType = fileType({ file_data: said, filename });
  const source = fileSource(said, mediaType, at);
  const kind = mediaType?.split("/", 1)[0];
  if (kind === "audio" || kind === "video" || kind === "image") return { type: kind, source, at };
  return { type: "document", source, at, ...present({ name: filename }) };
}

function fileSource(data: string, mediaType: string | undefined, at: string): Source {
  if (isLink(data)) {
    checkMediaUrl(data, "file", at);
    return { kind: "url", url: data, ...present({ mediaType }) };
  }
  if (/^data:/i.test(data.slice(0, 5))) {
    const read = readDataUrl(data, at);
    return { kind: "data", mediaType: read.mediaType, data: read.data };
  }
  if (mediaType !== undefined && /^[A-Za-z0-9+/=_-]+$/.test(data)) return { kind: "data", mediaType, data };
  throw wrong(at, "must be a link, a data URL, or base64 with a filename that tells what it is");
}

/** The breakpoint of the prompt cache on a part or an item. */
export function markOf({ prompt_cache_breakpoint: point }: JsonObject): CacheMark | undefined {
  return isJsonObject(point) && point.mode === "explicit" ? { type: "ephemeral" } : undefined;
}
