import { serveThread } from "../worker.ts";
import { cutGrid, type Grid } from "./cut-grid.ts";

/** An order to the thread. */
export interface GridOrder {
  readonly file: Uint8Array<ArrayBuffer>;
  readonly grid: Grid;
}

/** Its result. */
export type GridAnswer = { readonly files: readonly Uint8Array[] } | { readonly problem: string };

serveThread<null, GridOrder, GridAnswer>(() => async ({ file, grid }) => {
  try {
    return { files: await cutGrid(file, grid) };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
});
