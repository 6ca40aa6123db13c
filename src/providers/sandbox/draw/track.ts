import type { Canvas, Colour } from "./canvas.ts";
import { fillPath, fillTogether } from "./fill.ts";
import { type Type, widthOf } from "./font.ts";
import type { Palette } from "./landscape.ts";
import { type Box, disc, type Point, rounded, stroke } from "./path.ts";
import { writeText } from "./text.ts";

/** A track and a train on it that shows how far a video is. */
export interface Track {
  readonly box: Box;
  /** The image's measure. */
  readonly unit: number;
  readonly durationSec: number;
  readonly palette: Palette;
}

/** How high it is, in the image's measure. */
export const TRACK_UNITS = 7.5;

const WHITE: Colour = [255, 255, 255];

interface Places {
  readonly left: number;
  readonly right: number;
  /** The height of the rail. */
  readonly rail: number;
  readonly type: Type;
}

function placesOf({ box, unit }: Track): Places {
  const type: Type = { size: unit * 3.2, weight: 96 };
  const room = widthOf("00.0 s", type) + unit * 1.5;
  return {
    left: box.x + unit * 0.4,
    right: box.x + box.width - room,
    rail: box.y + box.height - unit * 1.6,
    type,
  };
}

/** Draws what of the track stays as it is: the rail, and a tie for every second. */
export function drawRails(canvas: Canvas, track: Track): void {
  const { left, right, rail } = placesOf(track);
  const { durationSec, unit } = track;
  const ties = Array.from({ length: durationSec + 1 }, (_, second) => {
    const x = left + ((right - left) * second) / durationSec;
    const from: Point = [x, rail];
    return stroke([from, [x, rail + unit * (second % 5 === 0 ? 1.3 : 0.7)]], unit * 0.22);
  });
  const line = stroke(
    [
      [left, rail],
      [right, rail],
    ],
    unit * 0.32,
  );
  fillTogether(canvas, [line, ...ties], { colour: WHITE, opacity: 0.45 });
}

/** Draws the train where it is at a second of the video, and the time. */
export function drawTrain(canvas: Canvas, track: Track, atSec: number): void {
  const { left, right, rail, type } = placesOf(track);
  const { box, unit, durationSec, palette } = track;
  const time = `${atSec.toFixed(1)} s`;
  const base: Point = [box.x + box.width - widthOf(time, type) - unit * 0.2, rail];
  writeText(canvas, time, base, { ...type, paint: { colour: WHITE } });
  const long = unit * 11;
  const front = left + long + (right - left - long) * (atSec / durationSec);
  const gone: readonly Point[] = [
    [left, rail],
    [front, rail],
  ];
  fillPath(canvas, stroke(gone, unit * 0.32), { colour: palette.accent });
  drawCars(canvas, { x: front - long, y: rail - unit * 4, width: long, height: unit * 4 }, palette);
}

/** An engine that pulls a wagon to the right. */
function drawCars(canvas: Canvas, { x, y, width, height }: Box, { accent, near }: Palette): void {
  const at = (across: number, down: number): Point => [x + width * across, y + height * down];
  const part = (across: number, down: number, wide: number, high: number): Box => ({
    x: x + width * across,
    y: y + height * down,
    width: width * wide,
    height: height * high,
  });
  const corner = height * 0.14;
  fillPath(
    canvas,
    [
      rounded(part(0, 0.3, 0.42, 0.48), corner),
      rounded(part(0.5, 0.08, 0.22, 0.7), corner),
      rounded(part(0.62, 0.36, 0.36, 0.42), corner * 1.6),
      rounded(part(0.84, 0.1, 0.07, 0.4), corner * 0.4),
      ...stroke([at(0.4, 0.68), at(0.54, 0.68)], height * 0.07),
    ],
    { colour: accent },
  );
  fillPath(canvas, [rounded(part(0.54, 0.18, 0.12, 0.22), corner * 0.6)], { colour: near });
  const wheels = [0.1, 0.32, 0.58, 0.74, 0.89].map((across) => disc(at(across, 0.84), height * 0.15));
  fillPath(canvas, wheels, { colour: WHITE });
}
