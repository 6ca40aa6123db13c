import type { ImageFormat } from "../../../core/media.ts";
import { encodePng } from "../../../runtime/images/encode-png.ts";
import type { Pixels } from "../../../runtime/images/pixels.ts";
import type { ImageOrder } from "../image-order.ts";
import { drawPoster } from "./poster.ts";
import { readTiles } from "./tiles.ts";

/** The file of an image. The same order is the same file. */
export async function makeImage(order: ImageOrder): Promise<Uint8Array> {
  const tiles = await readTiles(order.references, order.mask);
  return encodeImage(await drawPoster(order, tiles), order.format);
}

const QUALITY = 88;

/** The image as a file. What is not PNG is loaded when it is first needed. */
export async function encodeImage(image: Pixels, format: ImageFormat): Promise<Uint8Array> {
  if (format === "png") return encodePng(image);
  const { width, height, pixels } = image;
  const data = new Uint8ClampedArray(pixels);
  const rgba = { width, height, data, colorSpace: "srgb" } as const;
  if (format === "jpeg") {
    const { default: encode } = await import("@jsquash/jpeg/encode.js");
    return new Uint8Array(await encode(rgba, { quality: QUALITY, progressive: false }));
  }
  const { default: encode } = await import("@jsquash/webp/encode.js");
  // The quickest method: what is drawn here gets hardly smaller by the slower ones.
  return new Uint8Array(await encode(rgba, { quality: QUALITY, method: 0 }));
}
