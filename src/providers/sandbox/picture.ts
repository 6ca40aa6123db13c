import { crc32, deflateSync } from "node:zlib";
import { joinBytes } from "../../core/bytes.ts";
import type { Chance } from "./chance.ts";

/** The longer side in pixels: it is a picture to try things with. */
const SIDE = 96;

/** A PNG of `aspectRatio` (`16:9`; a square where it says nothing), in base64: two colours that chance has picked, shaded. */
export function drawPicture(aspectRatio: string | undefined, chance: Chance): string {
  const [wide = 1, high = 1] =
    /^(\d{1,3}):(\d{1,3})$/
      .exec(aspectRatio ?? "")
      ?.slice(1)
      .map(Number) ?? [];
  const longer = Math.max(wide, high, 1);
  const side = (part: number): number => Math.max(1, Math.round((SIDE * part) / longer));
  return encodePng(side(wide), side(high), [colour(chance), colour(chance)]).toBase64();
}

type Colour = readonly [number, number, number];

function colour(chance: Chance): Colour {
  return [chance.between(32, 224), chance.between(32, 224), chance.between(32, 224)];
}

/** Source: https://www.w3.org/TR/png-3/ */
export function encodePng(width: number, height: number, [from, to]: readonly [Colour, Colour]): Uint8Array {
  const row = 1 + width * 3;
  const pixels = new Uint8Array(row * height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const share = (x / width + y / height) / 2;
      for (const i of [0, 1, 2] as const)
        pixels[y * row + 1 + x * 3 + i] = Math.round(from[i] * (1 - share) + to[i] * share);
    }
  }
  const header = new DataView(new ArrayBuffer(13));
  header.setUint32(0, width);
  header.setUint32(4, height);
  header.setUint8(8, 8);
  header.setUint8(9, 2);
  return joinBytes([
    new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk("IHDR", new Uint8Array(header.buffer)),
    chunk("IDAT", deflateSync(pixels)),
    chunk("IEND", new Uint8Array(0)),
  ]);
}

function chunk(name: string, data: Uint8Array): Uint8Array {
  const named = joinBytes([new TextEncoder().encode(name), data]);
  const ends = new DataView(new ArrayBuffer(8));
  ends.setUint32(0, data.length);
  ends.setUint32(4, crc32(named));
  const bytes = new Uint8Array(ends.buffer);
  return joinBytes([bytes.slice(0, 4), named, bytes.slice(4)]);
}
