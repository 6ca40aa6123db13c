import { imageSizeOf } from "../../../core/image-size.ts";
import type { MediaInput } from "../../../core/media.ts";
import { decodePixels } from "../../../runtime/images/decode.ts";
import type { Pixels } from "../../../runtime/images/pixels.ts";

/** More are not decoded: they would take too much memory for being shown small. */
const MOST_PIXELS = 40_000_000;

/** The image in a data URI; in words why there is none to be shown. */
export async function decodeImage(input: MediaInput): Promise<Pixels | string> {
  const size = imageSizeOf(input);
  if (size === undefined) return "not an image that can be read";
  if (size.width * size.height > MOST_PIXELS) return `${size.width} × ${size.height}, too large to show`;
  try {
    const pixels = await decodePixels(Uint8Array.fromBase64(input.slice(input.indexOf(",") + 1)));
    return pixels ?? "a GIF, which is not shown";
  } catch {
    return "a broken image";
  }
}
