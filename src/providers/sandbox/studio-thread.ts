import { serveThread } from "../../runtime/worker.ts";
import { makeFilm } from "./draw/film.ts";
import { makePicture } from "./draw/picture.ts";
import type { FilmOrder, PictureOrder } from "./picture-order.ts";

/** What the thread is told to make. */
export type StudioOrder =
  | { readonly kind: "picture"; readonly order: PictureOrder }
  | { readonly kind: "film"; readonly order: FilmOrder };

/** What came of it. */
export type StudioAnswer = { readonly bytes: Uint8Array } | { readonly problem: string };

serveThread<null, StudioOrder, StudioAnswer>(() => async (order) => {
  try {
    return {
      bytes: order.kind === "picture" ? await makePicture(order.order) : await makeFilm(order.order),
    };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
});
