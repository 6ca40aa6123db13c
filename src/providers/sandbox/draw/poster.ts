import type { Node } from "@takumi-rs/wasm";
import { createChance } from "../chance.ts";
import type { ImageOrder } from "../media/image-order.ts";
import { chooseColours, type Colours, landscapeSvg } from "./landscape.ts";
import { box, heightOf, LINE, picture, render, words } from "./renderer.ts";
import { drawTiles, readGiven } from "./tiles.ts";

/** No text is smaller, in pixels. */
const SMALLEST = 10.5;

/** No image has room for more than so much of a text. */
const MOST_TEXT = 4_000;

/** The width of the head with which of how many an image is, in type sizes. */
const HEAD_WIDTH = 21;

/** The file of an image: a landscape of the seed, over it what was asked for and what was given. */
export async function makeImage(order: ImageOrder): Promise<Uint8Array> {
  const { size, format } = order;
  const { width, height } = size;
  const chance = createChance(order.seed);
  const colours = chooseColours(chance);
  const { tiles, images } = await readGiven(order);
  const unit = Math.sqrt(width * height) / 100;
  const margin = Math.max(6, Math.min(width, height) * 0.04);
  const room = width - 2 * margin;
  const head = Math.min(Math.max(SMALLEST, unit * 2.5), room / HEAD_WIDTH);
  const below = height - head * 2 - 3 * margin;
  const most = below * (tiles.length > 0 ? 0.46 : 0.75);
  const panel = await fitPanel(order, { unit, room, most, colours });
  const area = { width: room, height: below - (await heightOf(panel, room)) };
  const root = box(
    "image",
    { ...size, padding: margin },
    picture("landscape", landscapeSvg(size, colours, chance), { ...size }),
    headOf(order, head, colours),
    drawTiles(tiles, area),
    panel,
  );
  return render(root, size, { format, images });
}

/** The name of the house with its sign, a track that forks; and which of how many this is. */
function headOf({ ofMany }: ImageOrder, fontSize: number, { near, accent }: Colours): Node {
  const stroke = `fill="none" stroke="${accent}" stroke-width="17" stroke-linecap="round" stroke-linejoin="round"`;
  const track = `<path d="M9 82H101M23 82L59 18H95" ${stroke}/><circle cx="98" cy="18" r="12" fill="${accent}"/>`;
  const logo = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 110 100">${track}</svg>`;
  const pill = (...children: readonly Node[]): Node => box("pill", { background: near }, ...children);
  const count = ofMany === undefined ? [] : [pill(words("", ofMany.join("/")))];
  return box("head", { fontSize }, pill(picture("logo", logo), words("", "SWITCHYARD SANDBOX")), ...count);
}

interface PanelSetting {
  readonly unit: number;
  readonly room: number;
  readonly most: number;
  readonly colours: Colours;
}

/** The model, the prompt as large as it fits, and the facts. At the smallest size it is cut. */
async function fitPanel(order: ImageOrder, setting: PanelSetting): Promise<Node> {
  const { unit, room, most } = setting;
  const prompt = order.prompt.trim().slice(0, MOST_TEXT);
  const smallest = Math.max(SMALLEST, unit * 1.9);
  for (let type = Math.max(SMALLEST * 1.15, unit * 6); ; type = Math.max(smallest, type * 0.9)) {
    const whole = panelOf(order, setting, { fontSize: type }, prompt);
    if ((await heightOf(whole, room)) <= most) return whole;
    if (type > smallest) continue;
    const others = await heightOf(panelOf(order, setting, { fontSize: type }, ""), room);
    const lineClamp = Math.max(1, Math.floor((most - others) / (type * LINE)));
    return panelOf(order, setting, { fontSize: type, lineClamp }, prompt);
  }
}

function panelOf(
  order: ImageOrder,
  setting: PanelSetting,
  type: { readonly fontSize: number; readonly lineClamp?: number },
  prompt: string,
): Node {
  const { unit, most, colours } = setting;
  const fontSize = Math.max(SMALLEST, unit * 1.9);
  // In a small image the prompt comes first.
  const maxHeight = Math.floor((most * 0.4) / (fontSize * LINE)) * fontSize * LINE;
  const facts = order.facts.map(([name, value]) =>
    box("fact", {}, words("name", name), words("line strong", value)),
  );
  return box(
    "panel",
    { fontSize, padding: Math.max(5, unit * 3), gap: Math.max(2, unit), background: colours.near },
    words("line strong", order.model, { color: colours.accent }),
    // The renderer cuts a text that may be cut even where a fraction of a pixel is missing.
    words(type.lineClamp === undefined ? "prompt" : "prompt cut", prompt, { ...type }),
    box("facts", { maxHeight }, ...facts),
  );
}
