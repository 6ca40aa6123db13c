const SHOWN_TAIL = 8;

/** An id short enough for a column: its prefix and its end, which is random. */
export function shortId(id: string): string {
  const head = id.indexOf("_") + 1;
  return id.length <= head + SHOWN_TAIL + 1 ? id : `${id.slice(0, head)}…${id.slice(-SHOWN_TAIL)}`;
}
