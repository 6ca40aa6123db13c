/** Credits of a dollar (the interface's own figure). */
export const CREDITS_PER_USD = 10_000;

const even = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const fine = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 6 });
const small = new Intl.NumberFormat("en", { minimumFractionDigits: 4, maximumFractionDigits: 4 });
const axis = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

/** Credits with two decimals, so that a column of them is aligned: `1,234.56`, `<0.01`. */
export function credits(amount: number): string {
  const size = Math.abs(amount);
  return `${signOf(amount)}${size > 0 && size < 0.005 ? "<0.01" : even.format(size)}`;
}

/** Credits to the last digit, as they are booked. */
export function exactCredits(amount: number): string {
  return `${signOf(amount)}${fine.format(Math.abs(amount))}`;
}

/** Credits on an axis, whose steps may be small: `0.002`, `12.5`, `1.2M`. */
export function axisCredits(amount: number): string {
  return axis.format(amount);
}

/** Credits as dollars: `$0.12`; below a cent to the value of a credit, `$0.0035`. */
export function dollars(amount: number): string {
  const usd = Math.abs(amount) / CREDITS_PER_USD;
  if (usd > 0 && usd < 0.000_05) return "<$0.0001";
  return `${signOf(amount)}$${(usd >= 0.01 || usd === 0 ? even : small).format(usd)}`;
}

/** Credits as dollars and whole cents, for a column: the credits beside it tell what is smaller. */
export function cents(amount: number): string {
  const usd = Math.abs(amount) / CREDITS_PER_USD;
  return usd > 0 && usd < 0.005 ? "<$0.01" : `${signOf(amount)}$${even.format(usd)}`;
}

/** Of these credits those whose dollars are the widest, as `cents` writes them. */
export function widestCents(amounts: readonly number[]): string {
  const widthOf = (text: string): number => text.length + (/^[<−]/.test(text) ? 0.5 : 0);
  return amounts.map(cents).reduce((widest, text) => (widthOf(text) > widthOf(widest) ? text : widest), "");
}

function signOf(amount: number): string {
  return amount < 0 ? "−" : "";
}

/** A price in dollars to its last digit. */
export function exactPrice(usd: number): string {
  return `$${fine.format(usd)}`;
}
