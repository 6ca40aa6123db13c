/** Money: whole millionths of a credit. 1 USD is 10,000 credits. */
export type MicroCredits = bigint;

/** No balance and no amount reaches this: within it every sum is exact in each store. */
export const MAX_MICRO_CREDITS: MicroCredits = 2n ** 53n - 1n;

/** The most credits that a call may name, as a whole number. */
export const MAX_CREDITS: bigint = MAX_MICRO_CREDITS / 1_000_000n;

/**
 * Credits as JSON number text, exact to the micro-credit and without an exponent: `1234567n` → `"1.234567"`.
 * This text is what goes on the wire, so that a client reads the digits that the ledger holds.
 */
export function creditsText(amount: MicroCredits): string {
  // Whole numbers below 2^53 are exact as such, and written faster.
  if (amount >= 0n && amount <= MAX_MICRO_CREDITS) {
    const micro = Number(amount);
    const rest = micro % PER_CREDIT;
    const whole = (micro - rest) / PER_CREDIT;
    return rest === 0 ? `${whole}` : `${whole}.${fractionText(rest)}`;
  }
  const digits = amount.toString().replace("-", "").padStart(7, "0");
  const whole = digits.slice(0, -6);
  const fraction = digits.slice(-6).replace(/0+$/, "");
  return `${amount < 0n ? "-" : ""}${whole}${fraction === "" ? "" : `.${fraction}`}`;
}

const PER_CREDIT = 1_000_000;

/** The digits behind the point, without zeros at their end: 50000 → `05`. */
function fractionText(micro: number): string {
  let [rest, places] = [micro, 6];
  while (rest % 10 === 0) {
    rest /= 10;
    places -= 1;
  }
  return String(rest).padStart(places, "0");
}

/** Credits as a JavaScript number, for answers that are encoded as a whole; exact below 2^33 credits. */
export function creditsNumber(amount: MicroCredits): number {
  return Number(creditsText(amount));
}

/**
 * Reads a JSON number of credits. `undefined` when it is not finite, finer than a micro-credit, or beyond
 * `MAX_MICRO_CREDITS`: nothing is rounded on the way in.
 */
export function parseCredits(value: number): MicroCredits | undefined {
  const micro = parseDecimal(value, 6);
  if (micro === undefined || micro > MAX_MICRO_CREDITS || micro < -MAX_MICRO_CREDITS) return undefined;
  return micro;
}

/** `value` × 10^`places` as an integer, read from its shortest decimal text; `undefined` when that is not whole. */
export function parseDecimal(value: number, places: number): bigint | undefined {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value));
  if (!match) return undefined;
  const [, sign, whole = "", fraction = "", exponent = "0"] = match;
  const shift = places + Number(exponent) - fraction.length;
  // The shortest text ends in a zero only before the point: what goes beyond the places is never whole.
  if (shift < 0 || shift > 40) return undefined;
  const scaled = BigInt(whole + fraction) * 10n ** BigInt(shift);
  return sign === "-" ? -scaled : scaled;
}
