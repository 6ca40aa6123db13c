import type { Random } from "../core/random.ts";
import { checksum } from "../runtime/hash.ts";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SECRET_LENGTH = 43;
const CHECK_LENGTH = 6;
const KEY = new RegExp(`^sk-[0-9A-Za-z]{${SECRET_LENGTH + CHECK_LENGTH}}$`);

/**
 * A new API key: `sk-`, 43 base-62 characters (256 random bits), and their CRC-32 in 6 more. The checksum tells a
 * mistyped key from an unknown one without asking the store, and lets scanners recognise a leaked one.
 */
export function newKeyText(random: Random): string {
  let secret = "";
  while (secret.length < SECRET_LENGTH) {
    for (const byte of random.bytes(64)) {
      // 248 is the largest multiple of 62 in a byte: above it, digits would not be equally likely.
      if (byte < 248 && secret.length < SECRET_LENGTH) secret += DIGITS[byte % 62];
    }
  }
  return `sk-${secret}${checkDigits(secret)}`;
}

/** Whether `text` has the form of a key and its checksum is right. */
export function isKeyText(text: string): boolean {
  return KEY.test(text) && text.slice(-CHECK_LENGTH) === checkDigits(text.slice(3, 3 + SECRET_LENGTH));
}

/** What may be shown of a key later: its beginning and its end. */
export function keyHint(text: string): string {
  return `${text.slice(0, 7)}…${text.slice(-4)}`;
}

function checkDigits(secret: string): string {
  let rest = checksum(secret);
  let digits = "";
  for (let i = 0; i < CHECK_LENGTH; i += 1) {
    digits = DIGITS[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
