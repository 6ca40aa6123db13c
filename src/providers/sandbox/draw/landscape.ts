import type { PixelSize } from "../../../core/media/media.ts";
import type { Chance } from "../chance.ts";

export type Colours = ReturnType<typeof chooseColours>;

/** Colours that go together by chance, as CSS and SVG have them. */
export function chooseColours(chance: Chance) {
  const hue = chance.between(0, 359);
  const turn = chance.pick([-1, 1]) * chance.between(28, 60);
  const colour = (turns: number, saturation: number, lightness: number): string =>
    `hsl(${(Math.round(hue + turn * turns) + 720) % 360}, ${saturation}%, ${lightness}%)`;
  return {
    sky: colour(0, chance.between(48, 68), chance.between(30, 46)),
    horizon: colour(1, chance.between(70, 90), chance.between(72, 82)),
    sun: colour(1.6, 96, 88),
    /** Of what is near, and of what is written on. */
    near: colour(-0.4, 46, 13),
    /** Of what is to be seen among white text. */
    accent: colour(1.3, 92, 78),
  };
}

const LAYERS = 5;

/** Hills under a sky, as SVG of a size. */
export function landscapeSvg({ width, height }: PixelSize, colours: Colours, chance: Chance): string {
  const { sky, horizon, sun, near } = colours;
  const span = Math.sqrt(width * height);
  const share = (of: number, from: number, to: number): number => (of * chance.between(from, to)) / 100;
  const [x, y, radius] = [share(width, 18, 82), share(height, 16, 44), share(span, 7, 13)];
  const circle = (times: number, opacity: number): string =>
    `<circle cx="${x}" cy="${y}" r="${radius * times}" fill="${sun}" opacity="${opacity}"/>`;
  // The nearer, the darker and the lower.
  const hills = Array.from({ length: LAYERS }, (_, i) => {
    const depth = (i + 1) / LAYERS;
    const level = height * (0.42 + 0.4 * depth);
    let tops = "";
    for (let at = -share(span, 0, 20); at < width + span * 0.2; at += share(span, 18, 34)) {
      const [rx, ry] = [share(span, 20, 34), height - level + share(span, -3, 6)];
      tops += `<ellipse cx="${at}" cy="${height}" rx="${rx}" ry="${ry}"/>`;
    }
    return `<g fill="${near}" opacity="${0.12 + 0.8 * depth * depth}">${tops}</g>`;
  });
  const stops = `<stop stop-color="${sky}"/><stop offset="1" stop-color="${horizon}"/>`;
  const gradient = `<linearGradient id="sky" x1="0" y1="0" x2="0" y2="1">${stops}</linearGradient>`;
  const back = `${gradient}<rect width="100%" height="100%" fill="url(#sky)"/>`;
  const light = circle(2.6, 0.1) + circle(1.75, 0.14) + circle(1, 1);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}">${back}${light}${hills.join("")}</svg>`;
}
