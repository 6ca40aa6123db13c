import { GLYPHS, MARKS } from "./glyphs.ts";
import { ALIKE, GREEK_CYRILLIC, SMALL_CAPITALS } from "./greek-cyrillic.ts";
import { arc, type Contour, disc, type Point, stroke } from "./path.ts";

/** How text is written. */
export interface Type {
  /** In pixels; capitals are seven tenths of it high. */
  readonly size: number;
  /** Of the lines, in thousandths of the size; absent: 78. */
  readonly weight?: number;
  /** Added behind every letter, in thousandths of the size. */
  readonly spacing?: number;
}

/** A letter in thousandths of the type size, up from the base line. */
interface Glyph {
  readonly advance: number;
  readonly lines: readonly (readonly Point[])[];
  readonly dots: readonly Point[];
  /** Its lines are so much as wide as others. */
  readonly thin?: number;
}

/** The outlines of a letter, in the same measure. */
interface Drawn {
  readonly advance: number;
  readonly shapes: readonly (readonly Contour[])[];
}

const WEIGHT = 78;

/** A small letter is so much of its capital. */
const SMALL = 0.72;

/** What a mark is moved up by over a capital. */
const OVER_CAPITAL = 205;

/** Letters that were drawn, by their weight and how fine their curves are. */
const drawn = new Map<string, Drawn>();

/** More are not kept: a text may have any character. */
const MOST_DRAWN = 2_000;

/** How far `text` goes on, in pixels. */
export function widthOf(text: string, type: Type): number {
  const { size, spacing = 0 } = type;
  return (
    lettersOf(text).reduce((sum, letter) => sum + draw(letter, type).advance + spacing, 0) * (size / 1_000)
  );
}

/** The shapes of `text` from (`x`, `y`) on, where `y` is its base line. */
export function shapesOf(text: string, [x, y]: Point, type: Type): readonly (readonly Contour[])[] {
  const scale = type.size / 1_000;
  let at = x;
  return lettersOf(text).flatMap((letter) => {
    const { advance, shapes } = draw(letter, type);
    const left = at;
    at += (advance + (type.spacing ?? 0)) * scale;
    const place = ([px, py]: Point): Point => [left + px * scale, y + py * scale];
    return shapes.map((contours) => contours.map((contour) => contour.map(place)));
  });
}

/** Letters with their marks. What only joins or turns others is left out. */
function lettersOf(text: string): readonly string[] {
  return text.normalize("NFC").match(/[^\p{M}\p{Cf}]\p{M}*/gu) ?? [];
}

function draw(letter: string, { size, weight = WEIGHT }: Type): Drawn {
  const tolerance = size > 120 ? 0.4 : size > 40 ? 1 : 2.5;
  const name = `${letter}/${weight}/${tolerance}`;
  const known = drawn.get(name);
  if (known !== undefined) return known;
  if (drawn.size >= MOST_DRAWN) drawn.clear();
  const { advance, lines, dots, thin = 1 } = glyphOf(letter);
  const down = ([x, y]: Point): Point => [x, -y];
  const shapes = [
    ...lines.map((line) => stroke(line.map(down), weight * thin, tolerance)),
    ...dots.map((dot) => [disc(down(dot), weight * 0.68, tolerance)]),
  ];
  drawn.set(name, { advance, shapes });
  return { advance, shapes };
}

function glyphOf(letter: string): Glyph {
  const [base = "", ...marks] = Array.from(letter.normalize("NFD"));
  const areMarks = marks.every((mark) => /\p{M}/u.test(mark));
  const glyph = areMarks ? baseGlyph(base, marks.length > 0) : undefined;
  if (glyph === undefined) return codeBox(letter);
  const up = /[A-ZА-ЯΑ-ΩbdfhklßþÞÐ]/u.test(base) ? OVER_CAPITAL : 0;
  return marks.reduce((marked, mark) => withMark(marked, mark, up), glyph);
}

function baseGlyph(base: string, hasMarks: boolean): Glyph | undefined {
  if (SMALL_CAPITALS.includes(base)) {
    const capital = baseGlyph(base.toUpperCase(), hasMarks);
    return capital === undefined ? undefined : scaled(capital, SMALL);
  }
  const alike = ALIKE[base] ?? (/\s/u.test(base) ? " " : base);
  // A letter that carries a mark has no dot of its own.
  const undotted = hasMarks && alike === "i" ? "ı" : alike;
  const text = GLYPHS[undotted] ?? GREEK_CYRILLIC[undotted];
  return text === undefined ? undefined : readGlyph(text);
}

function scaled({ advance, lines, dots }: Glyph, by: number): Glyph {
  const point = ([x, y]: Point): Point => [x * by, y * by];
  return { advance: advance * by, lines: lines.map((line) => line.map(point)), dots: dots.map(point) };
}

function withMark(glyph: Glyph, mark: string, up: number): Glyph {
  const text = MARKS[mark];
  if (text === undefined) return glyph;
  const { lines, dots } = readGlyph(`0|${text}`);
  const below = [...lines.flat(), ...dots].every(([, y]) => y < 100);
  const place = ([x, y]: Point): Point => [x + glyph.advance / 2, y + (below ? 0 : up)];
  return {
    advance: glyph.advance,
    lines: [...glyph.lines, ...lines.map((line) => line.map(place))],
    dots: [...glyph.dots, ...dots.map(place)],
  };
}

/** A character that the hand does not have: a box with its number in it. */
function codeBox(character: string): Glyph {
  const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase();
  const digits = code.padStart(code.length > 4 ? 6 : 4, "0");
  const perRow = digits.length / 2;
  const [left, right, top, bottom] = [70, 70 + perRow * 270 + 90, 720, -60];
  const box: Point[] = [
    [left, bottom],
    [left, top],
    [right, top],
    [right, bottom],
    [left, bottom],
  ];
  const lines: (readonly Point[])[] = [box];
  Array.from(digits).forEach((digit, i) => {
    const [x, y] = [left + 55 + (i % perRow) * 270, i < perRow ? 385 : 25];
    for (const line of scaled(readGlyph(GLYPHS[digit] ?? "0"), 0.42).lines)
      lines.push(line.map(([px, py]): Point => [x + px, y + py]));
  });
  return { advance: right + 70, lines, dots: [], thin: 0.55 };
}

function readGlyph(text: string): Glyph {
  const [advance, ...parts] = text.split("|");
  const lines: (readonly Point[])[] = [];
  const dots: Point[] = [];
  for (const part of parts) {
    const line: Point[] = [];
    for (const [, command, numbers = ""] of part.matchAll(/([MLCAD])([^MLCAD]*)/g)) {
      const values = numbers.trim().split(/[ ,]+/).map(Number);
      if (command === "D") dots.push(pointAt(values, 0));
      else if (command === "C") line.push(...curve(line.at(-1) ?? [0, 0], values));
      else if (command === "A") line.push(...ellipse(values));
      else line.push(pointAt(values, 0));
    }
    if (line.length > 0) lines.push(line);
  }
  return { advance: Number(advance), lines, dots };
}

function pointAt(values: readonly number[], at: number): Point {
  return [values[at] ?? 0, values[at + 1] ?? 0];
}

function ellipse(values: readonly number[]): readonly Point[] {
  const [from = 0, to = 0] = values.slice(4).map((degrees) => (degrees * Math.PI) / 180);
  return arc(pointAt(values, 0), pointAt(values, 2), [from, to - from], CURVE_TOLERANCE);
}

const CURVE_STEPS = 20;

/** In thousandths of the type size. */
const CURVE_TOLERANCE = 0.6;

function curve(from: Point, values: readonly number[]): readonly Point[] {
  const points = [from, pointAt(values, 0), pointAt(values, 2), pointAt(values, 4)];
  return Array.from({ length: CURVE_STEPS }, (_, i): Point => {
    const t = (i + 1) / CURVE_STEPS;
    const shares = [(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t ** 2 * (1 - t), t ** 3];
    const sum = (axis: 0 | 1): number =>
      points.reduce((all, point, j) => all + point[axis] * (shares[j] ?? 0), 0);
    return [sum(0), sum(1)];
  });
}
