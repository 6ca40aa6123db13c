/** How many series have a colour of their own; the rest share one. */
export const MOST_SERIES = 7;

/** The series that has what is left over. */
export const REST = "others";

/** How many colours there are for the things of several charts, in three tones of each series' colour. */
export const MOST_COLOURS = 3 * MOST_SERIES;

type Memory = Pick<Storage, "getItem" | "setItem">;

/** What a browser keeps: hashes of names with their colours. A name itself may be what the next reader must not see. */
const KEPT = "switchyard-colours";

/**
 * A colour for each of these names, which are those of one chart, or of all charts of a page. A name has the same one
 * whatever else there is, unless another of them has it: then the later one in the alphabet takes the next that is free.
 * With a `memory` the first names, as many as there are colours, keep theirs in all charts of all pages.
 */
export function coloursOf(
  names: Iterable<string>,
  most = MOST_SERIES,
  memory?: Memory,
): ReadonlyMap<string, string> {
  const kept = new Map(JSON.parse(memory?.getItem(KEPT) ?? "[]") as [number, number][]);
  const before = kept.size;
  const all = [...new Set(names)].filter((name) => name !== REST).toSorted();
  // Who has a colour that is kept does not give it to another name of the page.
  const taken = new Set(all.flatMap((name) => kept.get(hashOf(name)) ?? []));
  const colours = new Map<string, string>([[REST, "var(--series-rest)"]]);
  for (const name of all) {
    const hash = hashOf(name);
    let colour = kept.get(hash);
    if (colour === undefined) {
      if (taken.size === most) taken.clear();
      const others = kept.size < most ? new Set([...taken, ...kept.values()]) : taken;
      colour = hash % most;
      while (others.has(colour)) colour = (colour + 1) % most;
      taken.add(colour);
      if (memory !== undefined && kept.size < most) kept.set(hash, colour);
    }
    colours.set(name, `var(--series-${colour + 1})`);
  }
  if (kept.size > before) memory?.setItem(KEPT, JSON.stringify([...kept]));
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
