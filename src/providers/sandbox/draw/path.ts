/** In pixels, from the top left. */
export type Point = readonly [x: number, y: number];

/**
 * A closed line, clockwise where it goes around a shape and the other way around a hole: where shapes of one path
 * overlap, they are one.
 */
export type Contour = readonly Point[];

/** A rectangle. */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

const TURN = 2 * Math.PI;

/** So many pixels may a straight piece be off the curve that it stands for. */
const TOLERANCE = 0.06;

/**
 * Points of an ellipse's arc from an angle on by another, in radians; both its ends are among them. `tolerance` is how
 * far a straight piece may be off it.
 */
export function arc(
  [x, y]: Point,
  [rx, ry]: Point,
  [from, sweep]: readonly [number, number],
  tolerance = TOLERANCE,
): Point[] {
  const step = 2 * Math.acos(Math.max(0, 1 - tolerance / Math.max(rx, ry, tolerance)));
  const steps = Math.max(2, Math.ceil(Math.abs(sweep) / step));
  return Array.from({ length: steps + 1 }, (_, i): Point => {
    const angle = from + (sweep * i) / steps;
    return [x + rx * Math.cos(angle), y + ry * Math.sin(angle)];
  });
}

/** A disc. */
export function disc(centre: Point, radius: number, tolerance = TOLERANCE): Contour {
  return arc(centre, [radius, radius], [0, TURN], tolerance);
}

/** A rectangle, its corners rounded by `radius`. */
export function rounded({ x, y, width, height }: Box, radius: number): Contour {
  const r = Math.min(radius, width / 2, height / 2);
  const corner = (cx: number, cy: number, quarter: number): Point[] =>
    arc([cx, cy], [r, r], [(quarter * TURN) / 4, TURN / 4]);
  return [
    ...corner(x + width - r, y + height - r, 0),
    ...corner(x + r, y + height - r, 1),
    ...corner(x + r, y + r, 2),
    ...corner(x + width - r, y + r, 3),
  ];
}

/** The outline of a line of `width` through `points`, with round ends and corners; a ring where the last is the first. */
export function stroke(points: readonly Point[], width: number, tolerance = TOLERANCE): readonly Contour[] {
  const pen: Pen = { radius: width / 2, tolerance };
  const line = points.filter((point, i) => i === 0 || distance(point, points[i - 1] ?? point) > 0.01);
  const [first, last] = [line[0], line.at(-1)];
  if (first === undefined || last === undefined) return [];
  if (line.length === 1) return [disc(first, pen.radius, tolerance)];
  if (line.length > 3 && distance(first, last) < 0.05) {
    const around = line.slice(0, -1);
    return [ringSide(around, pen), ringSide(around.toReversed(), pen)];
  }
  return [[...openSide(line, pen), ...openSide(line.toReversed(), pen)]];
}

interface Pen {
  readonly radius: number;
  readonly tolerance: number;
}

/** Around a point, from the left of one direction to the left of another. */
function bow(point: Point, angle: number, sweep: number, { radius, tolerance }: Pen): Point[] {
  return arc(point, [radius, radius], [angle - TURN / 4, sweep], tolerance);
}

/** The left side of a line, and around its end. */
function openSide(line: readonly Point[], pen: Pen): Point[] {
  return line.flatMap((point, i) => {
    const [before, after] = [line[i - 1], line[i + 1]];
    if (before === undefined) return [];
    const angle = direction(before, point);
    if (after === undefined) return bow(point, angle, TURN / 2, pen);
    return corner(point, angle, direction(point, after), pen);
  });
}

function ringSide(ring: readonly Point[], pen: Pen): Point[] {
  return ring.flatMap((point, i) => {
    const before = ring.at(i - 1) ?? point;
    const after = ring[(i + 1) % ring.length] ?? point;
    return corner(point, direction(before, point), direction(point, after), pen);
  });
}

/** The left side of a line where it turns. */
function corner(point: Point, before: number, after: number, pen: Pen): Point[] {
  const { radius } = pen;
  const turn = wrapped(after - before);
  const beside = (angle: number, away = radius): Point => [
    point[0] + away * Math.sin(angle),
    point[1] - away * Math.cos(angle),
  ];
  if (Math.abs(turn) < 0.6) return [beside(before + turn / 2, radius / Math.cos(turn / 2))];
  if (turn > 0) return bow(point, before, turn, pen);
  // On the inner side the two pieces cross; by way of the point itself nothing of it is taken for a hole.
  return [beside(before), point, beside(after)];
}

function direction(from: Point, to: Point): number {
  return Math.atan2(to[1] - from[1], to[0] - from[0]);
}

function distance(from: Point, to: Point): number {
  return Math.hypot(to[0] - from[0], to[1] - from[1]);
}

function wrapped(angle: number): number {
  return angle - TURN * Math.round(angle / TURN);
}
