import type { Canvas, Paint } from "./canvas.ts";
import { fillTogether } from "./fill.ts";
import { shapesOf, type Type, widthOf } from "./font.ts";
import type { Point } from "./path.ts";

/** From base line to base line, in type sizes. */
export const LINE = 1.32;

/** No image has room for more than so much of a text. */
const MOST_TEXT = 4_000;

/** Text in lines that fit into a width. */
export interface Layout {
  readonly type: Type;
  readonly lines: readonly string[];
  readonly height: number;
}

/** Writes a line whose base line begins at a point. */
export function writeText(
  canvas: Canvas,
  text: string,
  at: Point,
  style: Type & { readonly paint: Paint },
): void {
  fillTogether(canvas, shapesOf(text, at, style), style.paint);
}

/** Writes lines, the first of them right below (`x`, `y`). */
export function writeLines(canvas: Canvas, { lines, type }: Layout, [x, y]: Point, paint: Paint): void {
  lines.forEach((line, i) =>
    writeText(canvas, line, [x, y + type.size * (0.98 + i * LINE)], { ...type, paint }),
  );
}

/**
 * The text as large as it fits into a box, between two type sizes; at the smallest the rest is left out with an
 * ellipsis.
 */
export function fitText(
  text: string,
  room: { readonly width: number; readonly height: number },
  { from, to, weight }: { readonly from: number; readonly to: number; readonly weight?: number },
): Layout {
  const shown = text.trim().slice(0, MOST_TEXT);
  for (let size = from; ; size = Math.max(to, size * 0.9)) {
    const type: Type = weight === undefined ? { size } : { size, weight };
    const lines = wrap(shown, room.width, type);
    const most = Math.max(1, Math.floor(room.height / (size * LINE)));
    if (lines.length <= most || size <= to) return laidOut(type, shorten(lines, most, room.width, type));
  }
}

function laidOut(type: Type, lines: readonly string[]): Layout {
  return { type, lines, height: lines.length * type.size * LINE };
}

/** One line, its end left out where it is too long. */
export function oneLine(text: string, width: number, type: Type): string {
  return shorten(wrap(text.replaceAll(/\s+/g, " "), width, type), 1, width, type)[0] ?? "";
}

function shorten(lines: readonly string[], most: number, width: number, type: Type): readonly string[] {
  if (lines.length <= most) return lines;
  const kept = lines.slice(0, most);
  const letters = Array.from(kept.at(-1) ?? "");
  while (letters.length > 0 && widthOf(`${letters.join("").trimEnd()}…`, type) > width) letters.pop();
  return [...kept.slice(0, -1), `${letters.join("").trimEnd()}…`];
}

/** Lines no wider than `width`: broken between words, beside ideographs, and within words that are too long. */
function wrap(text: string, width: number, type: Type): readonly string[] {
  const lines: string[] = [];
  for (const paragraph of text.split(/\r?\n/)) {
    let line = "";
    let used = 0;
    for (const word of paragraph.match(/[\u2e80-\uffdc]\p{P}*|\s+|[^\s\u2e80-\uffdc]+/gu) ?? []) {
      for (const part of fitting(word, width, type)) {
        const wide = widthOf(part, type);
        if (used > 0 && used + widthOf(part.trimEnd(), type) > width) {
          lines.push(line.trimEnd());
          line = "";
          used = 0;
        }
        if (used === 0 && part.trim() === "") continue;
        line += part;
        used += wide;
      }
    }
    lines.push(line.trimEnd());
  }
  return lines;
}

/** A word in parts that fit. */
function fitting(word: string, width: number, type: Type): readonly string[] {
  if (widthOf(word, type) <= width) return [word];
  const parts: string[] = [];
  let part = "";
  for (const letter of word) {
    if (part !== "" && widthOf(part + letter, type) > width) {
      parts.push(part);
      part = "";
    }
    part += letter;
  }
  return [...parts, part];
}
