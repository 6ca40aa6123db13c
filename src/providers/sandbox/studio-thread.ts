import { serveThread } from "../../runtime/worker.ts";
import { makeVideo } from "./draw/video.ts";
import { makeImage } from "./draw/image.ts";
import type { VideoOrder, ImageOrder } from "./image-order.ts";

/** What the thread is told to make. */
export type StudioOrder =
  | { readonly kind: "image"; readonly order: ImageOrder }
  | { readonly kind: "video"; readonly order: VideoOrder };

/** What came of it. */
export type StudioAnswer = { readonly bytes: Uint8Array } | { readonly problem: string };

serveThread<null, StudioOrder, StudioAnswer>(() => async (order) => {
  try {
    return {
      bytes: order.kind === "image" ? await makeImage(order.order) : await makeVideo(order.order),
    };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
});
