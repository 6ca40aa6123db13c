import { standardBase64, withoutPadding } from "../core/bytes/base64.ts";
import { present } from "../core/json/json-value.ts";
import { plainMediaType } from "./media-type.ts";
import { wrong } from "./request-json.ts";

/** A data URL taken apart. `data` is base64 as it was sent. */
export interface DataUrl {
  /** Lower case, without parameters. */
  readonly mediaType: string;
  readonly data: string;
  /** A thought signature that stood among the parameters, in plain base64 as its issuer wrote it. */
  readonly signature?: string;
}

/**
 * Takes a data URL apart. Parameters other than a thought signature mean nothing to models and go. Throws a 400 that
 * names `path` for one that is not base64.
 */
export function readDataUrl(url: string, path: string): DataUrl {
  const comma = url.indexOf(",");
  const [type = "", ...parameters] = url.slice("data:".length, Math.max(comma, 0)).split(";");
  const encoding = parameters.pop();
  const mediaType = plainMediaType(type);
  if (comma === -1 || encoding?.trim().toLowerCase() !== "base64" || mediaType === "")
    throw wrong(path, "must be a data URL with a media type and base64 data");
  const data = url.slice(comma + 1);
  if (!/\S/.test(data)) throw wrong(path, "must be a data URL with data in it");
  // Some write it as a URL needs it, or over many lines.
  if (/[^A-Za-z0-9+/=_\-%\s]/.test(data)) throw wrong(path, "must be a data URL whose data is base64");
  const signed = parameters
    .map((parameter) => /^\s*thought_signature=(.*)$/is.exec(parameter)?.[1])
    .find((value) => value !== undefined);
  // Clients that write the URL anew quote the signature, percent-encode it, or write plain base64.
  const signature = signed === undefined ? undefined : standardBase64(signed);
  if (signed !== undefined && signature === undefined)
    throw wrong(path, "has a thought_signature that is not base64: send it back as it came");
  return { mediaType, data, ...present({ signature }) };
}

/** An image as a data URL, its signature among the parameters in characters that such a place can hold. */
export function writeDataUrl({ mediaType, data, signature }: DataUrl): string {
  const written = withoutPadding(signature ?? "")
    .replaceAll("+", "-")
    .replaceAll("/", "_");
  const parameter = signature === undefined ? "" : `;thought_signature=${written}`;
  return `data:${mediaType}${parameter};base64,${data}`;
}
