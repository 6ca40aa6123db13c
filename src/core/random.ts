/** Randomness as a parameter, so that a seeded run can be repeated. */
export interface Random {
  /** `count` bytes that are not predictable. */
  bytes(count: number): Uint8Array;
}

/** The random source of the machine. */
export const systemRandom: Random = {
  bytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
};
