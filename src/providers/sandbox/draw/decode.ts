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
  if (bytes[0] === 0xff) return pictureOf(await (await jpeg())(bytes.buffer));
  if (bytes[0] === 0x52) return pictureOf(await (await webp())(bytes.buffer));
  return "a GIF, which is not shown";
}

/** What decoders have to say of a client's picture is nothing for our log. */
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

function pictureOf({ width, height, data }: PixelSize & { readonly data: Uint8ClampedArray }): GivenPicture {
  return { width, height, pixels: data };
}
