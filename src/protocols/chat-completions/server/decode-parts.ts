import type { CacheMark, ImagePart, Part, Source } from "../../../core/chat.ts";
import { isJsonObject, present } from "../../../core/json/json-value.ts";
import { checkMediaUrl } from "../../links.ts";
import { invalid, wrong } from "../../request-json.ts";
import { readDataUrl } from "../../data-url.ts";
import { fileType, isLink } from "../../file-type.ts";
import type { ChatMessage, MessagePart, Open } from "../schema.ts";

/** The parts of a message's content, empty texts left out. Throws a 400 that names the part for what it cannot be. */
export function decodeContent(content: ChatMessage["content"], path: string): Part[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return (content ?? []).flatMap((part, i) => decodePart(part, `${path}[${i}]`) ?? []);
}

/** Parts of types that the format does not have were refused before. */
function decodePart(part: MessagePart, path: string): Part | undefined {
  const at = `${path}.${part.type}`;
  switch (part.type) {
    case "text":
    case "refusal": {
      const text = part[part.type] ?? "";
      return text === "" ? undefined : { type: "text", text, ...present({ cache: cacheOf(part) }) };
    }
    case "image_url":
      return { ...decodeImage(part.image_url, at), ...present({ cache: cacheOf(part) }) };
    case "video_url":
      return { type: "video", ...linked(part.video_url, at) };
    case "audio_url":
      return { type: "audio", ...linked(part.audio_url, at) };
    case "input_audio":
      return { type: "audio", source: audioSource(part.input_audio, at), at };
    default:
      return decodeFile(part, at);
  }
}

/** An image behind a link or in a data URL, whose signature goes with it. */
export function decodeImage(link: Link, path: string): ImagePart {
  const detail = typeof link?.detail === "string" ? link.detail : undefined;
  return { type: "image", ...linked(link, path), ...present({ detail }) };
}

type Link = Open<NonNullable<MessagePart["image_url"]>> | null | undefined;

function linked(link: Link, path: string): Pick<ImagePart, "source" | "at" | "signature"> {
  const [url, at] = [link?.url ?? "", `${path}.url`];
  if (isLink(url)) return { source: { kind: "url", url }, at };
  const { mediaType, data, signature } = readDataUrl(url, at);
  return { source: { kind: "data", mediaType, data }, at, ...present({ signature }) };
}

function audioSource(audio: MessagePart["input_audio"], path: string): Source {
  const format = audio?.format.toLowerCase() ?? "";
  if (!/^[a-z0-9.+-]{1,32}$/.test(format))
    throw wrong(`${path}.format`, "must be a format such as wav or mp3");
  return { kind: "data", mediaType: `audio/${format}`, data: audio?.data ?? "" };
}

/** A file is what its media type says: a document, or an image, a video or audio sent as a file. */
function decodeFile(part: MessagePart, path: string): Part {
  const { file_data: data, file_id: id, filename } = part.file ?? {};
  const cached = present({ cache: cacheOf(part) });
  const name = filename ? { name: filename } : {};
  if (!data) {
    if (!id) throw invalid(`${path}.file_data or ${path}.file_id is required.`, path);
    return { type: "document", source: { kind: "file", id }, at: `${path}.file_id`, ...name, ...cached };
  }
  const at = `${path}.file_data`;
  const mediaType = fileType(part.file ?? {});
  const source = fileSource(data, mediaType, at);
  const kind = mediaType?.split("/", 1)[0];
  if (kind === "audio" || kind === "video") return { type: kind, source, at };
  if (kind === "image") return { type: kind, source, at, ...cached };
  return { type: "document", source, at, ...name, ...cached };
}

function fileSource(data: string, mediaType: string | undefined, path: string): Source {
  if (isLink(data)) {
    checkMediaUrl(data, "file", path);
    return { kind: "url", url: data, ...present({ mediaType }) };
  }
  if (/^data:/i.test(data.slice(0, 5))) {
    const url = readDataUrl(data, path);
    return { kind: "data", mediaType: url.mediaType, data: url.data };
  }
  if (mediaType !== undefined && /^[A-Za-z0-9+/=_-]+$/.test(data)) return { kind: "data", mediaType, data };
  throw wrong(path, "must be a data URL, or base64 with a filename that tells what it is");
}

/** The breakpoint of the prompt cache on a part, a message or a tool, in either vendor's words. */
export function cacheOf(holder: object): CacheMark | undefined {
  const { cache_control: control, prompt_cache_breakpoint: point } = holder as Open<object>;
  if (isJsonObject(control) && typeof control.type === "string")
    return { type: control.type, ...(typeof control.ttl === "string" ? { ttl: control.ttl } : {}) };
  return isJsonObject(point) && point.mode === "explicit" ? { type: "ephemeral" } : undefined;
}
