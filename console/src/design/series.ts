/** How many series have a colour of their own; the rest share one. */
export const MOST_SERIES = 7;

/** The series that has what is left over. */
export const REST = "others";

/** How many colours there are for the things of several charts, in three tones of each series' colour. */
export const MOST_COLOURS = 3 * MOST_SERIES;

/**
 * A colour for each of these names, which are those of one chart, or of all charts of a page. A name has the same one
 * whatever else there is, unless another of them has it: then the later one in the alphabet takes the next that is free.
 */
export function coloursOf(names: Iterable<string>, most = MOST_SERIES): ReadonlyMap<string, string> {
  const taken = new Set<number>();
  const colours = new Map<string, string>([[REST, "var(--series-rest)"]]);
  for (const name of [...new Set(names)].toSorted()) {
    if (name === REST) continue;
    if (taken.size === most) taken.clear();
    let colour = hashOf(name) % most;
    while (taken.has(colour)) colour = (colour + 1) % most;
    taken.add(colour);
    colours.set(name, `var(--series-${colour + 1})`);
  }
  return colours;
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
