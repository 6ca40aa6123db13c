import { serveThread } from "../../src/runtime/worker.ts";

/** Counts its starts in shared memory, and answers which one it is; ends without an answer when it is told to. */
serveThread<Int32Array<SharedArrayBuffer>, "ask" | "end", number>((starts) => {
  const number = Atomics.add(starts, 0, 1) + 1;
  return (message) => {
    if (message === "end") throw new Error("told to end");
    return number;
  };
});
