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
 * A colour for each of these names, which are those of one chart. A name has the same one whatever else there is,
 * unless another of them has it. Then the later one in the alphabet takes the next that is free.
 *
 * With a `memory` a name keeps its colour in all charts of all pages. When all are given, a new name takes that of the
 * name that was not drawn for longest. So a name changes its colour only after as many others as there are colours.
 */
export function coloursOf(
  names: Iterable<string>,
  most = MOST_SERIES,
  memory?: Memory,
): ReadonlyMap<string, string> {
  const kept = readKept(memory, most);
  const drawn = new Map([...new Set(names)].toSorted().map((name) => [name, hashOf(name)]));
  drawn.delete(REST);
  const hashes = new Set(drawn.values());
  const colours = new Map<string, string>([[REST, "var(--series-rest)"]]);
  for (const [name, hash] of drawn) {
    const colour = kept.get(hash) ?? giveColour(hash);
    // The last in the map is the last to give its colour away.
    kept.delete(hash);
    if (kept.size < most) kept.set(hash, colour);
    colours.set(name, `var(--series-${colour + 1})`);
  }
  writeKept(memory, kept);
  return colours;

  function giveColour(hash: number): number {
    if (kept.size === most) {
      const oldest = [...kept].find(([other]) => !hashes.has(other));
      if (oldest === undefined) return hash % most;
      kept.delete(oldest[0]);
      return oldest[1];
    }
    // A new name takes a plain tone before another, and first one whose hue no other name of the chart has.
    const given = new Set(kept.values());
    const hues = new Set([...drawn.values()].map((other) => (kept.get(other) ?? Number.NaN) % MOST_SERIES));
    const free = Array.from({ length: most }, (_, at) => toneOf(hash, at)).filter((each) => !given.has(each));
    return free.find((each) => !hues.has(each % MOST_SERIES)) ?? free[0] ?? hash % most;
  }
}

/** The colours from a name's own on: all plain ones before the next tone. */
function toneOf(hash: number, at: number): number {
  return ((hash + at) % MOST_SERIES) + MOST_SERIES * Math.floor(at / MOST_SERIES);
}

/** Hashes with their colours, the one that was not drawn for longest first. What is no such list counts as none. */
function readKept(memory: Memory | undefined, most: number): Map<number, number> {
  try {
    const read = JSON.parse(memory?.getItem(KEPT) ?? "[]") as unknown;
    const isPair = (each: unknown): each is [number, number] =>
      Array.isArray(each) && each.length === 2 && isBelow(each[0], 2 ** 32) && isBelow(each[1], most);
    if (!Array.isArray(read) || !read.every(isPair)) return new Map();
    const kept = new Map(read);
    return new Set(kept.values()).size === read.length ? kept : new Map();
  } catch {
    return new Map();
  }
}

function isBelow(value: unknown, end: number): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) < end;
}

function writeKept(memory: Memory | undefined, kept: ReadonlyMap<number, number>): void {
  try {
    memory?.setItem(KEPT, JSON.stringify([...kept]));
  } catch {
    // A browser without room for it shows the page with colours of the moment.
  }
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
