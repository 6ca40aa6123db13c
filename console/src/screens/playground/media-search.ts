import { readSearch, type Search } from "../../lists/search.ts";

/** Reads the address of the playground for images or videos: its model. */
export function readMedia(search: Readonly<Record<string, unknown>>): Search<"model"> {
  return readSearch(search, ["model"]);
}
