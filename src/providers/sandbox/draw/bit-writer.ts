/** Bits into bytes, the highest bit of a byte first, with the codes of H.264. */
export interface BitWriter {
  /** The lowest `count` bits of `value`, at most 32. */
  bits(value: number, count: number): void;
  /** Unsigned Exp-Golomb, `ue(v)`. */
  ue(value: number): void;
  /** Signed Exp-Golomb, `se(v)`. */
  se(value: number): void;
  /** Zeros up to the next byte. */
  align(): void;
  /** Whole bytes, at a byte's begin. */
  bytes(bytes: Uint8Array): void;
  /** What was written, closed by a one and zeros. */
  take(): Uint8Array;
}

/** Source: ITU-T H.264, 7.2 and 9.1. */
export function createBitWriter(): BitWriter {
  let buffer = new Uint8Array(1024);
  let length = 0;
  let held = 0;
  let heldBits = 0;

  const makeRoom = (extra: number): void => {
    if (length + extra <= buffer.length) return;
    const larger = new Uint8Array(Math.max(buffer.length * 2, length + extra));
    larger.set(buffer.subarray(0, length));
    buffer = larger;
  };
  const bits = (value: number, count: number): void => {
    for (let i = count - 1; i >= 0; i -= 1) {
      held = (held << 1) | ((value >>> i) & 1);
      heldBits += 1;
      if (heldBits < 8) continue;
      makeRoom(1);
      buffer[length] = held;
      length += 1;
      held = 0;
      heldBits = 0;
    }
  };
  const ue = (value: number): void => {
    const width = 32 - Math.clz32(value + 1);
    bits(0, width - 1);
    bits(value + 1, width);
  };
  const align = (): void => {
    if (heldBits > 0) bits(0, 8 - heldBits);
  };
  return {
    bits,
    ue,
    se: (value) => ue(value > 0 ? value * 2 - 1 : -value * 2),
    align,
    bytes(bytes) {
      makeRoom(bytes.length);
      buffer.set(bytes, length);
      length += bytes.length;
    },
    take() {
      bits(1, 1);
      align();
      const taken = buffer.slice(0, length);
      length = 0;
      return taken;
    },
  };
}
