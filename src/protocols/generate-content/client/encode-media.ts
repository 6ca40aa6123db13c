import type { Part, Source } from "../../../core/chat.ts";
import type { JsonObject } from "../../../core/json/json-value.ts";
import type { Losses } from "../../losses.ts";
import { plainMediaType, typeByEnding } from "../../media-type.ts";

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

/** Addresses that the vendor reads as a video: https://ai.google.dev/gemini-api/docs/video-understanding */
export const VIDEO_SITE = /^https:\/\/(?:(?:www|m)\.)?(?:youtube\.com|youtu\.be)\//i;

/** A medium as `inlineData` or `fileData`. Refuses an address or a file that the format has no word for. */
export function encodeMedia(part: MediaPart, losses: Losses): JsonObject {
  const { source, at } = part;
  const usual = USUAL[part.type];
  const named = part.type === "document" ? typeByEnding(part.name ?? "") : undefined;
  if (source.kind === "data") {
    const mimeType = plainType(source.mediaType) ?? named ?? usual;
    return { inlineData: { mimeType, data: source.data } };
  }
  const isUrl = source.kind === "url";
  const fileUri = isUrl ? source.url : source.id;
  if (!/^(?:https|gs):\/\//i.test(fileUri)) {
    if (isUrl) throw losses.refusal({ place: "turns", at, why: "not_fetched", schemes: "https, gs" });
    if (!/^files\/[\w-]+$/.test(fileUri)) throw losses.refusal({ place: "turns", at, why: "no_such_file" });
  }
  const told = isUrl ? typeOfLink(source) : named;
  return { fileData: { mimeType: told ?? typeByEnding(fileUri) ?? usual, fileUri } };
}

function typeOfLink({ url, mediaType = "" }: Extract<Source, { readonly kind: "url" }>): string | undefined {
  return VIDEO_SITE.test(url) ? "video/mp4" : plainType(mediaType);
}

/** A media type; `undefined` when it says nothing. */
function plainType(mediaType: string): string | undefined {
  const type = plainMediaType(mediaType);
  return type === "" || type.endsWith("/*") || type === "application/octet-stream" ? undefined : type;
}
