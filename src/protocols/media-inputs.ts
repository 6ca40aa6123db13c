import { dataUriBytes, isDataUri } from "../core/media/data-uri.ts";
import { GatewayError } from "../core/errors.ts";
import { type ImageSize, imageSizeOf, rawImageSizeOf } from "../core/media/image-size.ts";
import { schemeOf } from "./links.ts";
import { invalid } from "./request-json.ts";

/** Kinds of media that a request for images or videos can bring. */
export type InputKind = "image" | "audio" | "video";

/** Longer links are none that anybody was given. */
const MAX_LINK = 8_192;

/** Pixels of an image that is given; more than any vendor takes, and less than would fill a decoder's memory. */
const MAX_PIXELS = 50_000_000;

/** The files that are taken, by the base64 of their first bytes. */
const SIGNATURES = {
  iVBORw0KGgo: "image/png",
  "/9j/": "image/jpeg",
  R0lGODdh: "image/gif",
  R0lGODlh: "image/gif",
  UklGR: "image/webp",
};

/**
 * Checks a medium of a request: a link (http, https) or a data URI, and of images also base64 alone. Images in the
 * request itself must be what their bytes say, which then is their media type. Gives it as a link or a data URI; throws
 * a 400 that names `path`.
 */
export function readInput(value: string, kind: InputKind, path: string): string {
  const scheme = schemeOf(value);
  if (scheme === "http" || scheme === "https") return checkedLink(value, path);
  if (scheme === "data") return readDataUri(value, kind, path);
  if (scheme !== undefined || kind !== "image") throw invalid(`${path} must be ${FORMS[kind]}.`, path);
  return readImage(value, path);
}

/** Checks a medium that must be a link: its provider fetches it. */
export function readLink(value: string, path: string): string {
  if (!/^https?:/i.test(value)) throw invalid(`${path} must be a link (http, https).`, path);
  return checkedLink(value, path);
}

/** The most bytes that a medium has which stands in the request itself; 0 for a link. */
export function inlineBytes(input: string): number {
  return isDataUri(input) ? dataUriBytes(input) : 0;
}

/** The size of an image, where it stands in the request itself. */
export function inlineSize(input: string): ImageSize | undefined {
  return isDataUri(input) ? imageSizeOf(input) : undefined;
}

/** Whether an image, where it stands in the request itself, is a PNG with transparency; `true` for a link. */
export function mayBeTransparentPng(input: string): boolean {
  if (!isDataUri(input)) return true;
  if (!input.startsWith("data:image/png;")) return false;
  // The colour type stands at byte 25 of every PNG: 4 and 6 have an alpha channel. A palette (3) may have one.
  const header = atob(input.slice(input.indexOf(",") + 1).slice(0, 36));
  return [3, 4, 6].includes(header.charCodeAt(25));
}

/**
 * A link as every reader of links understands it. Some readers repair whitespace, backslashes, percent signs or
 * credentials in the host, and others do not.
 */
const PLAIN_LINK = /^https?:\/\/[^\s/?#@\\%\p{Cc}]+(?:[/?#][^\s\\\p{Cc}]*)?$/iu;

const FORMS: Readonly<Record<InputKind, string>> = {
  image: "a link (http, https), a data URI of an image, or base64",
  audio: "a link (http, https) or a data URI of audio",
  video: "a link (http, https) or a data URI of a video",
};

function checkedLink(value: string, path: string): string {
  if (value.length > MAX_LINK) throw invalid(`${path} is longer than ${MAX_LINK} characters.`, path);
  if (!PLAIN_LINK.test(value) || !URL.canParse(value))
    throw invalid(`${path} must be a plain URL, without credentials or white space.`, path);
  return value;
}

function readDataUri(value: string, kind: InputKind, path: string): string {
  const comma = value.indexOf(",");
  const head = comma === -1 ? "" : value.slice(0, Math.min(comma, 1_024));
  const mediaType = /^data:([a-z]+\/[a-z0-9.+-]+)(?:;[^;,]*)*;base64$/i.exec(head)?.[1]?.toLowerCase();
  if (mediaType === undefined)
    throw invalid(`${path} must be a data URI with a media type and base64 data.`, path);
  if (!mediaType.startsWith(`${kind}/`))
    throw invalid(`${path} must be ${FORMS[kind]}: its media type says otherwise.`, path);
  const data = value.slice(comma + 1);
  if (kind === "image") return readImage(data, path);
  return `data:${mediaType};base64,${checkedBase64(data, path)}`;
}

function readImage(text: string, path: string): string {
  const mediaType = Object.entries(SIGNATURES).find(([start]) => text.startsWith(start))?.[1];
  const data = mediaType === undefined ? "" : checkedBase64(text, path);
  const size = rawImageSizeOf(data);
  if (size === undefined)
    throw invalid(`${path} must be ${FORMS.image}, of a PNG, JPEG, WebP or GIF file.`, path);
  const { width, height } = size;
  if (width * height <= MAX_PIXELS) return `data:${mediaType};base64,${data}`;
  const sentence = `${path} has ${width} by ${height} pixels: ${MAX_PIXELS} in all are the most.`;
  throw new GatewayError("input_too_large", sentence, { param: path });
}

/** The bits of the last letter that belong to no byte are 0. */
const LAST_LETTERS = /^(?:[^=]{3}|.[AEIMQUYcgkosw048]=|[AQgw]==)$/;

/** Line breaks, which some encoders put in, go; anything else that is no base64 is refused. */
function checkedBase64(text: string, path: string): string {
  const data = /[\r\n]/.test(text) ? text.replaceAll(/[\r\n]+/g, "") : text;
  const isWhole = data.length % 4 === 0 && LAST_LETTERS.test(data.slice(-3));
  if (!isWhole || !/^[A-Za-z0-9+/]+={0,2}$/.test(data)) throw invalid(`${path} is not valid base64.`, path);
  return data;
}
