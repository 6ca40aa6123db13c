const exact = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });

const STEPS = [
  ["second", 60],
  ["minute", 3_600],
  ["hour", 86_400],
  ["day", 30 * 86_400],
  ["month", 365 * 86_400],
] as const;
const SECONDS = { second: 1, minute: 60, hour: 3_600, day: 86_400, month: 30 * 86_400 } as const;

/** A moment in full, in the reader's zone. `seconds`: Unix time. */
export function exactTime(seconds: number): string {
  return exact.format(seconds * 1_000);
}

/** A moment as a distance from `nowSec`: `3 min. ago`, `in 2 hr.`. */
export function relativeTime(seconds: number, nowSec: number): string {
  const distance = seconds - nowSec;
  const [unit] = STEPS.find(([, most]) => Math.abs(distance) < most) ?? ["year" as const];
  const of = unit === "year" ? 365 * 86_400 : SECONDS[unit];
  return relative.format(Math.round(distance / of), unit);
}

/** A moment on the axis of a chart that shows `spanSec` seconds. */
export function axisTime(seconds: number, spanSec: number): string {
  return (spanSec > 3 * 86_400 ? day : clock).format(seconds * 1_000);
}
