/** A part of some bytes. */
export interface ByteSpan {
  readonly start: number;
  readonly end: number;
}

/** Bytes that are not joined yet: most pieces are parts of other bytes, and joining them is a copy of them all. */
export type Pieces = readonly Uint8Array[];

/** How many bytes there are in all. */
export function lengthOf(pieces: Pieces): number {
  let length = 0;
  for (const piece of pieces) length += piece.length;
  return length;
}

/** The pieces as one array; the piece itself when there is only one. */
export function joinBytes(pieces: Pieces): Uint8Array {
  if (pieces.length === 1) return pieces[0] as Uint8Array;
  // Every byte of it is written, and memory of its own can go to another thread.
  const whole = Buffer.allocUnsafeSlow(lengthOf(pieces));
  writePieces(pieces, whole);
  return whole;
}

/** Writes the pieces to the beginning of `into`. */
export function writePieces(pieces: Pieces, into: Uint8Array): void {
  let at = 0;
  for (const piece of pieces) {
    into.set(piece, at);
    at += piece.length;
  }
}

/** The bytes in memory of their own: themselves, or a copy where they are a view of something larger. */
export function ownMemory(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  const isAll = buffer instanceof ArrayBuffer && buffer.byteLength === bytes.length;
  return isAll ? new Uint8Array(buffer) : new Uint8Array(bytes);
}
