import { expect, test } from "bun:test";
import { shortId } from "./ids.ts";

test("a long id is shown by its prefix and its end", () => {
  expect(shortId("req_01a20f78dde6c42e2ac0ea0a1a7c86ab")).toBe("req_…1a7c86ab");
  expect(shortId("img_12345678")).toBe("img_12345678");
  expect(shortId("0123456789abcdef")).toBe("…89abcdef");
});
