import type { Chance } from "../chance.ts";
import { type Canvas, type Colour, fillCanvas, mix } from "./canvas.ts";
import { fillPath } from "./fill.ts";
import { disc, type Point } from "./path.ts";

/** Colours that go together. */
export interface Palette {
  readonly skyTop: Colour;
  readonly skyBottom: Colour;
  readonly sun: Colour;
  /** Of what is near, and of what is written on. */
  readonly near: Colour;
  /** Of what is to be seen among white text. */
  readonly accent: Colour;
}

/** Colours by chance. */
export function choosePalette(chance: Chance): Palette {
  const hue = chance.between(0, 359);
  const turn = chance.pick([-1, 1]) * chance.between(28, 60);
  return {
    skyTop: fromHsl(hue, chance.between(48, 68), chance.between(30, 46)),
    skyBottom: fromHsl(hue + turn, chance.between(70, 90), chance.between(72, 82)),
    sun: fromHsl(hue + turn * 1.6, 96, 88),
    near: fromHsl(hue - turn * 0.4, 46, 13),
    accent: fromHsl(hue + turn * 1.3, 92, 78),
  };
}

/** Paints hills under a sky, all over the canvas. */
export function paintLandscape(canvas: Canvas, palette: Palette, chance: Chance): void {
  const { width, height } = canvas;
  const { skyTop, skyBottom, sun, near } = palette;
  fillCanvas(canvas, { colour: skyTop, to: { colour: skyBottom, top: 0, bottom: height * 0.72 } });

  const span = Math.sqrt(width * height);
  const centre: Point = [(width * chance.between(18, 82)) / 100, (height * chance.between(16, 44)) / 100];
  const radius = (span * chance.between(7, 13)) / 100;
  for (const [times, opacity] of [
    [2.6, 0.1],
    [1.75, 0.14],
    [1, 1],
  ] as const)
    fillPath(canvas, [disc(centre, radius * times)], { colour: sun, opacity });

  const layers = chance.between(4, 6);
  for (let i = 0; i < layers; i += 1) {
    const depth = (i + 1) / layers;
    const level = height * (0.4 + 0.42 * depth) + (height * chance.between(-30, 30)) / 1_000;
    const colour = mix(mix(skyBottom, skyTop, 0.35), near, 0.18 + 0.82 * depth ** 1.3);
    fillPath(canvas, [hill({ width, height }, level, span, chance)], {
      colour: mix(colour, skyBottom, 0.12 * (1 - depth)),
      to: { colour: mix(colour, near, 0.45), top: level - span * 0.08, bottom: height },
    });
  }
}

function hill(
  { width, height }: { readonly width: number; readonly height: number },
  level: number,
  span: number,
  chance: Chance,
): readonly Point[] {
  const waves = [0.9, 2.1, 4.7].map((pitch, i) => ({
    pitch: (pitch * 2 * Math.PI * chance.between(70, 130)) / 100 / Math.max(span, width),
    phase: chance.between(0, 628) / 100,
    rise: (span * chance.between(25, 60)) / 1_000 / (1 + i * 1.4),
  }));
  const steps = 160;
  const ridge = Array.from({ length: steps + 1 }, (_, i): Point => {
    const x = -2 + ((width + 4) * i) / steps;
    return [x, waves.reduce((y, { pitch, phase, rise }) => y + rise * Math.sin(pitch * x + phase), level)];
  });
  return [...ridge, [width + 2, height + 2], [-2, height + 2]];
}

/** Hue in degrees, the others in percent. */
function fromHsl(hue: number, saturation: number, lightness: number): Colour {
  const light = lightness / 100;
  const spread = (saturation / 100) * Math.min(light, 1 - light);
  const channel = (offset: number): number => {
    const at = (((offset + hue / 30) % 12) + 12) % 12;
    return Math.round(255 * (light - spread * Math.max(-1, Math.min(at - 3, 9 - at, 1))));
  };
  return [channel(0), channel(8), channel(4)];
}
