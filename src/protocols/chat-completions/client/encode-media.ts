import type { DocumentPart, Part, Source } from "../../../core/chat.ts";
import { filledText, type JsonObject, present } from "../../../core/json/json-value.ts";
import type { Losses } from "../../losses.ts";
import { plainMediaType } from "../../media-type.ts";
import type { RelayTarget } from "../../protocol.ts";
import { writeDataUrl } from "../../data-url.ts";

/** A part that is no text of the conversation itself. */
export type MediaPart = Extract<Part, { readonly type: "image" | "document" | "audio" | "video" }>;

/** Whether a part is one. */
export function isMedia(part: Part): part is MediaPart {
  return MEDIA.has(part.type);
}

const MEDIA: ReadonlySet<string> = new Set(["image", "document", "audio", "video"]);

/** A medium as a part of a user's message. Throws a 400 for sound or pictures that the model does not take. */
export function encodeMedia(part: MediaPart, { model }: RelayTarget, losses: Losses): JsonObject {
  const { source, type, at } = part;
  switch (type) {
    case "document":
      return encodeDocument(part);
    case "image": {
      if (source.kind === "file") return { type: "file", file: { file_id: source.id } };
      const { signature, detail } = part;
      return {
        type: "image_url",
        image_url: present({ url: urlOf(source, "image/png", signature), detail }),
      };
    }
    case "audio":
      if (!model.inputModalities.includes(type))
        throw losses.refusal({ place: "turns", at, why: "no_audio_in" });
      return encodeAudio(source);
    case "video":
      if (!model.inputModalities.includes(type))
        throw losses.refusal({ place: "turns", at, why: "no_video_in" });
      return { type: "video_url", video_url: { url: urlOf(source, "video/mp4") } };
  }
}

function urlOf(source: Source, usual: string, signature?: string): string {
  if (source.kind === "url") return source.url;
  if (source.kind === "file") return source.id;
  const mediaType = plainMediaType(source.mediaType) || usual;
  return writeDataUrl({ mediaType, data: source.data, ...present({ signature }) });
}

/** What the reference calls formats of sound that have another name as a media type. */
const FORMATS: Readonly<Record<string, string>> = {
  mpeg: "mp3",
  "x-wav": "wav",
  wave: "wav",
  "x-m4a": "m4a",
};

function encodeAudio(source: Source): JsonObject {
  if (source.kind !== "data") return { type: "audio_url", audio_url: { url: urlOf(source, "") } };
  const kind = plainMediaType(source.mediaType).replace(/^audio\//, "");
  const format = Object.hasOwn(FORMATS, kind) ? FORMATS[kind] : kind;
  return { type: "input_audio", input_audio: { data: source.data, format } };
}

const TEXT = /^text\/|^application\/(?:json|xml|yaml|x-yaml|javascript)$|\+(?:json|xml)$/;

/** A text is one of the message, under its name; any other file is one. */
function encodeDocument({ source, name }: DocumentPart): JsonObject {
  if (source.kind === "file") return { type: "file", file: present({ file_id: source.id }) };
  const mediaType = plainMediaType(source.mediaType ?? "");
  const text = source.kind === "data" && TEXT.test(mediaType) ? textOf(source.data) : undefined;
  if (text !== undefined) {
    const title = filledText(name);
    return { type: "text", text: title === undefined ? text : `${title}\n\n${text}` };
  }
  const ending = mediaType === "application/pdf" || mediaType === "" ? ".pdf" : "";
  const filename = filledText(name) ?? `document${ending}`;
  return { type: "file", file: { filename, file_data: urlOf(source, "application/pdf") } };
}

function textOf(data: string): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.fromBase64(data));
  } catch {
    return undefined;
  }
}
