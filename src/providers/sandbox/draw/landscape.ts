import type { PixelSize } from "../../../core/media.ts";
import type { Chance } from "../chance.ts";

/** A colour by hue in degrees, saturation and lightness in percent. */
type Hsl = readonly [hue: number, saturation: number, lightness: number];

/** Colours that go together. */
export interface Palette {
  readonly skyTop: Hsl;
  readonly skyBottom: Hsl;
  readonly sun: Hsl;
  /** Of what is near, and of what is written on. */
  readonly near: Hsl;
  /** Of what is to be seen among white text. */
  readonly accent: Hsl;
}

/** What the parts of an image go by. */
export interface Setting {
  readonly size: PixelSize;
  /** About a hundredth of the image's sides. */
  readonly unit: number;
  readonly margin: number;
  readonly palette: Palette;
}

/** Colours by chance. */
export function choosePalette(chance: Chance): Palette {
  const hue = chance.between(0, 359);
  const turn = chance.pick([-1, 1]) * chance.between(28, 60);
  return {
    skyTop: [hue, chance.between(48, 68), chance.between(30, 46)],
    skyBottom: [hue + turn, chance.between(70, 90), chance.between(72, 82)],
    sun: [hue + turn * 1.6, 96, 88],
    near: [hue - turn * 0.4, 46, 13],
    accent: [hue + turn * 1.3, 92, 78],
  };
}

/** A colour as CSS and SVG have it. */
export function css([hue, saturation, lightness]: Hsl, opacity = 1): string {
  const turned = Math.round(((hue % 360) + 360) % 360);
  return `hsla(${turned}, ${Math.round(saturation)}%, ${Math.round(lightness)}%, ${opacity})`;
}

function mix(from: Hsl, to: Hsl, share: number): Hsl {
  const between = (i: 0 | 1 | 2): number => from[i] + (to[i] - from[i]) * share;
  return [between(0), between(1), between(2)];
}

/** Hills under a sky, as SVG of a size. */
export function landscapeSvg({ width, height }: PixelSize, palette: Palette, chance: Chance): string {
  const { skyTop, skyBottom, sun, near } = palette;
  const span = Math.sqrt(width * height);
  const [x, y] = [(width * chance.between(18, 82)) / 100, (height * chance.between(16, 44)) / 100];
  const radius = (span * chance.between(7, 13)) / 100;
  const suns = [
    [2.6, 0.1],
    [1.75, 0.14],
    [1, 1],
  ] as const;
  const discs = suns.map(
    ([times, opacity]) => `<circle cx="${x}" cy="${y}" r="${radius * times}" fill="${css(sun, opacity)}"/>`,
  );
  const layers = chance.between(4, 6);
  const hills = Array.from({ length: layers }, (_, i) => {
    const depth = (i + 1) / layers;
    const level = height * (0.4 + 0.42 * depth) + (height * chance.between(-30, 30)) / 1_000;
    const colour = mix(mix(skyBottom, skyTop, 0.35), near, 0.18 + 0.82 * depth * depth);
    const fill = gradient(`hill${i}`, colour, mix(colour, near, 0.45));
    // Behind the next hill nothing is to be seen.
    const foot =
      depth === 1 ? height : Math.min(height, level + height * (0.42 / layers + 0.06) + span * 0.07);
    return `${fill}<path d="${ridge({ width, height: foot }, level, span, chance)}" fill="url(#hill${i})"/>`;
  });
  const sky = `${gradient("sky", skyTop, skyBottom)}<rect width="100%" height="72%" fill="url(#sky)"/>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}">${sky}${discs.join("")}${hills.join("")}</svg>`;
}

function gradient(id: string, from: Hsl, to: Hsl): string {
  const stops = `<stop stop-color="${css(from)}"/><stop offset="1" stop-color="${css(to)}"/>`;
  return `<linearGradient id="${id}" x1="0" y1="0" x2="0" y2="1">${stops}</linearGradient>`;
}

/** The outline of a hill down to `height`: level at each of its tops and bottoms. */
function ridge({ width, height }: PixelSize, level: number, span: number, chance: Chance): string {
  let [x, y] = [-(span * chance.between(0, 20)) / 100, level];
  let path = `M${x} ${y}`;
  for (let way = chance.pick([-1, 1]); x < width; way = -way) {
    const to = level + (way * span * chance.between(5, 65)) / 1_000;
    const step = (span * chance.between(10, 28)) / 100;
    path += `C${x + step / 2} ${y} ${x + step / 2} ${to} ${x + step} ${to}`;
    [x, y] = [x + step, to];
  }
  return `${path}V${height}H0Z`;
}
