import { forgetCodecLocation } from "./codec-globals.ts";
import { decodePng } from "./decode-png.ts";
import type { Pixels } from "./pixels.ts";

/**
 * The image of a PNG, JPEG or WebP file; `undefined` for any other file. Decoders other than PNG's are loaded on first
 * use. Rejects for a broken file. The caller checks the size before.
 */
export async function decodePixels(bytes: Uint8Array<ArrayBuffer>): Promise<Pixels | undefined> {
  if (bytes[0] === 0x89) return decodePng(bytes);
  // The decoders take a buffer, and the whole of it.
  const whole = bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
  if (bytes[0] === 0xff) return pixelsOf(await (await jpeg())(whole.buffer));
  if (bytes[0] === 0x52) return pixelsOf(await (await webp())(whole.buffer));
  return undefined;
}

/** The decoders' own messages about images of others do not belong in our log. */
const QUIET = { print() {}, printErr() {} };

const jpeg = once(async () => {
  const { default: decodeJpeg, init } = await import("@jsquash/jpeg/decode.js");
  await init(QUIET);
  forgetCodecLocation();
  return decodeJpeg;
});

const webp = once(async () => {
  const { default: decodeWebp, init } = await import("@jsquash/webp/decode.js");
  await init(QUIET);
  forgetCodecLocation();
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
