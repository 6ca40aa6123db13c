import { expect, test } from "bun:test";
import { fileAddress, fileName } from "./file-address.ts";

test("a file of the gateway is asked for where the page came from", () => {
  const path = "/assets/img_1/a.png?expires=1&signature=x";
  expect(fileAddress(`https://models.example${path}`, "https://models.example/")).toBe(path);
  expect(fileAddress(`https://models.example.evil${path}`, "https://models.example")).toBe(
    `https://models.example.evil${path}`,
  );
  expect(fileAddress("https://bucket.example/a.png?x=1", "https://models.example")).toBe(
    "https://bucket.example/a.png?x=1",
  );
});

test("a file is named as in its address", () => {
  expect(fileName("/assets/img_1/a.png?expires=1")).toBe("a.png");
});
