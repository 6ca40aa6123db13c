import type { Canvas, Colour } from "./canvas.ts";
import { fillPath } from "./fill.ts";
import { type Type, widthOf } from "./font.ts";
import type { Palette } from "./landscape.ts";
import { type Box, disc, type Point, rounded, stroke } from "./path.ts";
import { writeText } from "./text.ts";

/** A track with a train on it that shows how far a film is. */
export interface Track {
  readonly box: Box;
  /** The picture's measure. */
  readonly unit: number;
  readonly durationSec: number;
  readonly palette: Palette;
}

/** How high it is, in the picture's measure. */
export const TRACK_UNITS = 7.5;

const WHITE: Colour = [255, 255, 255];

/** Draws the track as it is at a second of the film. */
export function drawTrack(canvas: Canvas, { box, unit, durationSec, palette }: Track, atSec: number): void {
  const type: Type = { size: unit * 3.2, weight: 96 };
  const time = `${atSec.toFixed(1)} s`;
  const room = widthOf("00.0 s", type) + unit * 1.5;
  const rail = box.y + box.height - unit * 1.6;
  const [left, right] = [box.x + unit * 0.4, box.x + box.width - room];
  const base: Point = [box.x + box.width - widthOf(time, type) - unit * 0.2, rail];
  writeText(canvas, time, base, { ...type, paint: { colour: WHITE } });

  for (let second = 0; second <= durationSec; second += 1) {
    const x = left + ((right - left) * second) / durationSec;
    const long = second % 5 === 0 ? 1.3 : 0.7;
    fillPath(
      canvas,
      stroke(
        [
          [x, rail],
          [x, rail + unit * long],
        ],
        unit * 0.22,
      ),
      { colour: WHITE, opacity: 0.45 },
    );
  }
  fillPath(
    canvas,
    stroke(
      [
        [left, rail],
        [right, rail],
      ],
      unit * 0.32,
    ),
    { colour: WHITE, opacity: 0.45 },
  );

  const long = unit * 11;
  const front = left + long + (right - left - long) * (atSec / durationSec);
  fillPath(
    canvas,
    stroke(
      [
        [left, rail],
        [front, rail],
      ],
      unit * 0.32,
    ),
    { colour: palette.accent },
  );
  drawTrain(canvas, { x: front - long, y: rail - unit * 4, width: long, height: unit * 4 }, palette);
}

/** An engine that pulls a wagon to the right. */
function drawTrain(canvas: Canvas, { x, y, width, height }: Box, { accent, near }: Palette): void {
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
