/**
 * A generator over a file that comes in pieces: it yields where it needs the next piece, and returns its result. Its
 * driver calls `next` once for each piece that was fed, and once more when the file has ended.
 */
export type Steps<Result> = Generator<void, Result, void>;

/** Reads a file from its beginning to its end and holds no more than the current piece. */
export interface ByteReader {
  /** How many bytes were read or skipped. */
  readonly at: number;
  /** The next byte; `undefined` at the end of the file. */
  byte(): Steps<number | undefined>;
  /** The next `count` bytes; `undefined` when the file ends before. */
  take(count: number): Steps<Uint8Array | undefined>;
  /** The next bytes, at most `count`, fewer where the file is shorter, without moving on. */
  peek(count: number): Steps<Uint8Array>;
  /**
   * Moves on by `count` bytes, `Infinity` to the end, and shows each stretch of them; false when the file ends before.
   */
  pass(count: number, see?: (stretch: Uint8Array) => void): Steps<boolean>;
  /** Moves on behind the next byte of this value; false when there is none. */
  passTo(value: number): Steps<boolean>;
}

/** A reader together with its input. */
export interface FedReader extends ByteReader {
  /**
   * Feeds the next piece, which must not change until the generator has yielded again; `undefined` at the end of the
   * file.
   */
  feed(piece: Uint8Array | undefined): void;
}

const NOTHING = new Uint8Array(0);

/** A reader at the beginning of a file. */
export function openReader(): FedReader {
  let piece: Uint8Array = NOTHING;
  /** Bytes of the piece that were read. */
  let from = 0;
  let before = 0;
  let hasEnded = false;

  /** Whether there is a next byte; waits for it. */
  function* more(): Steps<boolean> {
    while (from === piece.length && !hasEnded) yield;
    return from < piece.length;
  }

  return {
    get at() {
      return before + from;
    },

    feed(next) {
      if (next === undefined) {
        hasEnded = true;
        return;
      }
      const rest = piece.subarray(from);
      before += from;
      from = 0;
      piece = rest.length === 0 ? next : joined(rest, next);
    },

    *byte() {
      return (yield* more()) ? piece[from++] : undefined;
    },

    *take(count) {
      const found = yield* this.peek(count);
      if (found.length < count) return undefined;
      from += count;
      return found;
    },

    *peek(count) {
      while (piece.length - from < count && !hasEnded) yield;
      return piece.subarray(from, from + count);
    },

    *pass(count, see) {
      for (let left = count; left > 0;) {
        if (!(yield* more())) return count === Infinity;
        const stretch = piece.subarray(from, from + Math.min(left, piece.length - from));
        see?.(stretch);
        from += stretch.length;
        left -= stretch.length;
      }
      return true;
    },

    *passTo(value) {
      while (yield* more()) {
        const found = piece.indexOf(value, from);
        from = found === -1 ? piece.length : found + 1;
        if (found !== -1) return true;
      }
      return false;
    },
  };
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array {
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}

/** The four letters that name a chunk or a box. */
export function nameAt(bytes: Uint8Array, at: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + 4));
}

/** The big-endian numbers in some bytes. */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
