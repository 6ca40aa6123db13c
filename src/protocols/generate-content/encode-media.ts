import type { Part, Source } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json-value.ts";
import type { Losses } from "../losses.ts";
import { plainMediaType } from "../media-type.ts";

/** A part that holds a medium. */
export type MediaPart = Extract<Part, { readonly source: Source }>;

/** Whether a part holds a medium. */
export function isMedia(part: Part): part is MediaPart {
  return "source" in part;
}

/** What is said of a medium that nothing else is known of. */
const USUAL = {
  image: "image/jpeg",
  document: "application/pdf",
  audio: "audio/mp3",
  video: "video/mp4",
} as const;

/** Media types by the ending of a name: https://ai.google.dev/gemini-api/docs/file-input-methods */
const ENDINGS: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  webp: "image/webp",
  gif: "image/gif",
  heic: "image/heic",
  heif: "image/heif",
  mp4: "video/mp4",
  mpeg: "video/mpeg",
  mpg: "video/mpg",
  mov: "video/mov",
  avi: "video/avi",
  flv: "video/x-flv",
  webm: "video/webm",
  wmv: "video/wmv",
  "3gp": "video/3gpp",
  wav: "audio/wav",
  mp3: "audio/mp3",
  aiff: "audio/aiff",
  aac: "audio/aac",
  m4a: "audio/m4a",
  ogg: "audio/ogg",
  flac: "audio/flac",
  pdf: "application/pdf",
  txt: "text/plain",
  md: "text/markdown",
  csv: "text/csv",
  html: "text/html",
  xml: "text/xml",
  json: "application/json",
};

/** Addresses that the vendor reads as a video: https://ai.google.dev/gemini-api/docs/video-understanding */
export const VIDEO_SITE = /^https:\/\/(?:(?:www|m)\.)?(?:youtube\.com|youtu\.be)\//i;

/** A medium as `inlineData` or `fileData`. Refuses an address or a file that the format has no word for. */
export function encodeMedia(part: MediaPart, losses: Losses): JsonObject {
  const { source, at } = part;
  const usual = USUAL[part.type];
  const name = part.type === "document" ? part.name : undefined;
  switch (source.kind) {
    case "data":
      return {
        inlineData: { mimeType: plainType(source.mediaType) ?? byEnding(name) ?? usual, data: source.data },
      };
    case "url":
      if (!isFetched(source.url)) throw losses.refusal({ place: "turns", at, why: "not_fetched" });
      return { fileData: { mimeType: typeOfLink(source, usual), fileUri: source.url } };
    case "file":
      if (!/^files\/[\w-]+$/.test(source.id) && !isFetched(source.id))
        throw losses.refusal({ place: "turns", at, why: "no_such_file" });
      return { fileData: { mimeType: byEnding(name) ?? byEnding(source.id) ?? usual, fileUri: source.id } };
  }
}

function typeOfLink({ url, mediaType }: Extract<Source, { readonly kind: "url" }>, usual: string): string {
  if (VIDEO_SITE.test(url)) return "video/mp4";
  return plainType(mediaType ?? "") ?? byEnding(url) ?? usual;
}

function isFetched(address: string): boolean {
  return /^(?:https|gs):\/\//i.test(address);
}

/** A media type; `undefined` when it says nothing. */
function plainType(mediaType: string): string | undefined {
  const type = plainMediaType(mediaType);
  return type === "" || type.endsWith("/*") || type === "application/octet-stream" ? undefined : type;
}

function byEnding(name: string | undefined): string | undefined {
  const ending = /\.([a-z0-9]+)$/i.exec((name ?? "").split(/[?#]/)[0] ?? "")?.[1]?.toLowerCase();
  return ending !== undefined && Object.hasOwn(ENDINGS, ending) ? ENDINGS[ending] : undefined;
}
