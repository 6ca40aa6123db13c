import type { ImageSource, Node } from "@takumi-rs/wasm";
import { imageSizeOf } from "../../../core/media/image-size.ts";
import type { MediaInput, PixelSize } from "../../../core/media/media.ts";
import type { ImageOrder } from "../media/image-order.ts";
import { box, picture, render, words } from "./renderer.ts";

/** Something that was given to go by, as it is shown: the image itself, or words about it. */
interface Tile {
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
interface Given {
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
export function drawTiles(tiles: readonly Tile[], { width, height }: PixelSize): Node {
  const rowsOf = (columns: number): number => Math.ceil(tiles.length / columns);
  const side = (columns: number): number => Math.min(width / columns, (height / rowsOf(columns)) * 1.15);
  const columns = tiles.reduce((best, _, i) => (side(i + 1) > side(best) ? i + 1 : best), 1);
  const cell = { width: width / columns, height: height / rowsOf(columns) };
  const isRoom = Math.min(cell.width, cell.height) >= 24;
  const cards = isRoom ? tiles.map((tile) => box("cell", cell, cardOf(tile, cell))) : [];
  return box("tiles", { width, height }, ...cards);
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
