import { GatewayError } from "../../core/errors.ts";

/** A vector as it stands in an answer: its numbers, or the base64 of its 32-bit floats, the lowest byte first. */
export type WrittenVector = readonly number[] | string;

/** The vector that a provider wrote. Throws `upstream_error` for what is none. */
export function readVector(written: unknown): WrittenVector {
  if (typeof written === "string") {
    if (floatsOf(written).every(Number.isFinite)) return written;
  } else if (Array.isArray(written) && written.length > 0 && written.every(Number.isFinite)) {
    return written as readonly number[];
  }
  throw new GatewayError("upstream_error", "The provider's answer has an embedding that is no vector.");
}

/** How many numbers it has. */
export function lengthOfVector(vector: WrittenVector): number {
  return typeof vector === "string" ? floatsOf(vector).length : vector.length;
}

/** The same vector in the encoding that was asked for. */
export function encodeVector(vector: WrittenVector, encoding: "float" | "base64"): WrittenVector {
  if (encoding === "float") return typeof vector === "string" ? Array.from(floatsOf(vector)) : vector;
  return typeof vector === "string" ? vector : base64Of(vector);
}

/** The vector of length one in the same direction; one of zeros stays. Nine digits are all that 32 bits hold. */
export function normalized(vector: readonly number[]): readonly number[] {
  const length = Math.hypot(...vector);
  return length === 0 ? vector : vector.map((number) => Number((number / length).toPrecision(9)));
}

const FLOAT_BYTES = 4;

function base64Of(vector: readonly number[]): string {
  const bytes = new Uint8Array(vector.length * FLOAT_BYTES);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < vector.length; i += 1) view.setFloat32(i * FLOAT_BYTES, vector[i] as number, true);
  return bytes.toBase64();
}

/** The floats of a text; one that is no number where it is not the base64 of any. */
function floatsOf(text: string): Float32Array {
  const bytes = bytesOf(text);
  if (bytes === undefined || bytes.length === 0 || bytes.length % FLOAT_BYTES !== 0)
    return new Float32Array([Number.NaN]);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Float32Array.from({ length: bytes.length / FLOAT_BYTES }, (_, i) =>
    view.getFloat32(i * FLOAT_BYTES, true),
  );
}

function bytesOf(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.fromBase64(text);
  } catch {
    return undefined;
  }
}
