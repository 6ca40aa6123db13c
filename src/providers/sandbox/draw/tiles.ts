import type { PixelSize } from "../../../core/media.ts";
import type { Reference } from "../image-order.ts";
import { type Canvas, type Colour, mix } from "./canvas.ts";
import type { Pixels } from "../../../runtime/images/pixels.ts";
import { decodeImage } from "./decode.ts";
import { fillPath } from "./fill.ts";
import { widthOf } from "./font.ts";
import type { Palette } from "./landscape.ts";
import { type Box, type Contour, rounded, stroke } from "./path.ts";
import { fitText, LINE, oneLine, writeText } from "./text.ts";

/** Something that was given to go by, as it is shown: the image itself, or words about it. */
export interface Tile {
  readonly label: string;
  readonly kind: Reference["kind"];
  readonly shown: Pixels | string;
  /** Where the image is to be painted anew. */
  readonly mask?: Pixels;
}

/** Looks at what was given. What is only an address is shown as that: nothing is fetched. */
export async function readTiles(references: readonly Reference[], mask?: string): Promise<readonly Tile[]> {
  const tiles: Tile[] = [];
  for (const { label, kind, input } of references)
    tiles.push({ label, kind, shown: await look(kind, input) });
  if (mask === undefined) return tiles;
  const shown = await look("image", mask);
  const [first, ...others] = tiles;
  if (typeof shown === "string" || first === undefined || typeof first.shown === "string")
    return [...tiles, { label: "mask", kind: "image", shown }];
  return [{ ...first, label: `${first.label} with mask`, mask: shown }, ...others];
}

async function look(kind: Reference["kind"], input: string): Promise<Pixels | string> {
  if (!/^data:/i.test(input)) return input.replace(/[?#].*$/s, "");
  if (kind === "image") return decodeImage(input);
  const type = /^data:([^;,]*)/i.exec(input)?.[1] ?? "";
  const kilobytes = Math.ceil(((input.length - input.indexOf(",")) * 3) / 4 / 1_000);
  return `${type === "" ? kind : type}, ${kilobytes} kB`;
}

/** Where tiles are drawn, and how. */
interface TileSetting {
  readonly area: Box;
  readonly unit: number;
  readonly palette: Palette;
}

const PAPER: Colour = [252, 251, 248];
const INK: Colour = [38, 42, 54];
const MASKED: Colour = [255, 45, 150];

/** Draws the tiles side by side, as large as the area has room for. */
export function drawTiles(
  canvas: Canvas,
  tiles: readonly Tile[],
  { area, unit, palette }: TileSetting,
): void {
  const columns = bestColumns(tiles.length, area);
  const rows = Math.ceil(tiles.length / columns);
  const cell = { width: area.width / columns, height: area.height / rows };
  if (tiles.length === 0 || Math.min(cell.width, cell.height) < 24) return;
  tiles.forEach((tile, i) => {
    const row = Math.floor(i / columns);
    const inRow = Math.min(columns, tiles.length - row * columns);
    const left = area.x + (area.width - inRow * cell.width) / 2 + (i % columns) * cell.width;
    drawTile(canvas, tile, { area: { x: left, y: area.y + row * cell.height, ...cell }, unit, palette });
  });
}

function bestColumns(count: number, { width, height }: Box): number {
  const side = (columns: number): number =>
    Math.min(width / columns, (height / Math.ceil(count / columns)) * 1.15);
  let best = 1;
  for (let columns = 2; columns <= count; columns += 1) if (side(columns) > side(best)) best = columns;
  return best;
}

function drawTile(
  canvas: Canvas,
  { label, kind, shown, mask }: Tile,
  { area, unit, palette }: TileSetting,
): void {
  const gap = Math.min(area.width, area.height) * 0.04;
  const border = Math.max(3, Math.min(area.width, area.height) * 0.028);
  const size = Math.max(9, Math.min(unit * 1.9, area.height * 0.09));
  const room = {
    width: area.width - 2 * (gap + border),
    height: area.height - 2 * (gap + border) - size * 1.5,
  };
  if (room.height < 12) return;
  const image = typeof shown === "string" ? { width: 4, height: 3 } : shown;
  const scale = Math.min(room.width / image.width, room.height / image.height);
  const [width, height] = [Math.round(image.width * scale), Math.round(image.height * scale)];
  const card: Box = {
    x: area.x + (area.width - width) / 2 - border,
    y: area.y + (area.height - height - size * 1.5) / 2 - border,
    width: width + 2 * border,
    height: height + 2 * border + size * 1.5,
  };
  const shade = { ...card, y: card.y + border * 0.6 };
  fillPath(canvas, [rounded(shade, border)], { colour: palette.near, opacity: 0.35 });
  fillPath(canvas, [rounded(card, border)], { colour: PAPER });
  const box = { x: Math.round(card.x + border), y: Math.round(card.y + border), width, height };
  if (typeof shown === "string") drawWords(canvas, { kind, text: shown, size }, box, palette);
  else copyImage(canvas, shown, box, mask);
  const type = { size, weight: 92 };
  writeText(canvas, oneLine(label, width, type), [box.x, box.y + height + size * 1.25], {
    ...type,
    paint: { colour: INK },
  });
}

/** What cannot be seen, as what it is and where: in the middle of its box. */
function drawWords(
  canvas: Canvas,
  { kind, text, size }: { readonly kind: Tile["kind"]; readonly text: string; readonly size: number },
  box: Box,
  { skyBottom, near }: Palette,
): void {
  fillPath(canvas, [rounded(box, 2)], { colour: mix(skyBottom, PAPER, 0.45) });
  const height = Math.min(box.width, box.height) * 0.3;
  const width = height * 1.25;
  const gap = size * 0.6;
  const room = { width: box.width - size * 1.6, height: box.height - height - gap - size * 1.6 };
  const words = fitText(room.height < size ? "" : text, room, {
    from: size * 1.15,
    to: Math.max(8, size * 0.8),
  });
  const { lines, type } = words;
  const top = box.y + (box.height - height - gap - words.height) / 2;
  const icon: Box = { x: box.x + (box.width - width) / 2, y: top, width, height };
  fillPath(canvas, iconOf(kind, icon), { colour: near });
  lines.forEach((line, i) => {
    const left = box.x + (box.width - widthOf(line, type)) / 2;
    const below = top + height + gap + type.size * (0.98 + i * LINE);
    writeText(canvas, line, [left, below], { ...type, paint: { colour: INK } });
  });
}

/** A frame with hills, a triangle to play, or bars of sound. */
function iconOf(kind: Tile["kind"], { x, y, width, height }: Box): readonly Contour[] {
  const line = height * 0.1;
  const at = (across: number, down: number): readonly [number, number] => [
    x + width * across,
    y + height * down,
  ];
  if (kind === "audio")
    return [0.3, 0.8, 0.5, 1, 0.65, 0.35].flatMap((tall, i) =>
      stroke([at(0.1 + i * 0.16, 0.5 - tall / 2.4), at(0.1 + i * 0.16, 0.5 + tall / 2.4)], line),
    );
  const frame = stroke([at(0, 0), at(1, 0), at(1, 1), at(0, 1), at(0, 0)], line);
  if (kind === "video") return [...frame, [at(0.38, 0.25), at(0.7, 0.5), at(0.38, 0.75)]];
  return [
    ...frame,
    ...stroke([at(0.1, 0.85), at(0.36, 0.4), at(0.55, 0.7), at(0.7, 0.5), at(0.9, 0.85)], line),
  ];
}

/** Draws an image into a box, each pixel the mean of what falls on it; what is transparent shows as squares. */
function copyImage(canvas: Canvas, image: Pixels, box: Box, mask: Pixels | undefined): void {
  for (let row = 0; row < box.height; row += 1) {
    const y = box.y + row;
    if (y < 0 || y >= canvas.height) continue;
    for (let column = 0; column < box.width; column += 1) {
      const x = box.x + column;
      if (x < 0 || x >= canvas.width) continue;
      const part = { left: column / box.width, top: row / box.height };
      const step = { width: 1 / box.width, height: 1 / box.height };
      const [red, green, blue, opacity] = meanOf(image, part, step);
      const square = ((x >> 3) + (y >> 3)) & 1 ? 204 : 238;
      let colour = mix([square, square, square], [red, green, blue], opacity);
      if (mask !== undefined) {
        const open = 1 - meanOf(mask, part, step)[3];
        const isStripe = (x + y) % 16 < 8;
        colour = mix(colour, MASKED, open * (isStripe ? 0.72 : 0.5));
      }
      const at = (y * canvas.width + x) * 4;
      canvas.pixels.set(colour, at);
    }
  }
}

/** The mean colour of a part of an image, and its opacity from 0 to 1. */
function meanOf(
  { width, height, pixels }: Pixels,
  { left, top }: { readonly left: number; readonly top: number },
  step: PixelSize,
): readonly [number, number, number, number] {
  const [x0, y0] = [Math.floor(left * width), Math.floor(top * height)];
  const x1 = Math.min(width, Math.max(x0 + 1, Math.floor((left + step.width) * width)));
  const y1 = Math.min(height, Math.max(y0 + 1, Math.floor((top + step.height) * height)));
  let [red, green, blue, opacity] = [0, 0, 0, 0];
  for (let y = y0; y < y1; y += 1)
    for (let at = (y * width + x0) * 4; at < (y * width + x1) * 4; at += 4) {
      const alpha = pixels[at + 3] as number;
      red += (pixels[at] as number) * alpha;
      green += (pixels[at + 1] as number) * alpha;
      blue += (pixels[at + 2] as number) * alpha;
      opacity += alpha;
    }
  const share = Math.max(1, opacity);
  return [red / share, green / share, blue / share, opacity / (255 * Math.max(1, (x1 - x0) * (y1 - y0)))];
}
