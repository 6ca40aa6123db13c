/** A negative number is a moment that is over, as a date in the past is. */
const SECONDS = /^-?\d*(?:\d|\.\d+)(?:e[+-]?\d+)?$/i;

/** Each form of a date in HTTP (RFC 9110, 5.6.7) has a time of day. Without one, `Date.parse` finds dates in any text. */
const TIME_OF_DAY = /\b\d\d:\d\d:\d\d\b/;

/**
 * A provider's wish for a pause, as a `Retry-After` has it (RFC 9110, 10.2.3): as seconds, or as a date that is read
 * against `nowSec`. A second at least, a minute at most; `undefined` where it is neither.
 */
export function readRetryAfter(value: string | null | undefined, nowSec: number): number | undefined {
  const text = value?.trim() ?? "";
  const seconds = SECONDS.test(text)
    ? Number(text)
    : TIME_OF_DAY.test(text)
      ? Date.parse(text) / 1_000 - nowSec
      : Number.NaN;
  return Number.isNaN(seconds) ? undefined : Math.min(60, Math.max(1, Math.ceil(seconds)));
}
