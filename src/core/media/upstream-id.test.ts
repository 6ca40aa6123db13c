import { describe, expect, test } from "bun:test";
import { mediaModels } from "../../../test/gateway/media-offer.ts";
import type { ImageRequest, MediaRequest, VideoRequest } from "./media.ts";
import { upstreamIdFor, upstreamIds } from "./upstream-id.ts";

const image: ImageRequest = { kind: "image", prompt: "x", n: 1, images: [] };
const video: VideoRequest = {
  kind: "video",
  prompt: "x",
  durationSec: 5,
  resolution: "720p",
  referenceImages: [],
  referenceVideos: [],
  referenceAudios: [],
};

const TEXT_IMAGE = image;
const GIVEN_IMAGE: MediaRequest = { ...image, images: ["https://x/a"] };
const FRAMES: MediaRequest = { ...video, firstFrame: "https://x/a" };
const IMAGES: MediaRequest = { ...video, referenceImages: ["https://x/a"] };
const VIDEOS: MediaRequest = { ...video, referenceVideos: ["https://x/a"] };
const AUDIO: MediaRequest = { ...video, referenceAudios: ["https://x/a"] };

describe("the id at a provider is made by how a request asks", () => {
  const cases: readonly (readonly [string, MediaRequest, string])[] = [
    ["gpt-image-2", GIVEN_IMAGE, "gpt-image-2"],
    ["nano-banana-pro{|/edit}", TEXT_IMAGE, "nano-banana-pro"],
    ["nano-banana-pro{|/edit}", GIVEN_IMAGE, "nano-banana-pro/edit"],
    ["a/{text|image|references}", GIVEN_IMAGE, "a/image"],
    ["wan2.6-{t2v|i2v|r2v}", video, "wan2.6-t2v"],
    ["wan2.6-{t2v|i2v|r2v}", FRAMES, "wan2.6-i2v"],
    ["wan2.6-{t2v|i2v|r2v}", IMAGES, "wan2.6-r2v"],
    ["wan2.6-{t2v|i2v|r2v}", VIDEOS, "wan2.6-r2v"],
    // Audio leads a video made from text.
    ["wan2.6-{t2v|i2v|r2v}", AUDIO, "wan2.6-t2v"],
    ["a/{text|image}", IMAGES, "a/image"],
  ];
  test.each(cases)("%s", (upstreamId, request, id) => expect(upstreamIdFor(upstreamId, request)).toBe(id));
});

test("a provider's names for a model are those of every way to ask", () => {
  expect(upstreamIds("gpt-image-2")).toEqual(["gpt-image-2"]);
  expect(upstreamIds("a{|/edit}")).toEqual(["a", "a/edit"]);
  expect(upstreamIds("{a|b}-{c|d}")).toEqual(["a-c", "a-d", "b-c", "b-d"]);
});

test("every route of the catalogue comes to an id without braces, however it is asked for", () => {
  for (const { category, routes } of mediaModels) {
    const requests =
      category === "image" ? [TEXT_IMAGE, GIVEN_IMAGE] : [video, FRAMES, IMAGES, VIDEOS, AUDIO];
    for (const { upstreamId } of routes)
      for (const request of requests) expect(upstreamIdFor(upstreamId, request)).toMatch(/^[\w./-]+$/);
  }
});
