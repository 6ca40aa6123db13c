import { blendSpan, type Canvas, colourAt, type Colour, type Paint, wordOf } from "./canvas.ts";
import type { Contour } from "./path.ts";

/** A line that is not level, from its upper end to its lower. */
interface Edge {
  readonly top: number;
  readonly bottom: number;
  /** Where it is at its upper end, and how far it goes aside in a row. */
  readonly x: number;
  readonly slope: number;
  /** 1 where it goes down, -1 where it goes up. */
  readonly sign: number;
}

/** What shapes cover of a row: of each pixel from `left` up to `right` as the difference to the one before it. */
interface CoveredRow {
  readonly row: number;
  readonly left: number;
  readonly right: number;
  readonly cover: Float32Array;
}

/** A pixel that is covered by less stays as it is; one that is covered by all but this is covered whole. */
const HARDLY = 1 / 512;

/** Fills a path: each pixel gets as much of the paint as the path covers of it. */
export function fillPath(canvas: Canvas, contours: readonly Contour[], paint: Paint): void {
  scan(contours, new Float32Array(canvas.width + 2), canvas, (covered) =>
    paintRow(canvas, covered, colourAt(paint, covered.row), paint.opacity ?? 1),
  );
}

/**
 * Fills paths that touch and cross, as the lines of letters do. What two of them cover of a pixel is not added up, as
 * within a path, because they mostly cover the same of it.
 */
export function fillTogether(canvas: Canvas, paths: readonly (readonly Contour[])[], paint: Paint): void {
  const rows = new Map<number, Float32Array>();
  const once = new Float32Array(canvas.width + 2);
  for (const contours of paths)
    scan(contours, once, canvas, ({ row, left, right, cover }) => {
      const most = rows.get(row) ?? new Float32Array(canvas.width + 2);
      rows.set(row, most);
      let sum = 0;
      for (let at = left; at < right; at += 1) {
        sum += cover[at] as number;
        cover[at] = 0;
        const share = Math.min(1, Math.abs(sum));
        if (share > (most[at] as number)) most[at] = share;
      }
    });
  for (const [row, most] of rows) {
    for (let at = most.length - 1; at > 0; at -= 1)
      most[at] = (most[at] as number) - (most[at - 1] as number);
    const covered = { row, left: 0, right: most.length, cover: most };
    paintRow(canvas, covered, colourAt(paint, row), paint.opacity ?? 1);
  }
}

/**
 * Goes over the rows that a path covers. What an edge covers is added up along the row, by the way that the edge goes,
 * as font rasterizers do it. `cover` is at zero, and who is
 * shown a row leaves it so.
 */
function scan(
  contours: readonly Contour[],
  cover: Float32Array,
  { width, height }: { readonly width: number; readonly height: number },
  show: (covered: CoveredRow) => void,
): void {
  const edges = contours.flatMap(edgesOf).sort((a, b) => a.top - b.top);
  const lowest = edges.reduce((most, edge) => Math.max(most, edge.bottom), 0);
  let active: Edge[] = [];
  let next = 0;
  const first = Math.max(0, Math.floor(edges[0]?.top ?? 0));
  for (let row = first; row < Math.min(height, lowest); row += 1) {
    active = active.filter((edge) => edge.bottom > row);
    for (let edge = edges[next]; edge !== undefined && edge.top < row + 1; edge = edges[next]) {
      next += 1;
      if (edge.bottom > row) active.push(edge);
    }
    let [left, right] = [width, 0];
    for (const edge of active) {
      const [low, high] = reach(edge, row, width);
      addEdge(cover, low, high, (Math.min(edge.bottom, row + 1) - Math.max(edge.top, row)) * edge.sign);
      left = Math.min(left, Math.floor(low));
      right = Math.max(right, Math.floor(high) + 2);
    }
    if (left < right) show({ row, left, right, cover });
  }
}

function edgesOf(contour: Contour): Edge[] {
  return contour.flatMap(([x, y], i) => {
    const [nextX, nextY] = contour[(i + 1) % contour.length] ?? [x, y];
    if (y === nextY) return [];
    const slope = (nextX - x) / (nextY - y);
    return y < nextY
      ? [{ top: y, bottom: nextY, x, slope, sign: 1 }]
      : [{ top: nextY, bottom: y, x: nextX, slope, sign: -1 }];
  });
}

/** From where to where an edge goes within a row, as far as that is on the canvas. */
function reach({ top, bottom, x, slope }: Edge, row: number, width: number): readonly [number, number] {
  const a = x + (Math.max(top, row) - top) * slope;
  const b = x + (Math.min(bottom, row + 1) - top) * slope;
  const within = (value: number): number => Math.min(width, Math.max(0, value));
  return [within(Math.min(a, b)), within(Math.max(a, b))];
}

/** An edge from `low` to `high`, which covers `height` of all that is right of it. */
function addEdge(cover: Float32Array, low: number, high: number, height: number): void {
  const first = Math.floor(low);
  const last = Math.floor(high);
  if (first === last) {
    const inside = (low + high) / 2 - first;
    add(cover, first, height * (1 - inside));
    add(cover, first + 1, height * inside);
    return;
  }
  const perPixel = height / (high - low);
  let before = 0;
  let carried = 0;
  for (let at = first; at <= last; at += 1) {
    const from = Math.max(low, at);
    const to = Math.min(high, at + 1);
    const here = perPixel * (to - from);
    const covered = before + here * (at + 1 - (from + to) / 2);
    add(cover, at, covered - carried);
    carried = covered;
    before += here;
  }
  add(cover, last + 1, height - carried);
}

function add(cover: Float32Array, at: number, amount: number): void {
  cover[at] = (cover[at] as number) + amount;
}

function paintRow(
  canvas: Canvas,
  { row, left, right, cover }: CoveredRow,
  colour: Colour,
  opacity: number,
): void {
  const { words, width } = canvas;
  let sum = 0;
  let at = left;
  while (at < right) {
    sum += cover[at] as number;
    cover[at] = 0;
    let end = at + 1;
    while (end < right && cover[end] === 0) end += 1;
    const share = Math.min(1, Math.abs(sum)) * opacity;
    const last = Math.min(end, width);
    if (share > 1 - HARDLY) words.fill(wordOf(colour), row * width + at, row * width + last);
    else if (share > HARDLY) blendSpan(canvas, { row, left: at, right: last }, colour, share);
    at = end;
  }
}
