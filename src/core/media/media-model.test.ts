import { describe, expect, test } from "bun:test";
import type { ImageRequest, VideoRequest } from "./media.ts";
import { mostSeconds, priceFacts, type TokenRule, tokensFor } from "./media-model.ts";

describe("the tokens of an image or a second of video", () => {
  const RULES: readonly TokenRule[] = [
    { size: ["1024*1024"], quality: ["low", "medium"], tokens: 10 },
    { resolution: ["4K"], tokens: 20 },
    { quality: ["low"], tokens: 30 },
  ];
  for (const [facts, tokens] of [
    [{ size: "1024*1024", quality: "low" }, 10],
    [{ size: "1024*1024", quality: "medium", resolution: "4K" }, 10],
    [{ size: "1024*1024", quality: "high", resolution: "4K" }, 20],
    [{ quality: "low" }, 30],
    [{ size: "1024*1024" }, 0],
    [{}, 0],
  ] as const)
    test(`of ${JSON.stringify(facts)} are those of the first rule that holds: ${tokens}`, () =>
      expect(tokensFor(RULES, facts)).toBe(tokens));

  test("a rule that asks nothing holds always", () => expect(tokensFor([{ tokens: 7 }], {})).toBe(7));
});

test("the seconds of reference videos count where there are some", () => {
  expect(mostSeconds({ inputVideoSec: 15 }, 5, false)).toBe(5);
  expect(mostSeconds({ inputVideoSec: 15 }, 5, true)).toBe(20);
  expect(mostSeconds({ inputVideoSec: 0 }, 5, true)).toBe(5);
});

describe("the price of a request can depend on", () => {
  const VIDEO: VideoRequest = {
    kind: "video",
    prompt: "p",
    durationSec: 5,
    resolution: "720p",
    referenceImages: [],
    referenceVideos: [],
    referenceAudios: [],
  };
  const IMAGE: ImageRequest = { kind: "image", prompt: "p", n: 1, images: [] };

  test("a video's resolution, and whether a video is among its references", () => {
    expect(priceFacts(VIDEO)).toEqual({ resolution: "720p", hasVideo: false });
    const withVideo = { ...VIDEO, referenceVideos: ["https://a.example/v.mp4"] };
    expect(priceFacts(withVideo)).toEqual({ resolution: "720p", hasVideo: true });
  });

  test("an image's size in either way to say it, and its quality", () => {
    expect(priceFacts(IMAGE)).toEqual({});
    const sized = { ...IMAGE, size: { width: 1024, height: 768 }, quality: "high" };
    expect(priceFacts(sized)).toEqual({ size: "1024*768", quality: "high" });
    expect(priceFacts({ ...IMAGE, imageSize: "2K" })).toEqual({ resolution: "2K" });
  });
});
