import type { ImageFormat } from "../../../core/media.ts";
import { encodePng } from "../../../runtime/images/encode-png.ts";
import type { Canvas } from "./canvas.ts";

const QUALITY = 88;

/** The image as a file. What is not PNG is loaded when it is first needed. */
export async function encodeImage(canvas: Canvas, format: ImageFormat): Promise<Uint8Array> {
  if (format === "png") return encodePng(canvas);
  const { width, height, pixels } = canvas;
  const image = { width, height, data: new Uint8ClampedArray(pixels.buffer), colorSpace: "srgb" } as const;
  if (format === "jpeg") {
    const { default: encode } = await import("@jsquash/jpeg/encode.js");
    return new Uint8Array(await encode(image, { quality: QUALITY, progressive: false }));
  }
  const { default: encode } = await import("@jsquash/webp/encode.js");
  // The quickest method: what is drawn here gets hardly smaller by the slower ones.
  return new Uint8Array(await encode(image, { quality: QUALITY, method: 0 }));
}
