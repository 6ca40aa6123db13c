import { describe, expect, test } from "bun:test";
import { readModelPage } from "./model-page.ts";

const read = (query: string) => readModelPage(new URLSearchParams(query));

test("a query asks for a page in the words of one SDK or another, and for all without", () => {
  expect(read("")).toEqual({});
  expect(read("beta=true&filter=x&after_id=&pageToken=")).toEqual({});
  const after = { row: "v/m", side: "after" } as const;
  expect(read("limit=20&after_id=v%2Fm")).toEqual({ limit: 20, cursor: { ...after, param: "after_id" } });
  expect(read("pageSize=5&pageToken=v/m")).toEqual({ limit: 5, cursor: { ...after, param: "pageToken" } });
  expect(read("before_id=v/m")).toEqual({ cursor: { row: "v/m", side: "before", param: "before_id" } });
});

describe("what cannot be read is a 400 that names the field", () => {
  const counts = ["0", "-1", "1.5", "x", "", "1e3", "01", "9999999999"];
  test.each(counts)("%p of limit and of pageSize", (count) => {
    for (const param of ["limit", "pageSize"])
      expect(() => read(`${param}=${count}`)).toThrow(
        expect.objectContaining({
          status: 400,
          param,
          message: `${param} must be a whole number from 1 on.`,
        }),
      );
  });
  test("two cursors", () =>
    expect(() => read("after_id=a&before_id=b")).toThrow(
      expect.objectContaining({
        status: 400,
        param: "before_id",
        message: "Send after_id or before_id, not both.",
      }),
    ));
});
