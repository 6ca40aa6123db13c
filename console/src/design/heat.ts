import type uPlot from "uplot";
import { ROUND_VALUES } from "./round-values.ts";

/** How many fell between the half of `below` and `below`. */
export interface HeatCell {
  readonly below: number;
  readonly count: number;
}

/** The cells of each step of a chart. Their values are drawn on a logarithmic axis, from 1 on. */
export type Heat = readonly (readonly HeatCell[])[];

/** Draws the cells behind a chart's lines, the denser the more fell into one. */
export function drawHeat({ ctx, bbox, data, valToPos }: uPlot, heat: Heat, colour: string): void {
  const most = Math.max(1, ...heat.flat().map(({ count }) => count));
  const times = data[0];
  const halfStep = ((times[1] ?? 0) - (times[0] ?? 0)) / 2;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.fillStyle = colour;
  for (const [at, cells] of heat.entries()) {
    const time = times[at];
    if (time === undefined) continue;
    const left = valToPos(time - halfStep, "x", true);
    const right = halfStep === 0 ? bbox.left + bbox.width : valToPos(time + halfStep, "x", true);
    for (const { below, count } of cells) {
      const [top, bottom] = [valToPos(below, "y", true), valToPos(Math.max(1, below / 2), "y", true)];
      // The root tells a few from none where one cell has most of them.
      ctx.globalAlpha = 0.06 + 0.5 * Math.sqrt(count / most);
      ctx.fillRect(left, top, right - left, bottom - top);
    }
  }
  ctx.restore();
}

/** From the power of two below all lines and cells to that above them. */
export function heatRange(heat: Heat, least: number | null, most: number | null): uPlot.Range.MinMax {
  const ends = heat.flat().flatMap(({ below }) => [Math.max(1, below / 2), below]);
  const [low, high] = [Math.min(least ?? Infinity, ...ends), Math.max(most ?? 1, ...ends)];
  const from = 2 ** Math.floor(Math.log2(Math.max(1, Number.isFinite(low) ? low : 1)));
  return [from, Math.max(2 * from, 2 ** Math.ceil(Math.log2(high)))];
}

const MOST_SPLITS = 5;

/** Round values on a logarithmic axis, a few of them. */
export function heatSplits(from: number, to: number): number[] {
  const within = ROUND_VALUES.filter((value) => value >= from && value <= to);
  const every = Math.ceil(within.length / MOST_SPLITS);
  return within.filter((_, at) => at % every === 0);
}
