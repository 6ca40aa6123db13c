/** Gathers pieces of bytes into one array. Buffers are reused, so that a turn allocates only its result. */
export interface ByteBuilder {
  /** Adds `bytes[start..end)`. */
  add(bytes: Uint8Array, start?: number, end?: number): void;
  /** Adds them without a copy where nothing else is added: what is taken then is a view of `bytes`. */
  lend(bytes: Uint8Array, start: number, end: number): void;
  /** Bytes added since the last call, as an array of its own where none were lent; `undefined` when there are none. */
  take(): Uint8Array | undefined;
  readonly length: number;
}

/** Up to this many bytes a loop is faster than a call into the runtime, which first needs a view of them. */
const FEW_BYTES = 48;

/** Buffers for the next builder that is given bytes. One without bytes has none: a silent stream would keep 5 KiB. */
const spare: Uint8Array<ArrayBuffer>[] = [];
const MOST_SPARE = 16;
/** Room for a read of 64 KiB and what is put into it. */
const MOST_SPARE_BYTES = 128 * 1024;

const NONE = new Uint8Array(0);

/** A builder without bytes, which gets room for `capacity` bytes at first. */
export function createByteBuilder(capacity = 1024): ByteBuilder {
  let buffer: Uint8Array<ArrayBuffer> = NONE;
  let length = 0;
  /** All there is, so far. */
  let lent: Uint8Array | undefined;

  const makeRoom = (extra: number): void => {
    if (length + extra <= buffer.length) return;
    if (buffer === NONE) buffer = spare.pop() ?? new Uint8Array(capacity);
    if (length + extra <= buffer.length) return;
    const larger = new Uint8Array(Math.max(buffer.length * 2, length + extra));
    larger.set(buffer.subarray(0, length));
    buffer = larger;
  };

  const add = (bytes: Uint8Array, start = 0, end = bytes.length): void => {
    if (lent !== undefined) {
      const first = lent;
      lent = undefined;
      add(first);
    }
    const size = end - start;
    makeRoom(size);
    if (size <= FEW_BYTES) for (let i = 0; i < size; i += 1) buffer[length + i] = bytes[start + i] as number;
    else buffer.set(size === bytes.length ? bytes : bytes.subarray(start, end), length);
    length += size;
  };

  return {
    add,
    lend(bytes, start, end) {
      if (length === 0 && lent === undefined && end > start) lent = bytes.subarray(start, end);
      else add(bytes, start, end);
    },
    take() {
      if (lent !== undefined) {
        const all = lent;
        lent = undefined;
        return all;
      }
      if (length === 0) return undefined;
      const [full, size] = [buffer, length];
      // First, so that nothing stays for the next turn where there is no memory for the array.
      buffer = NONE;
      length = 0;
      const taken = full.slice(0, size);
      if (full.length <= MOST_SPARE_BYTES && spare.length < MOST_SPARE) spare.push(full);
      return taken;
    },
    get length() {
      return lent?.length ?? length;
    },
  };
}
