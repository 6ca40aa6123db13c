import { serveThreadLate } from "../worker.ts";
import type { Grid } from "./cut-grid.ts";

/** An order to the thread. */
export interface GridOrder {
  readonly file: Uint8Array<ArrayBuffer>;
  readonly grid: Grid;
}

/** Its result. */
export type GridAnswer = { readonly files: readonly Uint8Array[] } | { readonly problem: string };

serveThreadLate<null, GridOrder, GridAnswer>(async () => {
  const { cutGrid } = await import("./cut-grid.ts");
  return () =>
    async ({ file, grid }) => {
      try {
        return { files: await cutGrid(file, grid) };
      } catch (error) {
        return { problem: error instanceof Error ? error.message : String(error) };
      }
    };
});
