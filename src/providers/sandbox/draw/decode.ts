import { imageSizeOf } from "../../../core/image-size.ts";
import type { MediaInput, PixelSize } from "../../../core/media.ts";
import { decodePng, type GivenPicture } from "./decode-png.ts";

/** More are not decoded: they would take too much memory for being shown small. */
const MOST_PIXELS = 40_000_000;

/** The picture in a data URI; in words why there is none to be shown. */
export async function decodePicture(input: MediaInput): Promise<GivenPicture | string> {
  const size = imageSizeOf(input);
  if (size === undefined) return "not a picture that can be read";
  if (size.width * size.height > MOST_PIXELS) return `${size.width} × ${size.height}, too large to show`;
  try {
    return await decode(Uint8Array.fromBase64(input.slice(input.indexOf(",") + 1)));
  } catch {
    return "a broken picture";
  }
}

async function decode(bytes: Uint8Array<ArrayBuffer>): Promise<GivenPicture | string> {
  if (bytes[0] === 0x89) return decodePng(bytes);
  if (bytes[0] === 0xff) {
    const { default: decodeJpeg } = await import("@jsquash/jpeg/decode.js");
    return pictureOf(await decodeJpeg(bytes.buffer));
  }
  if (bytes[0] === 0x52) {
    const { default: decodeWebp } = await import("@jsquash/webp/decode.js");
    return pictureOf(await decodeWebp(bytes.buffer));
  }
  return "a GIF, which is not shown";
}

function pictureOf({ width, height, data }: PixelSize & { readonly data: Uint8ClampedArray }): GivenPicture {
  return { width, height, pixels: data };
}
