import { expect, test } from "bun:test";
import { CATEGORIES, EFFORTS } from "./model.ts";

// Words of the interface, which clients send and are sent.

test("the categories of models, in the order in which they are listed", () => {
  expect(CATEGORIES.join()).toBe("language,image,video,audio,embedding");
});

test("the efforts of thinking, the least first", () => {
  expect(EFFORTS.join()).toBe("none,minimal,low,medium,high,xhigh,max");
});
