import { decodePng } from "./decode-png.ts";
import type { Pixels } from "./pixels.ts";

/**
 * The image of a PNG, JPEG or WebP file; `undefined` for a file of any other kind. What is not PNG is loaded when it
 * is first needed. Rejects for a broken file. How large it is, is to be looked at before.
 */
export async function decodePixels(bytes: Uint8Array<ArrayBuffer>): Promise<Pixels | undefined> {
  if (bytes[0] === 0x89) return decodePng(bytes);
  // The decoders take a buffer, and the whole of it.
  const whole = bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
  if (bytes[0] === 0xff) return pixelsOf(await (await jpeg())(whole.buffer));
  if (bytes[0] === 0x52) return pixelsOf(await (await webp())(whole.buffer));
  return undefined;
}

/** What decoders have to say of an image that others made is nothing for our log. */
const QUIET = { print() {}, printErr() {} };

const jpeg = once(async () => {
  const { default: decodeJpeg, init } = await import("@jsquash/jpeg/decode.js");
  await init(QUIET);
  return decodeJpeg;
});

const webp = once(async () => {
  const { default: decodeWebp, init } = await import("@jsquash/webp/decode.js");
  await init(QUIET);
  return decodeWebp;
});

function once<Loaded>(load: () => Promise<Loaded>): () => Promise<Loaded> {
  let loading: Promise<Loaded> | undefined;
  return () => (loading ??= load());
}

function pixelsOf({
  width,
  height,
  data,
}: Omit<Pixels, "pixels"> & { readonly data: Uint8ClampedArray }): Pixels {
  return { width, height, pixels: data };
}
