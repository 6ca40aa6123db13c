import { expect, test } from "bun:test";
import { readSearch } from "./search.ts";

test("filters are read out of an address as texts, and others are left out", () => {
  const search = { status: 429, model: "a/b", key_id: "", id: ["req_1"], range: "7d" };
  expect(readSearch(search, ["status", "model", "key_id", "id"])).toEqual({ status: "429", model: "a/b" });
});
