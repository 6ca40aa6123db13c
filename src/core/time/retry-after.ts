/**
 * A provider's wish for a pause, as a `Retry-After` has it (RFC 9110, 10.2.3): as seconds, or as a date that is read
 * against `nowSec`. A second at least, a minute at most; `undefined` where it is neither.
 */
export function readRetryAfter(value: string | null | undefined, nowSec: number): number | undefined {
  if (value === undefined || value === null) return undefined;
  const seconds = Number.isNaN(Number(value)) ? Date.parse(value) / 1_000 - nowSec : Number(value);
  return !Number.isFinite(seconds) ? undefined : Math.min(60, Math.max(1, Math.ceil(seconds)));
}
