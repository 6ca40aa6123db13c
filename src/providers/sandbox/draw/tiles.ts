import type { ImageSource, Node } from "@takumi-rs/wasm";
import { imageSizeOf } from "../../../core/media/image-size.ts";
import type { MediaInput, PixelSize } from "../../../core/media/media.ts";
import type { ImageOrder } from "../media/image-order.ts";
import { box, picture, render, words } from "./renderer.ts";

/** Something that was given to go by, as it is shown: the image itself, or words about it. */
export interface Tile {
  readonly label: string;
  readonly shown: GivenImage | string;
  /** Whether the mask says where the image is to be painted anew. */
  readonly isMasked?: boolean;
}

interface GivenImage {
  readonly size: PixelSize;
  readonly bytes: Uint8Array;
}

/** What was given, and the mask, as style sheets name it. */
export interface Given {
  readonly tiles: readonly Tile[];
  readonly images: ImageSource[];
}

/** Looks at what was given. What is only an address is shown as that: nothing is fetched. */
export async function readGiven({ references, mask }: ImageOrder): Promise<Given> {
  const tiles: Tile[] = [];
  for (const { label, input } of references) tiles.push({ label, shown: await look(input) });
  if (mask === undefined) return { tiles, images: [] };
  const shown = await look(mask);
  const [first, ...others] = tiles;
  if (typeof shown === "string" || first === undefined || typeof first.shown === "string")
    return { tiles: [...tiles, { label: "mask", shown }], images: [] };
  const masked = { ...first, label: `${first.label} with mask`, isMasked: true };
  return { tiles: [masked, ...others], images: [{ src: "mask", data: shown.bytes }] };
}

/** More are not decoded: they would take too much memory for being shown small. */
const MOST_PIXELS = 40_000_000;

/** The image in a data URI; in words why there is none to be shown. */
async function look(input: MediaInput): Promise<GivenImage | string> {
  if (!/^data:/i.test(input)) return input.replace(/[?#].*$/s, "");
  const size = imageSizeOf(input);
  if (size === undefined) return "not an image that can be read";
  if (size.width * size.height > MOST_PIXELS) return `${size.width} × ${size.height}, too large to show`;
  try {
    const bytes = Uint8Array.fromBase64(input.slice(input.indexOf(",") + 1));
    await render(picture("", bytes), { width: 1, height: 1 }, { format: "raw" });
    return { size, bytes };
  } catch {
    return "a broken image";
  }
}

/** The tiles side by side, as large as the area has room for. */
export function drawTiles(tiles: readonly Tile[], area: PixelSize): Node {
  const columns = bestColumns(tiles.length, area);
  const cell = { width: area.width / columns, height: area.height / Math.ceil(tiles.length / columns) };
  const isRoom = Math.min(cell.width, cell.height) >= 24;
  const cards = isRoom ? tiles.map((tile) => box("cell", cell, cardOf(tile, cell))) : [];
  return box("tiles", { ...area }, ...cards);
}

function bestColumns(count: number, { width, height }: PixelSize): number {
  const side = (columns: number): number =>
    Math.min(width / columns, (height / Math.ceil(count / columns)) * 1.15);
  let best = 1;
  for (let columns = 2; columns <= count; columns += 1) if (side(columns) > side(best)) best = columns;
  return best;
}

/** An image on paper, as large as there is room. What is transparent shows as squares. */
function cardOf({ label, shown, isMasked = false }: Tile, cell: PixelSize): Node {
  const fontSize = Math.max(9, Math.min(20, cell.height * 0.08));
  const { width, height } = typeof shown === "string" ? { width: 4, height: 3 } : shown.size;
  const scale = Math.min((cell.width * 0.92) / width, (cell.height * 0.92 - fontSize * 1.8) / height);
  if (height * scale < 12) return box("", {});
  const layer = { width: Math.round(width * scale), height: Math.round(height * scale) };
  const layers =
    typeof shown === "string"
      ? [box("layer told", layer, words("", shown))]
      : [
          box("layer squares", layer),
          picture("layer", shown.bytes, layer),
          // What is to be painted anew shows through stripes.
          ...(isMasked ? [box("layer stripes", layer), picture("layer masked", shown.bytes, layer)] : []),
        ];
  return box(
    "card",
    { fontSize },
    box("layers", layer, ...layers),
    words("label", label, { width: layer.width }),
  );
}

export const TILES_CSS = `
  .tiles { display: flex; flex-wrap: wrap; justify-content: center; align-content: center }
  .cell { display: flex; align-items: center; justify-content: center }
  .card { display: flex; flex-direction: column; padding: 0.5em 0.5em 0; border-radius: 0.5em;
    background: #fcfbf8; color: #262a36 }
  .label { line-height: 1.6; white-space: nowrap; overflow: hidden; text-overflow: ellipsis }
  .layers { display: block; position: relative }
  .layer { position: absolute; left: 0; top: 0 }
  .told { display: flex; align-items: center; justify-content: center; padding: 0.5em;
    background: #dde3ea; overflow: hidden; text-align: center; overflow-wrap: anywhere }
  .squares { background: repeating-conic-gradient(#ccc 0 25%, #eee 0 50%) 0 0 / 16px 16px }
  .stripes { background: repeating-linear-gradient(135deg, hsla(330, 100%, 59%, 0.72) 0 8px,
    hsla(330, 100%, 59%, 0.5) 0 16px) }
  .masked { mask-image: url(mask); mask-size: 100% 100% }
`;
