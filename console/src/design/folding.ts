import { createEffect, createMemo, createSignal, on, onCleanup, onMount } from "solid-js";
import { useIsNarrow } from "./narrow.ts";

/** A column as far as folding goes. */
interface Foldable {
  /**
   * The turn in which the column leaves a table that is wider than its room, 1 first; absent: it stays. What it shows
   * is found elsewhere, as on the row's own page.
   */
  readonly fold?: number;
  readonly order?: string;
}

interface Folding<Part> {
  /** Columns for which there is room. */
  readonly shown: () => readonly Part[];
  /** Those for which there is none. */
  readonly folded: () => readonly Part[];
  /** Whether the columns that always stay have too little room: the table wraps their words then. */
  readonly isTight: () => boolean;
  /** Takes the element that scrolls where the table is too wide. */
  readonly hold: (element: HTMLElement) => void;
}

/**
 * Folds columns until a table fits its room, measured: how wide names and ids are is known only when they are drawn.
 * `rows` says when to measure anew; the column by which rows are ordered stays.
 */
export function useFolding<Part extends Foldable>(
  columns: () => readonly Part[],
  rows: () => unknown,
  orderedBy: () => string | undefined,
): Folding<Part> {
  const isNarrow = useIsNarrow();
  let room: HTMLElement | undefined;
  /** How wide the table was before each fold: so much room unfolds again. */
  const widths: number[] = [];
  const [folds, setFolds] = createSignal(0);
  const turns = createMemo(() => {
    const ordered = orderedBy()?.replace("-", "");
    return columns()
      .filter(({ fold, order }) => fold !== undefined && (order === undefined || order !== ordered))
      .toSorted((a, b) => (a.fold ?? 0) - (b.fold ?? 0));
  });
  const shown = createMemo(() => {
    if (isNarrow()) return columns();
    const folded = new Set(turns().slice(0, folds()));
    return columns().filter((column) => !folded.has(column));
  });
  const folded = (): readonly Part[] => columns().filter((column) => !shown().includes(column));
  const fit = (): void => {
    if (room === undefined || isNarrow()) return;
    for (;;) {
      const before = widths.at(-1);
      if (room.scrollWidth > room.clientWidth && folds() <= turns().length) widths.push(room.scrollWidth);
      else if (before !== undefined && room.clientWidth >= before) widths.pop();
      else return;
      setFolds(widths.length);
    }
  };
  // An effect draws nothing before it has ended, and `fit` measures what it draws.
  createEffect(on([rows, turns], () => queueMicrotask(fit)));
  onMount(() => {
    // Outside of the observer's turn: a table that folds changes the size of what is observed.
    const observer = new ResizeObserver(() => requestAnimationFrame(fit));
    if (room === undefined) return;
    observer.observe(room);
    if (room.firstElementChild !== null) observer.observe(room.firstElementChild);
    onCleanup(() => observer.disconnect());
  });
  return { shown, folded, isTight: () => folds() > turns().length, hold: (element) => (room = element) };
}
