import { expect, test } from "bun:test";
import { openFound } from "./demand.ts";

test("the size of a request's first 1,500 images is read, and that of any further one is not known", () => {
  const found = openFound(0, []);
  let read = 0;
  const size = { width: 9, height: 4 };
  const sizeOf = () => {
    read += 1;
    return size;
  };
  for (let i = 0; i < 1_502; i += 1) found.image(10, sizeOf, "low");
  const { images, media } = found.demand(15_020, { choices: 1, webSearches: 0, longCache: false });
  expect([read, media]).toEqual([1_500, { image: 1_502 }]);
  expect(images.slice(1_499)).toEqual([{ size, detail: "low" }, { detail: "low" }, { detail: "low" }]);
});
