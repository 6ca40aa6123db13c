// How many random cases a test tries, and which ones.

/** All random cases come from this number; `SWITCHYARD_TEST_SEED` sets another one. */
export const SEED = Number(process.env.SWITCHYARD_TEST_SEED ?? "1");

/** Whether there is time for many cases, as in `npm run test:long`. */
export const LONG = process.env.SWITCHYARD_TEST_LONG === "1";

/** The terms of a property: `few` cases, or `many` where there is time. */
export function runsOf(few: number, many = few) {
  return { seed: SEED, numRuns: LONG ? many : few };
}
