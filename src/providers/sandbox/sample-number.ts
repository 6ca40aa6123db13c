import type { Chance } from "./chance.ts";
import { type FlatSchema, limitOf } from "./flat-schema.ts";

/** How far a number goes beyond the only limit that it has. */
const SPAN = 100;

/** A number within the limits of a schema, and a multiple of what it asks for. */
export function sampleNumber(flat: FlatSchema, whole: boolean, chance: Chance): number {
  const { low, high, fits } = rangeOf(flat);
  const step = limitOf(flat.multipleOf) ?? (whole ? 1 : undefined);
  if (step === undefined || step <= 0) {
    const middle = low + ((high - low) * chance.between(1, 99)) / 100;
    return [Math.round(middle), Math.round(middle * 100) / 100, middle, low, high].find(fits) ?? low;
  }
  const from = Math.ceil(low / step);
  const to = Math.floor(high / step);
  const start = to > from ? chance.between(from, to) : from;
  // Of fractions not every product is a multiple to the last digit.
  for (let i = 0; i <= Math.min(2_000, to - from); i += 1) {
    const factor = from + ((start - from + i) % (to - from + 1));
    const value = Number((factor * step).toPrecision(15));
    const isMultiple = Number.isInteger(value / step) && (!whole || Number.isInteger(value));
    if (isMultiple && fits(value)) return Object.is(value, -0) ? 0 : value;
  }
  return whole ? Math.ceil(low) : low;
}

interface Range {
  readonly low: number;
  readonly high: number;
  readonly fits: (value: number) => boolean;
}

function rangeOf(flat: FlatSchema): Range {
  const minimum = limitOf(flat.minimum);
  const maximum = limitOf(flat.maximum);
  // In draft 4 these are words on the limit itself.
  const above = flat.exclusiveMinimum === true ? minimum : limitOf(flat.exclusiveMinimum);
  const below = flat.exclusiveMaximum === true ? maximum : limitOf(flat.exclusiveMaximum);
  const least = Math.max(minimum ?? -Infinity, above ?? -Infinity);
  const most = Math.min(maximum ?? Infinity, below ?? Infinity);
  const span = Math.max(SPAN, (limitOf(flat.multipleOf) ?? 0) * 10);
  const low = least > -Infinity ? least : most < Infinity ? Math.min(0, most - span) : 0;
  return {
    low,
    high: most < Infinity ? most : low + span,
    fits: (value) =>
      value >= least &&
      value <= most &&
      (above === undefined || value > above) &&
      (below === undefined || value < below),
  };
}
