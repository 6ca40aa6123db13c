import { seededRandom } from "../upstream/cuts.ts";

/** Where a simulation takes every decision from, so that a run is repeated by repeating its choices. */
export interface Choices {
  /** A whole number from 0 up to and without `below`. */
  choose(below: number): number;
  /** Whether what is left is only quiet. */
  isOver(): boolean;
  /** What was chosen so far. */
  readonly taken: readonly number[];
}

/** Choices that follow from a seed. */
export function seededChoices(seed: number): Choices {
  const random = seededRandom(Math.imul(seed, 0x9e3779b1));
  return recording(
    (below) => Math.floor(random() * below),
    () => false,
  );
}

/** Choices as they were taken before; after the last one always 0, which is the quietest. */
export function repeatedChoices(list: readonly number[]): Choices {
  let at = 0;
  return recording(
    (below) => {
      const value = list[at] ?? 0;
      at += 1;
      return value % below;
    },
    () => at >= list.length,
  );
}

function recording(next: (below: number) => number, isOver: () => boolean): Choices {
  const taken: number[] = [];
  return {
    taken,
    isOver,
    choose(below) {
      const value = next(below);
      taken.push(value);
      return value;
    },
  };
}

/** The runs that a failing one is shortened by, at most. */
const MAX_RUNS = 600;

/** A list of choices that still fails, as short as leaving out and calming down parts of it makes it. */
export async function shorten(
  failing: readonly number[],
  fails: (choices: readonly number[]) => Promise<boolean>,
): Promise<readonly number[]> {
  let best = failing;
  let runs = 0;
  const better = async (candidate: readonly number[]): Promise<boolean> => {
    if (runs >= MAX_RUNS) return false;
    runs += 1;
    if (!(await fails(candidate))) return false;
    best = candidate;
    return true;
  };
  // The end first: what comes after the fault is never needed.
  for (let size = best.length >> 1; size >= 1; size >>= 1)
    while (size < best.length && (await better(best.slice(0, best.length - size)))) continue;
  for (let size = best.length >> 2; size >= 1; size >>= 1)
    for (let at = Math.max(0, best.length - size); at >= 0; at -= size) {
      if (await better([...best.slice(0, at), ...best.slice(at + size)])) continue;
      const isLoud = best.slice(at, at + size).some((value) => value !== 0);
      if (isLoud) await better(best.map((value, i) => (i >= at && i < at + size ? 0 : value)));
    }
  return best;
}
