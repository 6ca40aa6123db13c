import { totalmem } from "node:os";

/** How much memory this process may use, in bytes: the machine's, or less where its container is bounded. */
export function machineMemory(): number {
  // Without a bound the runtime says 0, or more than there is.
  const bound = process.constrainedMemory();
  return bound > 0 ? Math.min(bound, totalmem()) : totalmem();
}
