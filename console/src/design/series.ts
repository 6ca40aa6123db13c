/** How many series have a colour of their own; the rest share one. */
export const MOST_SERIES = 7;

/** The series that has what is left over. */
export const REST = "others";

/** How many colours there are for the things of a list, in three tones of each series' colour. */
const COLOURS = 3 * MOST_SERIES;

/**
 * The colour of a thing by its place in `list`, so that it is the same in every chart that knows the list; a thing that
 * the list has no more takes one by its name.
 */
export function colourIn(list: readonly string[], name: string): string {
  if (name === REST) return "var(--series-rest)";
  const place = list.indexOf(name);
  return `var(--series-${((place < 0 ? hashOf(name) : place) % COLOURS) + 1})`;
}

/**
 * Colours of the things that one chart shows, by their names alone. Where another of the chart has a thing's colour
 * already, it takes the next that is free.
 */
export function coloursOf(names: readonly string[]): readonly string[] {
  const taken = new Set<number>();
  return names.map((name) => {
    if (name === REST) return "var(--series-rest)";
    const own = hashOf(name) % MOST_SERIES;
    const free = Array.from({ length: MOST_SERIES }, (_, step) => (own + step) % MOST_SERIES);
    const colour = free.find((each) => !taken.has(each)) ?? own;
    taken.add(colour);
    return `var(--series-${colour + 1})`;
  });
}

/** FNV-1a. */
function hashOf(name: string): number {
  let hash = 0x81_1c_9d_c5;
  for (const byte of new TextEncoder().encode(name)) hash = Math.imul(hash ^ byte, 0x01_00_01_93);
  return hash >>> 0;
}

/** The places of values without a neighbour: no line leads to them, so that each is drawn as a point. */
export function withoutNeighbour(values: ArrayLike<number | null | undefined>): number[] {
  const isThere = (at: number): boolean => typeof values[at] === "number";
  return Array.from(values, (_, at) => at).filter(
    (at) => isThere(at) && !isThere(at - 1) && !isThere(at + 1),
  );
}
