import { serveThread } from "../../../runtime/worker.ts";
import { makeImage } from "../draw/poster.ts";
import type { ImageOrder } from "./image-order.ts";

/** What came of an order. */
export type StudioAnswer = { readonly bytes: Uint8Array } | { readonly problem: string };

serveThread<null, ImageOrder, StudioAnswer>(() => async (order) => {
  try {
    return { bytes: await makeImage(order) };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
});
