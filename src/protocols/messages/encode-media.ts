import type { CacheMark, DocumentPart, ImagePart, Source } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json-value.ts";
import type { Losses } from "../losses.ts";
import { plainMediaType } from "../media-type.ts";

/** How the first bytes of a file begin in base64, by its media type. */
const BEGINNINGS: readonly (readonly [beginning: RegExp, mediaType: string])[] = [
  [/^iVBORw0KGgo/, "image/png"],
  [/^\/9j\//, "image/jpeg"],
  [/^R0lGOD/, "image/gif"],
  // RIFF, four bytes of length, WEBP.
  [/^UklGR.{6}XRUJQ/, "image/webp"],
  [/^JVBERi0/, "application/pdf"],
];

const IMAGES: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"]);

const TEXTS = /^(text\/[a-z0-9.+-]+|application\/(json|xml|yaml|x-yaml|javascript|[a-z0-9.-]+\+(json|xml)))$/;

/** An image as a block. Throws a 400 for one that the format does not take. */
export function imageBlock({ source, cache, at }: ImagePart, losses: Losses): JsonObject {
  if (source.kind !== "data") return { type: "image", source: remoteSource(source), ...cacheControl(cache) };
  const data = plainBase64(source.data);
  const mediaType = mediaTypeOf(data, source.mediaType);
  if (!IMAGES.has(mediaType)) throw losses.refusal({ place: "turns", at, why: "image_type", mediaType });
  return { type: "image", source: { type: "base64", media_type: mediaType, data }, ...cacheControl(cache) };
}

/** A document as a block: a PDF, or a text. Throws a 400 for one that the format does not take. */
export function documentBlock({ source, name, cache, at }: DocumentPart, losses: Losses): JsonObject {
  const title = name === undefined || name === "" ? {} : { title: name };
  const rest = { ...title, ...cacheControl(cache) };
  if (source.kind !== "data") return { type: "document", source: remoteSource(source), ...rest };
  const data = plainBase64(source.data);
  const mediaType = mediaTypeOf(data, source.mediaType);
  if (IMAGES.has(mediaType))
    return imageBlock({ type: "image", source, ...(cache === undefined ? {} : { cache }) }, losses);
  if (mediaType === "application/pdf")
    return { type: "document", source: { type: "base64", media_type: mediaType, data }, ...rest };
  if (!TEXTS.test(mediaType)) throw losses.refusal({ place: "turns", at, why: "file_type", mediaType });
  const text = textOf(data);
  if (text === undefined) throw losses.refusal({ place: "turns", at, why: "not_utf8" });
  return { type: "document", source: { type: "text", media_type: "text/plain", data: text }, ...rest };
}

/** A breakpoint as a member of its block. */
export function cacheControl(mark: CacheMark | undefined): JsonObject {
  if (mark === undefined) return {};
  return { cache_control: { type: mark.type, ...(mark.ttl === undefined ? {} : { ttl: mark.ttl }) } };
}

function remoteSource(source: Exclude<Source, { readonly kind: "data" }>): JsonObject {
  return source.kind === "url" ? { type: "url", url: source.url } : { type: "file", file_id: source.id };
}

/** What the bytes say, else what was said of them: senders are often wrong about images. */
function mediaTypeOf(data: string, told: string): string {
  return BEGINNINGS.find(([beginning]) => beginning.test(data))?.[1] ?? plainMediaType(told);
}

/** Base64 in the usual alphabet: what came in a URL may have escapes, the alphabet of URLs, and line ends. */
function plainBase64(data: string): string {
  if (!/[^A-Za-z0-9+/=]/.test(data)) return data;
  return data
    .replace(/%(2B|2F|3D|0A|0D|20)/gi, (_escape, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    )
    .replaceAll(/\s/g, "")
    .replaceAll("-", "+")
    .replaceAll("_", "/");
}

function textOf(data: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
