import type { Fact } from "../image-order.ts";
import type { Canvas, Colour, Paint } from "./canvas.ts";
import { fillPath } from "./fill.ts";
import { type Type, widthOf } from "./font.ts";
import type { Palette } from "./landscape.ts";
import { type Box, disc, rounded, stroke } from "./path.ts";
import { fitText, type Layout, LINE, oneLine, writeLines, writeText } from "./text.ts";
import { drawTiles, type Tile } from "./tiles.ts";

/** What is written over the landscape. */
export interface Poster {
  readonly model: string;
  readonly prompt: string;
  readonly facts: readonly Fact[];
  readonly ofMany?: readonly [number, number];
  readonly tiles: readonly Tile[];
  /** Room that is kept free at the foot of the panel, as a share of the image's measure. */
  readonly foot?: number;
}

/** Where things came to stand. */
export interface PosterPlaces {
  /** What was kept free at the foot of the panel. */
  readonly foot: Box;
  /** The image's measure: about a hundredth of its sides. */
  readonly unit: number;
}

const WHITE: Colour = [255, 255, 255];

/** No text is smaller, in pixels. */
const SMALLEST = 10.5;

/** Lays the panel, what stands in it, and what was given to go by over the image. */
export function drawPoster(canvas: Canvas, palette: Palette, poster: Poster): PosterPlaces {
  const { width, height } = canvas;
  const unit = Math.sqrt(width * height) / 100;
  const margin = Math.max(6, Math.min(width, height) * 0.04);
  const head = drawHead(canvas, { unit, margin, palette }, poster.ofMany);
  const inner = Math.max(5, margin * 0.75);
  const foot = (poster.foot ?? 0) * unit;
  const room = {
    width: width - 2 * margin - 2 * inner,
    height: (height - head - margin) * panelShare(width, poster.tiles) - 2 * inner - foot,
  };
  const text = layOut(poster, room, unit);
  const panel: Box = {
    x: margin,
    y: height - margin - 2 * inner - text.height - foot,
    width: width - 2 * margin,
    height: text.height + foot + 2 * inner,
  };
  drawPanel(canvas, panel, margin * 0.6, palette);
  writePanel(canvas, text, [panel.x + inner, panel.y + inner], palette);
  drawTiles(canvas, poster.tiles, {
    area: {
      x: margin,
      y: head + margin * 0.4,
      width: width - 2 * margin,
      height: panel.y - head - margin * 0.9,
    },
    unit,
    palette,
  });
  return {
    unit,
    foot: { x: panel.x + inner, y: panel.y + panel.height - inner - foot, width: room.width, height: foot },
  };
}

/** Less wide, an image is for trying things: it is kept light by what compresses well. */
const SMALL = 400;

function drawPanel(canvas: Canvas, panel: Box, radius: number, { near }: Palette): void {
  const isSmall = canvas.width < SMALL;
  fillPath(canvas, [rounded(panel, radius)], { colour: near, opacity: isSmall ? 1 : 0.74 });
  if (isSmall) return;
  const line = Math.max(1, radius * 0.06);
  const inset: Box = {
    x: panel.x + line,
    y: panel.y + line,
    width: panel.width - 2 * line,
    height: panel.height - 2 * line,
  };
  const ring = [rounded(panel, radius), rounded(inset, radius - line).toReversed()];
  fillPath(canvas, ring, { colour: WHITE, opacity: 0.22 });
}

/** How much of what is below the head the panel may take. */
function panelShare(width: number, tiles: readonly Tile[]): number {
  if (tiles.length > 0) return 0.46;
  return width < SMALL ? 0.85 : 0.62;
}

interface Setting {
  readonly unit: number;
  readonly margin: number;
  readonly palette: Palette;
}

/** The name of the house, and which of how many this is. Returns where it ends. */
function drawHead(canvas: Canvas, { unit, margin, palette }: Setting, ofMany: Poster["ofMany"]): number {
  const name = "SWITCHYARD SANDBOX";
  const wanted: Type = { size: Math.max(SMALLEST, unit * 2.5), weight: 118, spacing: 110 };
  const whole = widthOf(name, wanted) + wanted.size * 3.1;
  const type = { ...wanted, size: wanted.size * Math.min(1, (canvas.width - 2 * margin) / whole) };
  const height = type.size * 2;
  const logo = height * 0.5;
  const pill = (x: number, wide: number): void =>
    fillPath(canvas, [rounded({ x, y: margin, width: wide, height }, height / 2)], {
      colour: palette.near,
      opacity: 0.72,
    });
  const base = margin + height / 2 + type.size * 0.35;
  pill(margin, logo + widthOf(name, type) + height * 1.05);
  drawLogo(
    canvas,
    { x: margin + height * 0.42, y: margin + (height - logo) / 2, width: logo, height: logo },
    palette.accent,
  );
  writeText(canvas, name, [margin + height * 0.66 + logo, base], { ...type, paint: { colour: WHITE } });
  if (ofMany !== undefined) {
    const count = `${ofMany[0]}/${ofMany[1]}`;
    const wide = widthOf(count, type) + height * 0.8;
    pill(canvas.width - margin - wide, wide);
    writeText(canvas, count, [canvas.width - margin - wide + height * 0.44, base], {
      ...type,
      paint: { colour: WHITE },
    });
  }
  return margin + height;
}

/** A track that forks. */
function drawLogo(canvas: Canvas, { x, y, width, height }: Box, colour: Colour): void {
  const line = width * 0.17;
  const [low, high] = [y + height * 0.82, y + height * 0.18];
  fillPath(
    canvas,
    [
      ...stroke(
        [
          [x, low],
          [x + width, low],
        ],
        line,
      ),
      ...stroke(
        [
          [x + width * 0.14, low],
          [x + width * 0.5, high],
          [x + width * 0.86, high],
        ],
        line,
      ),
      disc([x + width * 0.93, high], line),
    ],
    { colour },
  );
}

/** What is written in the panel, set. */
interface PanelText {
  readonly model: string;
  readonly modelType: Type;
  readonly prompt: Layout;
  readonly facts: readonly (readonly Fact[])[];
  readonly factType: Type;
  readonly height: number;
  readonly gap: number;
}

function layOut(
  { model, prompt, facts }: Poster,
  room: { readonly width: number; readonly height: number },
  unit: number,
): PanelText {
  const modelType: Type = { size: Math.max(SMALLEST, unit * 2.1), weight: 100, spacing: 20 };
  const factType: Type = { size: Math.max(SMALLEST, unit * 1.9) };
  const gap = Math.max(2, unit * 1.1);
  const modelHeight = modelType.size * LINE;
  const lines = setFacts(facts, room.width, factType);
  const left = room.height - modelHeight - 2 * gap;
  // A small image has room for some of the facts only: the prompt comes first.
  const most = Math.max(0, Math.floor((left * 0.5) / (factType.size * LINE * 1.08)));
  const shown = lines.slice(0, most);
  const factHeight = shown.length * factType.size * LINE * 1.08;
  const words = fitText(
    prompt,
    { width: room.width, height: Math.max(SMALLEST * LINE, left - factHeight) },
    { from: Math.max(SMALLEST * 1.15, unit * 6), to: Math.max(SMALLEST, unit * 1.9), weight: 92 },
  );
  return {
    model: oneLine(model, room.width, modelType),
    modelType,
    prompt: words,
    facts: shown,
    factType,
    gap,
    height: modelHeight + words.height + (shown.length > 0 ? factHeight + gap : 0) + gap,
  };
}

/** Between two facts, in type sizes. */
const FACT_GAP = 1.5;

function setFacts(facts: readonly Fact[], width: number, type: Type): readonly (readonly Fact[])[] {
  const lines: Fact[][] = [];
  let used = Infinity;
  for (const [label, value] of facts) {
    const fact: Fact = [label, oneLine(value, width - widthOf(`${label}  `, type), type)];
    const wide = widthOf(`${fact[0]}  ${fact[1]}`, type) + type.size * FACT_GAP;
    if (used + wide - type.size * FACT_GAP > width) {
      lines.push([]);
      used = 0;
    }
    lines.at(-1)?.push(fact);
    used += wide;
  }
  return lines;
}

function writePanel(
  canvas: Canvas,
  text: PanelText,
  [x, top]: readonly [number, number],
  palette: Palette,
): void {
  const { model, modelType, prompt, facts, factType, gap } = text;
  const quiet: Paint = { colour: WHITE, opacity: 0.62 };
  let y = top;
  writeText(canvas, model, [x, y + modelType.size * 0.9], {
    ...modelType,
    paint: { colour: palette.accent },
  });
  y += modelType.size * LINE + gap;
  writeLines(canvas, prompt, [x, y], { colour: WHITE });
  y += prompt.height + gap;
  for (const line of facts) {
    let at = x;
    for (const [label, value] of line) {
      const base = y + factType.size;
      writeText(canvas, label, [at, base], { ...factType, paint: quiet });
      at += widthOf(`${label}  `, factType) - factType.size * 0.2;
      writeText(canvas, value, [at, base], { ...factType, weight: 96, paint: { colour: WHITE } });
      at += widthOf(value, factType) + factType.size * FACT_GAP;
    }
    y += factType.size * LINE * 1.08;
  }
}
