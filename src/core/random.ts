/** Randomness as a parameter, so that a seeded run can be repeated. */
export interface Random {
  /** `count` bytes that are not predictable. */
  bytes(count: number): Uint8Array;
}

/** The random source of the machine. */
export const systemRandom: Random = {
  bytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
};

/** A number from 0 up to and without 1. */
export function fraction(random: Random): number {
  return random.bytes(4).reduce((sum, byte) => (sum + byte) / 256, 0);
}
