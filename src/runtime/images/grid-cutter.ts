import { ownMemory } from "../../core/bytes/bytes.ts";
import { createStandby } from "../worker.ts";
import type { Grid } from "./cut-grid.ts";
import type { GridAnswer, GridOrder } from "./grid-thread.ts";

/** Cuts grids of images off the main thread. */
export interface GridCutter {
  /**
   * Cuts a file of several images into a file for each, as `cutGrid` does. The file's memory moves to the thread:
   * `file` is empty afterwards.
   */
  cut(file: Uint8Array, grid: Grid): Promise<readonly Uint8Array[]>;
  /** Starts the thread now, and not with the first grid. */
  startThread(): void;
}

/** A cutter of one grid at a time, on a thread that ends with each grid: a large image needs much memory. */
export function createGridCutter(): GridCutter {
  const threads = createStandby<GridOrder, GridAnswer>(new URL("./grid-thread.ts", import.meta.url), null);
  let last: Promise<unknown> = Promise.resolve();

  const cutNow = async (file: Uint8Array, grid: Grid): Promise<readonly Uint8Array[]> => {
    const order = { file: ownMemory(file), grid };
    const answer = await threads.run(order, [order.file.buffer]);
    if ("files" in answer) return answer.files;
    throw new Error(`A grid of images could not be cut: ${answer.problem}.`);
  };
  return {
    cut(file, grid) {
      const cut = last.then(() => cutNow(file, grid));
      last = cut.catch(() => {});
      return cut;
    },
    startThread: () => threads.standBy(),
  };
}
