import { GatewayError } from "../../core/errors.ts";

/** A vector as it stands in an answer: its numbers, or the base64 of its 32-bit floats, the lowest byte first. */
export type WrittenVector = readonly number[] | string;

/** The vector that a provider wrote. Throws `upstream_error` for what is none. */
export function readVector(written: unknown): WrittenVector {
  if (typeof written === "string") {
    if (isVector(floatsOf(written))) return written;
  } else if (Array.isArray(written) && isVector(written)) return written as readonly number[];
  throw new GatewayError("upstream_error", "The provider's answer has an embedding that is no vector.");
}

/** A loop: these are up to millions of numbers, on the thread that serves everybody. */
function isVector(items: ArrayLike<unknown>): boolean {
  for (let i = 0; i < items.length; i += 1) if (!Number.isFinite(items[i])) return false;
  return items.length > 0;
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

// Every machine that the runtime runs on has the lowest byte first in its memory, as the encoding has.

const FLOAT_BYTES = Float32Array.BYTES_PER_ELEMENT;

function base64Of(vector: readonly number[]): string {
  return new Uint8Array(new Float32Array(vector).buffer).toBase64();
}

/** The floats of a text; none where it is not the base64 of any. */
function floatsOf(text: string): Float32Array {
  const bytes = bytesOf(text);
  if (bytes === undefined || bytes.length % FLOAT_BYTES !== 0) return new Float32Array(0);
  return new Float32Array(bytes.buffer, 0, bytes.length / FLOAT_BYTES);
}

/** In memory of its own. */
function bytesOf(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.fromBase64(text);
  } catch {
    return undefined;
  }
}
