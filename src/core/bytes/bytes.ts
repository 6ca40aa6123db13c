/** A part of some bytes. */
export interface ByteSpan {
  readonly start: number;
  readonly end: number;
}

/** The pieces as one array; the piece itself when there is only one. */
export function joinBytes(pieces: readonly Uint8Array[]): Uint8Array {
  if (pieces.length === 1) return pieces[0] as Uint8Array;
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/** The bytes in memory of their own: themselves, or a copy where they are a view of something larger. */
export function ownMemory(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  const isAll = buffer instanceof ArrayBuffer && buffer.byteLength === bytes.length;
  return isAll ? new Uint8Array(buffer) : new Uint8Array(bytes);
}
