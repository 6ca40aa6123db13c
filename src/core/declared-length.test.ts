import { expect, test } from "bun:test";
import { declaredLength } from "./declared-length.ts";

test("a body has the length that its head says, unless it comes in chunks", () => {
  expect(declaredLength(new Headers({ "content-length": "12" }))).toBe(12);
  expect(declaredLength(new Headers())).toBeUndefined();
  expect(declaredLength(new Headers({ "transfer-encoding": "chunked" }))).toBeUndefined();
  const both = new Headers({ "content-length": "12", "transfer-encoding": "chunked" });
  expect(declaredLength(both)).toBeUndefined();
});
