import { createEffect, createMemo, createSignal, onCleanup } from "solid-js";

/** How high a row is in a table. */
export const ROW_PX = 33;

/**
 * The rows that a table draws. At once it draws at most so many new ones as the window has room for. It draws the
 * others when the browser has painted these. Who opens a long list, or filters it, waits for what can be seen.
 */
export function useGradual<Row>(rows: () => readonly Row[]): () => readonly Row[] {
  const [turn, setTurn] = createSignal(0);
  const drawn = createMemo<readonly Row[]>((before) => {
    turn();
    const end = endOf(rows(), new Set(before));
    return end === -1 ? rows() : rows().slice(0, end);
  }, []);
  createEffect(() => {
    if (drawn().length === rows().length) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    // The first frame paints them, and the second has them on the screen.
    let frame = requestAnimationFrame(() => {
      frame = requestAnimationFrame(() => {
        timer = setTimeout(() => setTurn((last) => last + 1));
      });
    });
    onCleanup(() => {
      cancelAnimationFrame(frame);
      clearTimeout(timer);
    });
  });
  return drawn;
}

/** Where as many rows have come that are not among `known` as the window has room for; -1 where there are fewer. */
function endOf<Row>(rows: readonly Row[], known: ReadonlySet<Row>): number {
  const most = Math.ceil(innerHeight / ROW_PX);
  let fresh = 0;
  return rows.findIndex((row) => !known.has(row) && (fresh += 1) > most);
}
