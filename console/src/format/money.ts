/** Credits of a dollar (the interface's own figure). */
export const CREDITS_PER_USD = 10_000;

const even = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const fine = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 6 });

/** Credits, with as many digits as a small amount needs to be told from another: `1,234.56`, `0.034`. */
export function credits(amount: number): string {
  return Math.abs(amount) >= 1 || amount === 0 ? even.format(amount) : fine.format(amount);
}

/** Credits to the last digit, as they are booked. */
export function exactCredits(amount: number): string {
  return fine.format(amount);
}

/** Credits as dollars: `$0.12`. */
export function dollars(amount: number): string {
  const usd = amount / CREDITS_PER_USD;
  const sign = usd < 0 ? "−" : "";
  return `${sign}$${(Math.abs(usd) >= 0.01 || usd === 0 ? even : fine).format(Math.abs(usd))}`;
}

/** A price in dollars to its last digit. */
export function exactPrice(usd: number): string {
  return `$${fine.format(usd)}`;
}
