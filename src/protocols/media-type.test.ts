import { expect, test } from "bun:test";
import { typeByEnding } from "./media-type.ts";

test.each([
  ["a.MOV", "video/mov"],
  ["Report #3.pdf", "application/pdf"],
  ["https://a.example/b.heic?x=1.gif#y", "image/heic"],
  ["gs://b/c.m4a", "audio/m4a"],
  ["a.constructor", undefined],
  ["pdf", undefined],
  ["", undefined],
])("a file named %p is %p", (name, type) => expect(typeByEnding(name)).toBe(type as string));
