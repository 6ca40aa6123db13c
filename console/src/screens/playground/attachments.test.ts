import { expect, test } from "bun:test";
import { attach, kindOf } from "./attachments.ts";

test("images, PDFs and texts can go along, by their type or their name", () => {
  expect(kindOf({ name: "a.png", type: "image/png" })).toBe("image");
  expect(kindOf({ name: "a.pdf", type: "application/pdf" })).toBe("pdf");
  expect(kindOf({ name: "a.json", type: "application/json" })).toBe("text");
  expect(kindOf({ name: "a.toml", type: "" })).toBe("text");
  expect(kindOf({ name: "a.svg", type: "image/svg+xml" })).toBeUndefined();
  expect(kindOf({ name: "a.zip", type: "application/zip" })).toBeUndefined();
});

test("a text goes along with its name, and what cannot is told", async () => {
  expect(await attach(new File(["one"], "a.txt", { type: "text/plain" }))).toEqual({
    name: "a.txt",
    part: { type: "text", text: "a.txt:\n\none" },
  });
  expect(attach(new File([""], "a.zip"))).rejects.toThrow("a.zip: images, PDFs and texts can go along.");
});
