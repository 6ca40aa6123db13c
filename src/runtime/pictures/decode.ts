import { decodePng } from "./decode-png.ts";
import type { Pixels } from "./pixels.ts";

/**
 * The picture of a PNG, JPEG or WebP file; `undefined` for a file of any other kind. What is not PNG is loaded when it
 * is first needed. Rejects for a broken file. How large it is, is to be looked at before.
 */
export async function decodePixels(bytes: Uint8Array<ArrayBuffer>): Promise<Pixels | undefined> {
  if (bytes[0] === 0x89) return decodePng(bytes);
  // The decoders take a buffer, and the whole of it.
  const whole = bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
  if (bytes[0] === 0xff) {
    const { default: decodeJpeg } = await import("@jsquash/jpeg/decode.js");
    return pixelsOf(await decodeJpeg(whole.buffer));
  }
  if (bytes[0] === 0x52) {
    const { default: decodeWebp } = await import("@jsquash/webp/decode.js");
    return pixelsOf(await decodeWebp(whole.buffer));
  }
  return undefined;
}

function pixelsOf({
  width,
  height,
  data,
}: Omit<Pixels, "pixels"> & { readonly data: Uint8ClampedArray }): Pixels {
  return { width, height, pixels: data };
}
