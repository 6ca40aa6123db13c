import type { Node } from "@takumi-rs/wasm";
import { imageSizeOf } from "../../../core/image-size.ts";
import type { MediaInput, PixelSize } from "../../../core/media.ts";
import { decodePixels } from "../../../runtime/images/decode.ts";
import type { Pixels } from "../../../runtime/images/pixels.ts";
import type { Reference } from "../image-order.ts";
import { css, type Setting } from "./landscape.ts";
import { box, picture, words } from "./renderer.ts";

/** Something that was given to go by, as it is shown: the image itself, or words about it. */
export interface Tile {
  readonly label: string;
  readonly shown: Pixels | string;
  /** Where the image is to be painted anew. */
  readonly mask?: Pixels;
}

/** Looks at what was given. What is only an address is shown as that: nothing is fetched. */
export async function readTiles(references: readonly Reference[], mask?: string): Promise<readonly Tile[]> {
  const tiles: Tile[] = [];
  for (const { label, input } of references) tiles.push({ label, shown: await look(input) });
  if (mask === undefined) return tiles;
  const shown = await look(mask);
  const [first, ...others] = tiles;
  if (typeof shown === "string" || first === undefined || typeof first.shown === "string")
    return [...tiles, { label: "mask", shown }];
  return [{ ...first, label: `${first.label} with mask`, mask: shown }, ...others];
}

async function look(input: string): Promise<Pixels | string> {
  return /^data:/i.test(input) ? decodeImage(input) : input.replace(/[?#].*$/s, "");
}

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

const PAPER = "#fcfbf8";
const INK = "#262a36";

/** The tiles side by side, as large as the area has room for. */
export function drawTiles(tiles: readonly Tile[], area: PixelSize, setting: Setting): Node {
  const columns = bestColumns(tiles.length, area);
  const cell = { width: area.width / columns, height: area.height / Math.ceil(tiles.length / columns) };
  const isRoom = Math.min(cell.width, cell.height) >= 24;
  const cards = isRoom ? tiles.map((tile) => cardOf(tile, cell, setting)) : [];
  const cells = cards.map((card) => box({ ...cell, alignItems: "center", justifyContent: "center" }, card));
  return box({ ...area, flexWrap: "wrap", justifyContent: "center", alignContent: "center" }, ...cells);
}

function bestColumns(count: number, { width, height }: PixelSize): number {
  const side = (columns: number): number =>
    Math.min(width / columns, (height / Math.ceil(count / columns)) * 1.15);
  let best = 1;
  for (let columns = 2; columns <= count; columns += 1) if (side(columns) > side(best)) best = columns;
  return best;
}

function cardOf({ label, shown, mask }: Tile, cell: PixelSize, { unit, palette }: Setting): Node {
  const side = Math.min(cell.width, cell.height);
  const border = Math.max(3, side * 0.028);
  const fontSize = Math.max(9, Math.min(unit * 1.9, cell.height * 0.09));
  const around = 2 * (side * 0.04 + border);
  const image = typeof shown === "string" ? { width: 4, height: 3 } : shown;
  const scale = Math.min(
    (cell.width - around) / image.width,
    (cell.height - around - fontSize * 1.5) / image.height,
  );
  if (image.height * scale < 12) return box({});
  const size = { width: Math.round(image.width * scale), height: Math.round(image.height * scale) };
  const content =
    typeof shown === "string"
      ? [iconAndWords(shown, fontSize, css(palette.near))]
      : imageLayers(shown, mask, size);
  return box(
    {
      flexDirection: "column",
      padding: border,
      borderRadius: border,
      backgroundColor: PAPER,
      boxShadow: `0 ${border * 0.6}px 0 ${css(palette.near, 0.35)}`,
      color: INK,
    },
    box({ ...size, position: "relative", backgroundColor: css(palette.skyBottom, 0.55) }, ...content),
    words(label, {
      width: size.width,
      height: fontSize * 1.5,
      fontSize,
      lineHeight: 1.7,
      whiteSpace: "nowrap",
      overflow: "hidden",
      textOverflow: "ellipsis",
    }),
  );
}

/** What is transparent shows as squares; what is to be painted anew, through stripes. */
function imageLayers(image: Pixels, mask: Pixels | undefined, size: PixelSize): readonly Node[] {
  const layer = { position: "absolute", left: 0, top: 0, ...size };
  const squares = box({
    ...layer,
    backgroundImage: "repeating-conic-gradient(#ccc 0 25%, #eee 0 50%)",
    backgroundSize: "16px 16px",
  });
  const layers = [squares, picture(sampled(image, size), layer)];
  if (mask === undefined) return layers;
  const stripes =
    "repeating-linear-gradient(135deg, hsla(330, 100%, 59%, 0.72) 0 8px, hsla(330, 100%, 59%, 0.5) 0 16px)";
  return [...layers, box({ ...layer, backgroundImage: stripes }), picture(sampled(image, size, mask), layer)];
}

/** An image in twice as many pixels as are shown, if it has them; of it, where there is a mask, what that keeps. */
function sampled(image: Pixels, shown: PixelSize, mask?: Pixels): Pixels {
  const width = Math.min(image.width, shown.width * 2);
  const height = Math.min(image.height, shown.height * 2);
  const pixels = new Uint8Array(width * height * 4);
  const placeIn = (from: Pixels, x: number, y: number): number =>
    (Math.floor((y * from.height) / height) * from.width + Math.floor((x * from.width) / width)) * 4;
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1) {
      const [from, to] = [placeIn(image, x, y), (y * width + x) * 4];
      for (let i = 0; i < 4; i += 1) pixels[to + i] = image.pixels[from + i] as number;
      if (mask === undefined) continue;
      const kept = mask.pixels[placeIn(mask, x, y) + 3] as number;
      pixels[to + 3] = Math.round(((pixels[to + 3] as number) * kept) / 255);
    }
  return { width, height, pixels };
}

/** What cannot be seen, as what it is and where. */
function iconAndWords(text: string, fontSize: number, colour: string): Node {
  const line = `fill="none" stroke="${colour}" stroke-width="8" stroke-linecap="round" stroke-linejoin="round"`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="-6 -6 112 92"><path d="${ICON}" ${line}/></svg>`;
  return box(
    {
      width: "100%",
      height: "100%",
      flexDirection: "column",
      alignItems: "center",
      justifyContent: "center",
      gap: fontSize * 0.6,
      overflow: "hidden",
    },
    picture(svg, { height: "32%", flexShrink: 0 }),
    words(text, {
      fontSize: fontSize * 1.15,
      maxWidth: "90%",
      textAlign: "center",
      overflowWrap: "anywhere",
    }),
  );
}

/** A frame with hills. */
const ICON = "M0 0H100V80H0ZM10 68L36 32L55 56L70 40L90 68";
