import { describe, expect, test } from "bun:test";
import type { PixelSize, VideoRequest } from "../../../core/media/media.ts";
import { geminiSize, sizeOfImage, sizeOfVideo } from "./sizes.ts";

const turned = ({ width, height }: PixelSize): PixelSize => ({ width: height, height: width });
const shape = (width: number, height: number): PixelSize => ({ width, height });
const RATIOS = ["1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9"];

describe("a video", () => {
  for (const [resolution, wide, less] of [
    ["480p", shape(864, 496), shape(752, 560)],
    ["720p", shape(1280, 720), shape(1088, 832)],
    ["1080p", shape(1920, 1080), shape(1632, 1248)],
  ] as const)
    test(`at ${resolution} has the size that is nearest to its shape, lying or standing`, () => {
      const sizeOf = (frame?: PixelSize, more: Partial<VideoRequest> = {}): PixelSize =>
        sizeOfVideo({ resolution, ...more } as VideoRequest, frame);
      expect([sizeOf(shape(1600, 900)), sizeOf(shape(800, 600))]).toEqual([wide, less]);
      expect([sizeOf(shape(900, 1600)), sizeOf(shape(600, 800))]).toEqual([turned(wide), turned(less)]);
      const square = sizeOf(shape(500, 500));
      expect(square).toEqual(turned(square));
      expect(square.height).toBe({ "480p": 640, "720p": 960, "1080p": 1440 }[resolution]);
      // Without a frame, and where the ratio is said.
      expect(sizeOf()).toEqual(wide);
      expect(sizeOf(shape(500, 500), { aspectRatio: "9:16" })).toEqual(turned(wide));
    });
});

describe("an image", () => {
  test("of Gemini's stands as it lies, has the shape that was asked for, and twice and four times the sides", () => {
    for (const ratio of RATIOS) {
      const [across = 1, down = 1] = ratio.split(":").map(Number);
      const size = geminiSize(ratio, "1K");
      expect(Math.abs(size.width / size.height / (across / down) - 1)).toBeLessThan(0.025);
      if (ratio !== "21:9") expect(geminiSize(`${down}:${across}`, "1K")).toEqual(turned(size));
      for (const [name, times] of [["2K", 2] as const, ["4K", 4] as const])
        expect(geminiSize(ratio, name)).toEqual(shape(size.width * times, size.height * times));
      expect([size.width % 16, size.height % 16]).toEqual([0, 0]);
    }
    expect(geminiSize("7:1", "1K")).toEqual(shape(1024, 1024));
  });

  test("of Midjourney's stands as it lies, and has about the shape that was asked for", () => {
    for (const aspectRatio of RATIOS) {
      const [across = 1, down = 1] = aspectRatio.split(":").map(Number);
      const sizeOf = (ratio: string): PixelSize =>
        sizeOfImage({ aspectRatio: ratio, midjourney: {} } as never);
      const size = sizeOf(aspectRatio);
      expect(Math.abs(size.width / size.height / (across / down) - 1)).toBeLessThan(0.025);
      if (aspectRatio !== "21:9") expect(sizeOf(`${down}:${across}`)).toEqual(turned(size));
      expect([size.width % 16, size.height % 16]).toEqual([0, 0]);
    }
  });
});
