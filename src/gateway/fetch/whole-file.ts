import { joinBytes } from "../../core/bytes/bytes.ts";
import type { FetchedFile } from "./guarded-fetch.ts";

/** All bytes of a file that is being fetched. The caller has room for them. */
export async function wholeFile({ pieces, length = 0 }: FetchedFile): Promise<Uint8Array> {
  // One array from the start: joining pieces at the end would hold a large file twice.
  const whole = new Uint8Array(length);
  const beyond: Uint8Array[] = [];
  let at = 0;
  for await (const piece of pieces) {
    if (at + piece.length <= length) whole.set(piece, at);
    else beyond.push(piece);
    at += piece.length;
  }
  if (beyond.length === 0) return whole.subarray(0, at);
  const held = at - beyond.reduce((sum, piece) => sum + piece.length, 0);
  return joinBytes([whole.subarray(0, held), ...beyond]);
}
