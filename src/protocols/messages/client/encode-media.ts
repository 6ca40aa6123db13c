import type { DocumentPart, ImagePart } from "../../../core/chat.ts";
import { filledText, type JsonObject } from "../../../core/json/json-value.ts";
import type { Losses } from "../../losses.ts";
import { plainMediaType } from "../../media-type.ts";
import { refuseUnreachable } from "../../told-media.ts";

/** How the first bytes of a file begin in base64, by its media type. */
const BEGINNINGS: readonly (readonly [beginning: RegExp, mediaType: string])[] = [
  [/^iVBORw0KGgo/, "image/png"],
  [/^\/9j\//, "image/jpeg"],
  [/^R0lGOD/, "image/gif"],
  // RIFF, four bytes of length, WEBP.
  [/^UklGR.{6}XRUJQ/, "image/webp"],
  [/^JVBERi0/, "application/pdf"],
];

const IMAGE = /^image\/(jpeg|png|gif|webp)$/;

const TEXT = /^(text\/[a-z0-9.+-]+|application\/(json|xml|yaml|x-yaml|javascript|[a-z0-9.-]+\+(json|xml)))$/;

/** An image, a PDF or a text as a block. Throws a 400 for one that the format does not take. */
export function mediaBlock(part: ImagePart | DocumentPart, losses: Losses): JsonObject {
  const { source, cache, at } = part;
  refuseUnreachable(part, "anthropic", losses);
  const block = (type: "image" | "document", held: JsonObject): JsonObject => {
    const title = type === "document" && part.type === type ? filledText(part.name) : undefined;
    return { type, source: held, title, cache_control: cache };
  };
  if (source.kind === "url") return block(part.type, { type: "url", url: source.url });
  if (source.kind === "file") return block(part.type, { type: "file", file_id: source.id });
  const data = plainBase64(source.data);
  const mediaType = mediaTypeOf(data, source.mediaType);
  const held = { type: "base64", media_type: mediaType, data };
  if (IMAGE.test(mediaType)) return block("image", held);
  if (part.type === "image") throw losses.refusal({ place: "turns", at, why: "image_type", mediaType });
  if (mediaType === "application/pdf") return block("document", held);
  if (!TEXT.test(mediaType)) throw losses.refusal({ place: "turns", at, why: "file_type", mediaType });
  const text = textOf(data);
  if (text === undefined) throw losses.refusal({ place: "turns", at, why: "not_utf8" });
  return block("document", { type: "text", media_type: "text/plain", data: text });
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
