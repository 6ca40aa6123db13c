import { withoutPadding } from "../../core/base64.ts";
import type { Part, Source } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json-value.ts";
import { invalid } from "../request-json.ts";

/** A part that holds a medium. */
export type MediaPart = Extract<Part, { readonly source: Source }>;

/** Whether a part holds a medium. */
export function isMedia(part: Part): part is MediaPart {
  return "source" in part;
}

/** The caller's field for each kind, and what is said of a medium that nothing else is known of. */
const KINDS = {
  image: { field: "image_url", mimeType: "image/jpeg" },
  document: { field: "file", mimeType: "application/pdf" },
  audio: { field: "audio_url", mimeType: "audio/mp3" },
  video: { field: "video_url", mimeType: "video/mp4" },
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

/** Addresses of videos at the one site that the vendor reads by itself. */
const VIDEO_SITE = /^https:\/\/(?:(?:www|m)\.)?(?:youtube\.com|youtu\.be)\//i;

/** A medium as `inlineData` or `fileData`. Throws a 400 for an address or a file that the format has no word for. */
export function encodeMedia(part: MediaPart): JsonObject {
  const { source } = part;
  const { field, mimeType: usual } = KINDS[part.type];
  const name = part.type === "document" ? part.name : undefined;
  switch (source.kind) {
    case "data":
      return {
        inlineData: { mimeType: plainType(source.mediaType) ?? byEnding(name) ?? usual, data: source.data },
      };
    case "url":
      return { fileData: { mimeType: typeOfLink(source, usual), fileUri: linkFor(source.url, field) } };
    case "file":
      if (!isOwnFile(source.id))
        throw invalid(
          `file_id names a file that this model's provider does not have: send it as file_data, or name it as files/<id>.`,
          "file_id",
        );
      return { fileData: { mimeType: byEnding(name) ?? byEnding(source.id) ?? usual, fileUri: source.id } };
  }
}

function typeOfLink({ url, mediaType }: Extract<Source, { readonly kind: "url" }>, usual: string): string {
  if (VIDEO_SITE.test(url)) return "video/mp4";
  return plainType(mediaType ?? "") ?? byEnding(url) ?? usual;
}

function linkFor(url: string, field: string): string {
  if (/^(?:https|gs):\/\//i.test(url)) return url;
  throw invalid(
    `${field}.url must be an https, gs or data address: this model's provider fetches no other.`,
    field,
  );
}

function isOwnFile(id: string): boolean {
  return /^files\/[\w-]+$/.test(id) || /^(?:https|gs):\/\//i.test(id);
}

/** A media type in lower case without its parameters, and by its registered name; `undefined` when it says nothing. */
function plainType(mediaType: string): string | undefined {
  const type = (mediaType.split(";")[0] ?? "").trim().toLowerCase();
  if (type === "" || type.endsWith("/*") || type === "application/octet-stream") return undefined;
  return type === "image/jpg" ? "image/jpeg" : type;
}

function byEnding(name: string | undefined): string | undefined {
  const ending = /\.([a-z0-9]+)$/i.exec((name ?? "").split(/[?#]/)[0] ?? "")?.[1]?.toLowerCase();
  return ending !== undefined && Object.hasOwn(ENDINGS, ending) ? ENDINGS[ending] : undefined;
}

/** The parameter of an image's media type that a signature travels in. */
const SIGNATURE = /;\s*thought_signature=([^;]+)/i;

/** The signature of an image, whether it was read from its address before or still stands there. */
export function imageSignature(part: Extract<Part, { readonly type: "image" }>): string | undefined {
  const said =
    part.signature ?? (part.source.kind === "data" ? SIGNATURE.exec(part.source.mediaType)?.[1] : undefined);
  return said === undefined ? undefined : standardBase64(said);
}

/** Base64 of any alphabet, padded or not, quoted or percent-encoded, as the same bytes in the standard form. */
export function standardBase64(text: string): string | undefined {
  const plain = withoutPadding(percentDecoded(text.trim().replace(/^"(.*)"$/, "$1")))
    .replace(/-/g, "+")
    .replace(/_/g, "/");
  if (!/^[A-Za-z0-9+/]+$/.test(plain) || plain.length % 4 === 1) return undefined;
  return plain.padEnd(Math.ceil(plain.length / 4) * 4, "=");
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
