/** How many series have a colour of their own; the rest share one. */
export const MOST_SERIES = 7;

/** The series that has what is left over. */
export const REST = "others";

const given = new Map<string, number>();

/**
 * Colours of the things that a chart shows, by their names. A thing has the same colour on every page of this visit,
 * but where another of the chart has it already: then the next that is free.
 */
export function coloursOf(names: readonly string[]): readonly string[] {
  const taken = new Set<number>();
  return names.map((name) => {
    if (name === REST) return "var(--series-rest)";
    const own = given.get(name) ?? given.size % MOST_SERIES;
    given.set(name, own);
    const free = Array.from({ length: MOST_SERIES }, (_, step) => (own + step) % MOST_SERIES);
    const colour = free.find((each) => !taken.has(each)) ?? own;
    taken.add(colour);
    return `var(--series-${colour + 1})`;
  });
}

/** The places of values without a neighbour: no line leads to them, so that each is drawn as a point. */
export function withoutNeighbour(values: ArrayLike<number | null | undefined>): number[] {
  const isThere = (at: number): boolean => typeof values[at] === "number";
  return Array.from(values, (_, at) => at).filter(
    (at) => isThere(at) && !isThere(at - 1) && !isThere(at + 1),
  );
}
