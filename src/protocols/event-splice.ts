import type { ByteBuilder } from "../core/byte-builder.ts";
import type { EventSpan } from "./protocol.ts";
import type { Place } from "./scan.ts";

const encoder = new TextEncoder();
const COLON = encoder.encode(":");
/** What stands before the data of an event. */
export const DATA = encoder.encode("data: ");
/** What ends an event. */
export const END = encoder.encode("\n\n");

/** Adds a span to `out` without what `cuts` (pairs of from and to, in order) take out, and with `text` as one value. */
export function addSpliced(
  out: ByteBuilder,
  { bytes, start, end }: Readonly<EventSpan>,
  cuts: readonly number[],
  value?: Place,
  text?: Uint8Array,
): void {
  let from = start;
  let replaced = text === undefined ? undefined : value;
  for (let i = 0; i <= cuts.length; i += 2) {
    const cutStart = i < cuts.length ? (cuts[i] as number) : end;
    if (replaced !== undefined && text !== undefined && replaced.start < cutStart) {
      out.add(bytes, from, replaced.start);
      out.add(text);
      from = replaced.end;
      replaced = undefined;
    }
    out.add(bytes, from, cutStart);
    if (i < cuts.length) from = cuts[i + 1] as number;
  }
}

/** Adds a comment, of which `[start, end)` is what follows its colon. */
export function addComment(out: ByteBuilder, bytes: Uint8Array, start: number, end: number): void {
  out.add(COLON);
  out.add(bytes, start, end);
  out.add(END);
}
