import { encodePng } from "../../../src/runtime/images/encode-png.ts";
import type { Answer } from "../answer.ts";
import { joinBytes } from "../bytes.ts";
import { endlessBody, finAt, redirectTo, stallAt } from "../faults.ts";

/** What stands behind the URL of a result. */
export type FileKind =
  | "image"
  | "video"
  /** Four images in one, of four greys. */
  | "grid"
  /** A page that says that the link has expired, with a good status. */
  | "page"
  | "missing"
  /** The connection closes amid the file. */
  | "cut"
  /** It declares its true length, and what it has is the first half of an image. */
  | "half"
  | "pixel"
  /** Nothing comes after the first half. */
  | "stall"
  | "endless"
  | "redirect_to_private";

/** A whole black PNG; no two of different sizes are the same. */
export function testImage(width = 64, height = 48): Uint8Array {
  return encodePng({ width, height, pixels: new Uint8Array(width * height * 4) });
}

/** Four images in one: dark at the top left, then lighter row by row. */
export function testGrid(width = 64, height = 48): Uint8Array {
  const pixels = new Uint8Array(width * height * 4);
  for (let at = 0; at < width * height; at += 1) {
    const column = at % width < width / 2 ? 0 : 1;
    const row = at < (width * height) / 2 ? 0 : 1;
    pixels.fill(40 + 60 * (row * 2 + column), at * 4, at * 4 + 4);
  }
  return encodePng({ width, height, pixels });
}

/** The least that is an MP4: a video of no frames with a track of images. It is no file to look at. */
export function testVideo(seconds = 5): Uint8Array {
  const head = new Uint8Array(100);
  const view = new DataView(head.buffer);
  view.setUint32(12, 1_000);
  view.setUint32(16, seconds * 1_000);
  const handler = new Uint8Array(24);
  handler.set(new TextEncoder().encode("vide"), 8);
  const track = box("trak", box("mdia", box("hdlr", handler)));
  return joinBytes([
    box("ftyp", new TextEncoder().encode("isom\0\0\0\0isommp42")),
    box("moov", joinBytes([box("mvhd", head), track])),
    box("mdat", new Uint8Array(32)),
  ]);
}

function box(type: string, content: Uint8Array): Uint8Array {
  const head = new Uint8Array(8);
  new DataView(head.buffer).setUint32(0, content.length + 8);
  head.set(new TextEncoder().encode(type), 4);
  return joinBytes([head, content]);
}

/** The answer of a file server to who asks for a file of this kind. */
export function fileAnswer(kind: FileKind, seed: number): Answer {
  const png = testImage(64 + seed, 48);
  const image: Answer = { status: 200, headers: [["content-type", "image/png"]], body: png };
  switch (kind) {
    case "image":
      return image;
    case "video":
      return { status: 200, headers: [["content-type", "video/mp4"]], body: testVideo() };
    case "grid":
      return { ...image, body: testGrid() };
    case "page":
      return { status: 200, headers: [["content-type", "text/html"]], body: "<html>expired</html>" };
    case "missing":
      return { status: 404, headers: [["content-type", "application/xml"]], body: "<Error/>" };
    case "cut":
      return finAt(image, Math.floor(png.length / 2));
    case "half":
      return { ...image, body: png.subarray(0, Math.floor(png.length / 2)) };
    case "pixel":
      return { ...image, body: testImage(1, 1) };
    case "stall":
      return stallAt(image, Math.floor(png.length / 2));
    case "endless":
      return endlessBody(image, new Uint8Array(1024 * 1024));
    case "redirect_to_private":
      return redirectTo("http://169.254.169.254/latest/meta-data");
  }
}
