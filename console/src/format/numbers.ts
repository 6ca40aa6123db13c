const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const percent = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 });

/** A count in full: `12,345`. */
export function count(value: number): string {
  return whole.format(value);
}

/** A count in at most four signs and a letter: `12.3K`. */
export function compact(value: number): string {
  return Math.abs(value) < 10_000 ? whole.format(value) : short.format(value);
}

/** A part of one as a percentage. */
export function share(part: number, all: number): string {
  return all === 0 ? "–" : percent.format(part / all);
}

/** How far `now` is from `before`, with its sign; `undefined` where there is nothing to compare with. */
export function delta(now: number, before: number): string | undefined {
  if (before === 0) return undefined;
  const ratio = now / before - 1;
  const size = percent.format(Math.abs(ratio));
  return size === "0%" ? "±0%" : `${ratio < 0 ? "−" : "+"}${size}`;
}

/** Milliseconds as people say them: `85 ms`, `1.24 s`, `3 min 5 s`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
}
