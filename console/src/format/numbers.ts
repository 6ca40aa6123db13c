const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const precise = new Intl.NumberFormat("en", { minimumFractionDigits: 3, maximumFractionDigits: 3 });
const percent = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 });

/** A count in full: `12,345`. */
export function count(value: number): string {
  return whole.format(value);
}

const digits = new Intl.NumberFormat("en", { maximumFractionDigits: 6 });

/** A number that may have a fraction, in full: `12,345.5`. */
export function grouped(value: number): string {
  return digits.format(value);
}

const plurals = new Intl.PluralRules("en");

/** How many there are of something: `1 key`, `1,204 keys`. `many`: where the plural is not the singular and an s. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${whole.format(value)} ${plurals.select(value) === "one" ? one : many}`;
}

/** A count in at most four signs and a letter: `12.3K`. */
export function compact(value: number): string {
  return Math.abs(value) < 10_000 ? whole.format(value) : short.format(value);
}

/** A part of one as a percentage. */
export function share(part: number, all: number): string {
  return all === 0 ? "–" : percent.format(part / all);
}

/** Beyond this growth a reader is shown a multiple: a percentage of five digits says less. */
const MOST_RATIO = 10;

/** How far `now` is from `before`, with its sign: `+12.5%`, `×57`; `undefined` where there is nothing to compare with. */
export function delta(now: number, before: number): string | undefined {
  if (before === 0) return undefined;
  const ratio = now / before - 1;
  if (ratio >= MOST_RATIO) return `×${compact(ratio + 1)}`;
  const size = percent.format(Math.abs(ratio));
  return size === "0%" ? "±0%" : `${ratio < 0 ? "−" : "+"}${size}`;
}

/** Milliseconds as people say them: `85 ms`, `1.24 s`, `3 min 5 s`, `5 min`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const all = Math.round(ms / 1_000);
  const [hours, minutes, rest] = [Math.floor(all / 3_600), Math.floor((all % 3_600) / 60), all % 60];
  const parts = hours > 0 ? [`${hours} h`, minutes, "min"] : [`${minutes} min`, rest, "s"];
  return parts[1] === 0 ? String(parts[0]) : parts.join(" ");
}

/** Milliseconds on an axis, with the digits of its steps alone: `0`, `500 ms`, `2.5 s`, `5 min`. */
export function axisDuration(ms: number): string {
  if (ms === 0) return "0";
  if (ms < 1_000) return `${grouped(ms)} ms`;
  return ms < 60_000 ? `${grouped(ms / 1_000)} s` : duration(ms);
}

/** Milliseconds as seconds, for a column that names the unit: `0.085`, `185.000`. */
export function seconds(ms: number): string {
  return precise.format(ms / 1_000);
}
