import { expect, test } from "bun:test";
import { VIDEO_SIZES } from "./sizes.ts";
import { makeVideo, VIDEO_FPS } from "./video.ts";

test("there is a sample for every size, light in all, and as long as any model's videos", async () => {
  let bytes = 0;
  for (const size of VIDEO_SIZES) {
    const video = await makeVideo(size, 15, "1");
    bytes += video.length;
    expect(
      Buffer.from(video).includes(
        new Uint8Array([size.width >> 8, size.width & 255, size.height >> 8, size.height & 255]),
      ),
    ).toBe(true);
  }
  expect(bytes).toBeLessThan(1_100_000);
});

test("a video lasts as long as it is asked to, the same for the same seed, another for another", async () => {
  const size = { width: 640, height: 640 };
  for (const seconds of [1, 4, 15, 40]) {
    const video = Buffer.from(await makeVideo(size, seconds, "1"));
    const at = video.indexOf("mvhd");
    expect([video.readUInt32BE(at + 16), video.readUInt32BE(at + 20)]).toEqual([
      VIDEO_FPS,
      seconds * VIDEO_FPS,
    ]);
    expect(video.indexOf("mdat")).toBeGreaterThan(at);
  }
  const first = await makeVideo(size, 5, "1");
  expect(await makeVideo(size, 5, "1")).toEqual(first);
  expect(await makeVideo(size, 5, "2")).not.toEqual(first);
});
