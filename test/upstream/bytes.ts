const ENCODER = new TextEncoder();
const DECODER = new TextDecoder("utf-8", { ignoreBOM: true });

/** The UTF-8 bytes of a text; bytes are returned as they are. */
export function toBytes(source: string | Uint8Array): Uint8Array {
  return typeof source === "string" ? ENCODER.encode(source) : source;
}

/** The text of UTF-8 bytes, a BOM included; invalid sequences become U+FFFD. */
export function toText(bytes: Uint8Array): string {
  return DECODER.decode(bytes);
}

/** The bytes of a text whose characters are bytes: what an HTTP head is made of. */
export function latin1Bytes(text: string): Uint8Array {
  return Buffer.from(text, "latin1");
}

/** All parts in one new array. */
export function joinBytes(parts: readonly Uint8Array[]): Uint8Array {
  const [first, ...rest] = parts;
  if (first !== undefined && rest.length === 0) return first;
  return Buffer.concat(parts);
}
