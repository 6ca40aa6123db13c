import type { DocumentPart, Part, Source } from "../core/chat.ts";
import { filledText } from "../core/json/json-value.ts";
import { writeDataUrl } from "./data-url.ts";
import type { Losses } from "./losses.ts";
import { plainMediaType } from "./media-type.ts";

// What the formats of OpenAI's have in common where they tell a model media: data URLs, words for sound, names of files.

/** A part that is no text of the conversation itself. */
export type MediaPart = Extract<Part, { readonly type: "image" | "document" | "audio" | "video" }>;

/** Whether a part is one. */
export function isMedia(part: Part): part is MediaPart {
  return MEDIA.has(part.type);
}

const MEDIA: ReadonlySet<string> = new Set(["image", "document", "audio", "video"]);

/** How the ids of files begin in the stores of vendors. */
const FILES = { openai: "file-", anthropic: "file_", google: "files/" } as const;

/**
 * Refuses a medium that a provider of a format other than Google's cannot reach. Such a medium is behind a link that
 * nobody fetches, or in the store of a vendor other than the one whose format it is.
 */
export function refuseUnreachable(
  { source, at }: Pick<MediaPart, "source" | "at">,
  own: keyof typeof FILES,
  losses: Losses,
): void {
  if (source.kind === "url" && !/^(?:https?|data):/i.test(source.url))
    throw losses.refusal({ place: "turns", at, why: "not_fetched", schemes: "http, https" });
  if (source.kind !== "file") return;
  const isOthers = Object.entries(FILES).some(
    ([vendor, beginning]) => vendor !== own && source.id.startsWith(beginning),
  );
  if (isOthers) throw losses.refusal({ place: "turns", at, why: "others_file" });
}

/** The link to a medium, or its data as one; `usual` is what data without a type of their own are. */
export function urlOf(source: Source, usual: string, signature?: string): string {
  if (source.kind === "url") return source.url;
  if (source.kind === "file") return source.id;
  const mediaType = plainMediaType(source.mediaType) || usual;
  return writeDataUrl({ mediaType, data: source.data, ...(signature === undefined ? {} : { signature }) });
}

/** What the reference calls formats of sound that have another name as a media type. */
const FORMATS: Readonly<Record<string, string>> = {
  mpeg: "mp3",
  "x-wav": "wav",
  wave: "wav",
  "x-m4a": "m4a",
};

/** The reference's word for the format of a sound. */
export function audioFormat(mediaType: string): string | undefined {
  const kind = plainMediaType(mediaType).replace(/^audio\//, "");
  return Object.hasOwn(FORMATS, kind) ? FORMATS[kind] : kind;
}

const TEXT = /^text\/|^application\/(?:json|xml|yaml|x-yaml|javascript)$|\+(?:json|xml)$/;

/** A file that is a text, below its name; `undefined` for any other. */
export function textOfDocument({ source, name }: DocumentPart): string | undefined {
  if (source.kind !== "data" || !TEXT.test(plainMediaType(source.mediaType))) return undefined;
  const text = decoded(source.data);
  const title = filledText(name);
  return text === undefined || title === undefined ? text : `${title}\n\n${text}`;
}

/** The name of a file that has none: by it servers tell what it is. */
export function fileNameOf({ source, name }: DocumentPart): string {
  const mediaType = source.kind === "file" ? "" : plainMediaType(source.mediaType ?? "");
  const ending = mediaType === "application/pdf" || mediaType === "" ? ".pdf" : "";
  return filledText(name) ?? `document${ending}`;
}

function decoded(data: string): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.fromBase64(data));
  } catch {
    return undefined;
  }
}
