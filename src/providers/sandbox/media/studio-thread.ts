import { serveThreadLate } from "../../../runtime/worker.ts";
import type { ImageOrder } from "./image-order.ts";

export type StudioAnswer = { readonly bytes: Uint8Array } | { readonly problem: string };

serveThreadLate<null, ImageOrder, StudioAnswer>(async () => {
  const { makeImage } = await import("../draw/poster.ts");
  return () => async (order) => {
    try {
      return { bytes: await makeImage(order) };
    } catch (error) {
      return { problem: error instanceof Error ? error.message : String(error) };
    }
  };
});
