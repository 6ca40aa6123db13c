import type { Part, Source } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json-value.ts";
import type { Losses } from "../losses.ts";
import { plainMediaType, typeByEnding } from "../media-type.ts";

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
  const name = (part.type === "document" ? part.name : undefined) ?? "";
  switch (source.kind) {
    case "data":
      return {
        inlineData: {
          mimeType: plainType(source.mediaType) ?? typeByEnding(name) ?? usual,
          data: source.data,
        },
      };
    case "url":
      if (!isFetched(source.url)) throw losses.refusal({ place: "turns", at, why: "not_fetched" });
      return { fileData: { mimeType: typeOfLink(source, usual), fileUri: source.url } };
    case "file":
      if (!/^files\/[\w-]+$/.test(source.id) && !isFetched(source.id))
        throw losses.refusal({ place: "turns", at, why: "no_such_file" });
      return {
        fileData: { mimeType: typeByEnding(name) ?? typeByEnding(source.id) ?? usual, fileUri: source.id },
      };
  }
}

function typeOfLink({ url, mediaType }: Extract<Source, { readonly kind: "url" }>, usual: string): string {
  if (VIDEO_SITE.test(url)) return "video/mp4";
  return plainType(mediaType ?? "") ?? typeByEnding(url) ?? usual;
}

function isFetched(address: string): boolean {
  return /^(?:https|gs):\/\//i.test(address);
}

/** A media type; `undefined` when it says nothing. */
function plainType(mediaType: string): string | undefined {
  const type = plainMediaType(mediaType);
  return type === "" || type.endsWith("/*") || type === "application/octet-stream" ? undefined : type;
}
