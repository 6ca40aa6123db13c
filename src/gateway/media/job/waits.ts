import type { Random } from "../../../core/random.ts";

/** `firstMs` doubled `times` times, at most `mostMs`. */
export function grown(firstMs: number, times: number, mostMs: number): number {
  return Math.min(mostMs, firstMs * 2 ** Math.min(times, 30));
}

/** A provider's wish for a pause: a second at least, a minute at most. */
export function heededMs(retryAfterMs: number): number {
  return Number.isFinite(retryAfterMs) ? Math.min(60_000, Math.max(1_000, Math.ceil(retryAfterMs))) : 1_000;
}

/** Up to a quarter more, so that work that failed together does not retry together. */
export function jittered(delayMs: number, random: Random): number {
  const [byte = 0] = random.bytes(1);
  return Math.round(delayMs * (1 + byte / 1_024));
}
