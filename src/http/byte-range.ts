/** A part of a file: from `start` to before `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * The part that a `Range` header asks for of a file of `size` bytes (RFC 9110, section 14). `none` when the file has
 * nothing of it. `undefined` is the whole file: also for several parts and for an invalid range.
 */
export function readRange(header: string | null, size: number): ByteRange | "none" | undefined {
  const [match, first = "", last = ""] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header ?? "") ?? [];
  if (match === undefined || (first === "" && last === "")) return undefined;
  if (first === "") {
    const length = Number(last);
    return length === 0 || size === 0 ? "none" : { start: Math.max(0, size - length), end: size };
  }
  const start = Number(first);
  if (last !== "" && Number(last) < start) return undefined;
  if (start >= size) return "none";
  return { start, end: last === "" ? size : Math.min(size, Number(last) + 1) };
}
