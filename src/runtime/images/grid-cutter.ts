import { openThread } from "../worker.ts";
import type { Grid } from "./cut-grid.ts";
import type { GridAnswer, GridOrder } from "./grid-thread.ts";

/**
 * Cuts a file of several images into a file for each, as `cutGrid` does, off the main thread. The file's memory goes
 * there: it is empty afterwards.
 */
export type GridCutter = (file: Uint8Array, grid: Grid) => Promise<readonly Uint8Array[]>;

/** A cutter of one grid at a time, on a thread that is there for as long as it takes: a large image needs much memory. */
export function createGridCutter(): GridCutter {
  let last: Promise<unknown> = Promise.resolve();
  return (file, grid) => {
    const cut = last.then(() => onThread({ file: ownMemoryOf(file), grid }));
    last = cut.catch(() => {});
    return cut;
  };
}

function onThread(order: GridOrder): Promise<readonly Uint8Array[]> {
  return new Promise((resolve, reject) => {
    const thread = openThread<GridOrder, GridAnswer>(new URL("./grid-thread.ts", import.meta.url), null, {
      onMessage(answer) {
        if ("files" in answer) resolve(answer.files);
        else reject(new Error(`A grid of images could not be cut: ${answer.problem}.`));
        thread.stop();
      },
      onClose: (reason) => reject(new Error(`The thread that cuts grids ended: ${reason}`)),
    });
    thread.post(order, [order.file.buffer]);
  });
}

/** Copied only where the file is a part of something larger. */
function ownMemoryOf(file: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = file;
  const isAll = buffer instanceof ArrayBuffer && buffer.byteLength === file.length;
  return isAll ? new Uint8Array(buffer) : new Uint8Array(file);
}
