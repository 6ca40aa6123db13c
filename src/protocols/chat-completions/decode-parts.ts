import type { CacheMark, ImagePart, Part, Source } from "../../core/chat.ts";
import { isJsonObject } from "../../core/json-value.ts";
import { checkMediaUrl } from "../links.ts";
import { invalid } from "../request-json.ts";
import { readDataUrl } from "./data-url.ts";
import { fileType, isLink } from "./files.ts";
import type { ChatMessage } from "./schema.ts";

/** A part of a message's content. */
export type WirePart = Extract<NonNullable<ChatMessage["content"]>, readonly unknown[]>[number];

/** A member that the schema leaves open. */
export function memberOf(holder: object, name: string): unknown {
  return Object.hasOwn(holder, name) ? (holder as Readonly<Record<string, unknown>>)[name] : undefined;
}

/**
 * The parts of a message's content, empty texts left out. Throws a 400 that names the part for one that no other format
 * knows.
 */
export function decodeContent(content: ChatMessage["content"], path: string): Part[] {
  if (content === undefined || content === null || content === "") return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.flatMap((part, i) => decodePart(part, `${path}[${i}]`) ?? []);
}

function decodePart(part: WirePart, path: string): Part | undefined {
  switch (part.type) {
    case "text":
    case "refusal": {
      const text = (part.type === "text" ? part.text : part.refusal) ?? "";
      return text === "" ? undefined : { type: "text", text, ...marked(part) };
    }
    case "image_url":
      return { ...decodeImage(part.image_url, `${path}.image_url`), ...marked(part) };
    case "video_url":
      return { type: "video", ...linked(part.video_url?.url ?? "", `${path}.video_url.url`) };
    case "audio_url":
      return { type: "audio", ...linked(part.audio_url?.url ?? "", `${path}.audio_url.url`) };
    case "input_audio": {
      const at = `${path}.input_audio`;
      return { type: "audio", source: audioSource(part.input_audio, at), at };
    }
    case "file":
      return decodeFile(part, `${path}.file`);
    default: {
      const at = `${path}.type`;
      throw invalid(`${at} must be one of text, image_url, video_url, audio_url, input_audio, file.`, at);
    }
  }
}

/** An image behind a link or in a data URL, whose signature goes with it. */
export function decodeImage(link: WirePart["image_url"], path: string): ImagePart {
  const url = link?.url ?? "";
  const said = memberOf(link ?? {}, "detail");
  const detail = typeof said === "string" ? { detail: said } : {};
  const at = `${path}.url`;
  if (isLink(url)) return { type: "image", source: { kind: "url", url }, at, ...detail };
  const { mediaType, data, signature } = readDataUrl(url, at);
  return {
    type: "image",
    source: { kind: "data", mediaType, data },
    at,
    ...detail,
    ...(signature === undefined ? {} : { signature }),
  };
}

function linked(url: string, at: string): { readonly source: Source; readonly at: string } {
  if (isLink(url)) return { source: { kind: "url", url }, at };
  const { mediaType, data } = readDataUrl(url, at);
  return { source: { kind: "data", mediaType, data }, at };
}

function audioSource(audio: WirePart["input_audio"], path: string): Source {
  const format = audio?.format.toLowerCase() ?? "";
  if (!/^[a-z0-9.+-]{1,32}$/.test(format))
    throw invalid(`${path}.format must be a format such as wav or mp3.`, `${path}.format`);
  return { kind: "data", mediaType: `audio/${format}`, data: audio?.data ?? "" };
}

/** A file is what its media type says: a document, or an image, a video or audio sent as a file. */
function decodeFile(part: WirePart, path: string): Part {
  const file = part.file ?? {};
  const { file_data: data, file_id: id, filename } = file;
  const name = filename ? { name: filename } : {};
  if (!data) {
    if (!id) throw invalid(`${path}.file_data or ${path}.file_id is required.`, path);
    return {
      type: "document",
      source: { kind: "file", id },
      at: `${path}.file_id`,
      ...name,
      ...marked(part),
    };
  }
  const mediaType = fileType(file);
  const at = `${path}.file_data`;
  const source = fileSource(data, mediaType, at);
  switch (mediaType?.split("/", 1)[0]) {
    case "image":
      return { type: "image", source, at, ...marked(part) };
    case "audio":
      return { type: "audio", source, at };
    case "video":
      return { type: "video", source, at };
    default:
      return { type: "document", source, at, ...name, ...marked(part) };
  }
}

function fileSource(data: string, mediaType: string | undefined, path: string): Source {
  if (isLink(data)) {
    checkMediaUrl(data, "file", path);
    return { kind: "url", url: data, ...(mediaType === undefined ? {} : { mediaType }) };
  }
  if (/^data:/i.test(data.slice(0, 5))) {
    const url = readDataUrl(data, path);
    return { kind: "data", mediaType: url.mediaType, data: url.data };
  }
  if (mediaType !== undefined && /^[A-Za-z0-9+/=_-]+$/.test(data)) return { kind: "data", mediaType, data };
  throw invalid(`${path} must be a data URL, or base64 with a filename that tells what it is.`, path);
}

/** The breakpoint of the prompt cache on a part, a message or a tool, in either vendor's words. */
export function cacheOf(holder: object): CacheMark | undefined {
  const control = memberOf(holder, "cache_control");
  if (isJsonObject(control) && typeof control.type === "string")
    return { type: control.type, ...(typeof control.ttl === "string" ? { ttl: control.ttl } : {}) };
  const point = memberOf(holder, "prompt_cache_breakpoint");
  return isJsonObject(point) && point.mode === "explicit" ? { type: "ephemeral" } : undefined;
}

/** The mark as the member that a part has for it. */
export function marked(holder: object): { readonly cache?: CacheMark } {
  const cache = cacheOf(holder);
  return cache === undefined ? {} : { cache };
}
