import { expect, test } from "bun:test";
import { readAnswer, warningsIn } from "./media-answer.ts";

test("the result of a plain request has its images and its price", () => {
  const text = JSON.stringify({ created: 1, data: [{ url: "a" }, { url: "b" }], credit: 700 });
  expect(readAnswer("image", text)).toMatchObject({ state: "completed", files: ["a", "b"], credit: 700 });
});

test("a video has its files under `output`", () => {
  const text = JSON.stringify({ id: "v", status: "completed", output: { urls: ["a"] }, credit: 5 });
  expect(readAnswer("video", text)).toMatchObject({ taskId: "v", files: ["a"], credit: 5 });
});

test("a state that this page has no word for is one that goes on", () => {
  expect(readAnswer("video", `{"id":"v","status":"in_progress"}`).state).toBe("running");
});

test("why a task failed is an object for images and a sentence for videos", () => {
  const image = `{"id":"i","status":"failed","error":{"message":"Blocked","type":"content_moderation"}}`;
  expect(readAnswer("image", image).fault).toMatchObject({ message: "Blocked", type: "content_moderation" });
  const video = `{"id":"v","status":"failed","error":"Blocked"}`;
  expect(readAnswer("video", video).fault).toMatchObject({ message: "Blocked", type: undefined });
  expect(readAnswer("image", `{"id":"i","status":"pending","error":null}`).fault).toBeUndefined();
});

test("each warning of the header is read", () => {
  expect(warningsIn(`299 switchyard "seed is left out, as ever", 299 switchyard "b"`)).toEqual([
    "seed is left out, as ever",
    "b",
  ]);
  expect(warningsIn(null)).toEqual([]);
});
