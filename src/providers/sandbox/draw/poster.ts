import type { Node } from "@takumi-rs/wasm";
import type { PixelSize } from "../../../core/media.ts";
import type { Pixels } from "../../../runtime/images/pixels.ts";
import { createChance } from "../chance.ts";
import type { Fact, ImageOrder } from "../image-order.ts";
import { choosePalette, css, landscapeSvg, type Setting } from "./landscape.ts";
import { box, heightOf, picture, render, type Style, words } from "./renderer.ts";
import { drawTiles, type Tile } from "./tiles.ts";

const WHITE = "#fff";

/** No text is smaller, in pixels. */
const SMALLEST = 10.5;

/** From base line to base line, in type sizes. */
const LINE = 1.32;

/** No image has room for more than so much of a text. */
const MOST_TEXT = 4_000;

/** Less wide, an image is for trying things: it is kept light by what compresses well. */
const SMALL = 400;

const ONE_LINE: Style = {
  whiteSpace: "nowrap",
  overflow: "hidden",
  textOverflow: "ellipsis",
  maxWidth: "100%",
};

/** A landscape of the seed, and over it what was asked for and what was given to go by. */
export async function drawPoster(order: ImageOrder, tiles: readonly Tile[]): Promise<Pixels> {
  const { size } = order;
  const { width, height } = size;
  const chance = createChance(order.seed);
  const palette = choosePalette(chance);
  const landscape = landscapeSvg(size, palette, chance);
  const setting: Setting = {
    unit: Math.sqrt(width * height) / 100,
    margin: Math.max(6, Math.min(width, height) * 0.04),
    palette,
    size,
  };
  const { margin } = setting;
  const head = headOf(order, setting);
  const room = height - head.height - 2 * margin;
  const panel = await panelOf(order, setting, room * panelShare(width, tiles));
  const area = { width: width - 2 * margin, height: room - panel.height - 0.9 * margin };
  const root = box(
    {
      ...size,
      position: "relative",
      flexDirection: "column",
      fontFamily: "Roboto",
      color: WHITE,
      padding: margin,
    },
    picture(landscape, backgroundOf(size)),
    head.node,
    box({ ...area, margin: `${margin * 0.4}px 0 auto` }, drawTiles(tiles, area, setting)),
    panel.node,
  );
  return render(root, size);
}

/** Longer, a landscape is drawn in a quarter of the pixels and stretched: nobody sees it, and memory is saved. */
const LARGE = 3_000;

function backgroundOf({ width, height }: PixelSize): Style {
  const times = Math.max(width, height) > LARGE ? 2 : 1;
  return {
    position: "absolute",
    zIndex: -1,
    left: 0,
    top: 0,
    width: width / times,
    height: height / times,
    transform: `scale(${times})`,
    transformOrigin: "0 0",
  };
}

interface Part {
  readonly node: Node;
  readonly height: number;
}

/** How much of what is below the head the panel may take. */
function panelShare(width: number, tiles: readonly Tile[]): number {
  if (tiles.length > 0) return 0.46;
  return width < SMALL ? 0.85 : 0.62;
}

/** Width of the name and what is about it, in type sizes. */
const NAME_WIDTH = 17;

/** The name of the house, and which of how many this is. */
function headOf({ ofMany }: ImageOrder, { unit, margin, palette, size }: Setting): Part {
  const room = size.width - 2 * margin;
  const type = Math.min(Math.max(SMALLEST, unit * 2.5), room / (NAME_WIDTH + (ofMany === undefined ? 0 : 4)));
  const height = type * 2;
  const pill = (...children: readonly Node[]): Node =>
    box(
      {
        height,
        padding: `0 ${type}px`,
        borderRadius: height / 2,
        alignItems: "center",
        gap: type * 0.6,
        backgroundColor: css(palette.near, 0.72),
      },
      ...children,
    );
  const name = words("SWITCHYARD SANDBOX", { letterSpacing: type * 0.11, whiteSpace: "nowrap" });
  const count = ofMany === undefined ? [] : [pill(words(ofMany.join("/"), {}))];
  const node = box(
    { justifyContent: "space-between", fontSize: type, fontWeight: 500 },
    pill(picture(logoSvg(css(palette.accent)), { width: type * 1.1, height: type }), name),
    ...count,
  );
  return { node, height };
}

/** A track that forks. */
function logoSvg(colour: string): string {
  const line = `fill="none" stroke="${colour}" stroke-width="17" stroke-linecap="round" stroke-linejoin="round"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 110 100"><path d="M9 82H101M23 82L59 18H95" ${line}/><circle cx="98" cy="18" r="12" fill="${colour}"/></svg>`;
}

/** The model, the prompt as large as it fits, and the facts. */
async function panelOf(order: ImageOrder, setting: Setting, height: number): Promise<Part> {
  const { unit, margin, palette, size } = setting;
  const isSmall = size.width < SMALL;
  const padding = Math.max(5, margin * 0.75);
  const gap = Math.max(2, unit * 1.1);
  const width = size.width - 2 * margin - 2 * padding;
  const type = Math.max(SMALLEST, unit * 2.1);
  const room = height - 2 * padding - type * LINE - 2 * gap;
  const facts = await factsOf(order.facts, width, Math.max(SMALLEST, unit * 1.9), room * 0.5);
  const left = Math.max(SMALLEST * LINE, room - facts.height);
  const prompt = await promptOf(order.prompt, { width, height: left }, unit);
  const model = words(order.model, {
    ...ONE_LINE,
    fontSize: type,
    lineHeight: LINE,
    color: css(palette.accent),
    fontWeight: 500,
  });
  const node = box(
    {
      flexDirection: "column",
      flexShrink: 0,
      gap,
      padding,
      borderRadius: margin * 0.6,
      backgroundColor: css(palette.near, isSmall ? 1 : 0.74),
      ...(isSmall ? {} : { border: `${Math.max(1, margin * 0.036)}px solid rgba(255, 255, 255, 0.22)` }),
    },
    model,
    prompt.node,
    ...(facts.height > 0 ? [facts.node] : []),
  );
  return { node, height: await heightOf(node, size.width - 2 * margin) };
}

/** As large as it fits; at the smallest size the rest is left out with an ellipsis. */
async function promptOf(text: string, room: PixelSize, unit: number): Promise<Part> {
  const smallest = Math.max(SMALLEST, unit * 1.9);
  const shown = text.trim().slice(0, MOST_TEXT);
  for (let fontSize = Math.max(SMALLEST * 1.15, unit * 6); ; fontSize = Math.max(smallest, fontSize * 0.9)) {
    const lines = Math.max(1, Math.floor(room.height / (fontSize * LINE)));
    const style = {
      fontSize,
      lineHeight: LINE,
      fontWeight: 500,
      whiteSpace: "pre-wrap",
      overflowWrap: "anywhere",
    };
    const height = await heightOf(words(shown, style), room.width);
    if (height <= lines * fontSize * LINE + 1) return { node: words(shown, style), height };
    if (fontSize > smallest) continue;
    const cut = { ...style, lineClamp: lines, textOverflow: "ellipsis", overflow: "hidden" };
    return { node: words(shown, cut), height: lines * fontSize * LINE };
  }
}

/** As many lines of facts as there is room for: in a small image the prompt comes first. */
async function factsOf(facts: readonly Fact[], width: number, fontSize: number, room: number): Promise<Part> {
  const line = fontSize * LINE * 1.08;
  const style = { flexWrap: "wrap", columnGap: fontSize * 1.5, fontSize, lineHeight: LINE * 1.08 };
  const shown = facts.map(([label, value]) =>
    box(
      { gap: fontSize * 0.4, maxWidth: "100%" },
      words(label, { opacity: 0.62, whiteSpace: "nowrap" }),
      words(value, { ...ONE_LINE, fontWeight: 500 }),
    ),
  );
  const whole = await heightOf(box(style, ...shown), width);
  const height = Math.max(0, Math.min(Math.round(whole / line), Math.floor(room / line)) * line);
  return { node: box({ ...style, height, overflow: "hidden" }, ...shown), height };
}
