/** A data URI taken apart. */
export interface DataUri {
  /** As it is written, in lower case and without parameters; may be empty. */
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** Whether `text` begins like a data URI. */
export function isDataUri(text: string): boolean {
  return text.slice(0, 5).toLowerCase() === "data:";
}

/** The most bytes that a data URI of base64 can hold, by its length. */
export function dataUriBytes(text: string): number {
  return Math.floor(((text.length - text.indexOf(",") - 1) * 3) / 4);
}

/**
 * The bytes of a data URI in plain base64: the letters of RFC 4648, padded, nothing between them. `undefined` for any
 * other.
 */
export function readDataUri(text: string): DataUri | undefined {
  const comma = text.indexOf(",");
  // Without a comma all of it counts as base64, which has no colon.
  const head = text.slice(0, comma).toLowerCase();
  if (!head.startsWith("data:") || !head.endsWith(";base64")) return undefined;
  const base64 = text.slice(comma + 1);
  // The decoder would step over white space.
  if (/\s/.test(base64)) return undefined;
  const [type = ""] = head.slice(5).split(";");
  try {
    return {
      mediaType: type.trim(),
      bytes: Uint8Array.fromBase64(base64, { alphabet: "base64", lastChunkHandling: "strict" }),
    };
  } catch {
    return undefined;
  }
}
