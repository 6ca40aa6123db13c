import { afterAll, beforeAll, expect, test } from "bun:test";
import { AT_ONCE, startTaskStation, type TaskStation } from "../e2e/task-station.ts";
import type { Json } from "../gateway/gateway.ts";
import { describeInChromium, inChromium } from "./chromium.ts";

// What the sandbox makes is shown by a browser: its files come over the whole gateway.

/** Opens the video `video.mp4`, and gives the pixels of a frame at a time of it. */
const VIDEO_SCRIPT = `
  const video = document.createElement("video");
  video.muted = true;
  document.documentElement.append(video);
  const event = (name) => new Promise((resolve, reject) => {
    video.addEventListener(name, resolve, { once: true });
    video.addEventListener("error", () => reject(new Error(video.error.message)), { once: true });
  });
  video.src = "video.mp4";
  await event("loadeddata");
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const frameAt = async (seconds) => {
    // The frame is there a moment after the place.
    const shown = new Promise((resolve) => video.requestVideoFrameCallback(resolve));
    const seeked = event("seeked");
    video.currentTime = seconds;
    await seeked;
    await Promise.race([shown, new Promise((resolve) => setTimeout(resolve, 2_000))]);
    [canvas.width, canvas.height] = [video.videoWidth, video.videoHeight];
    context.drawImage(video, 0, 0);
    return context.getImageData(0, 0, canvas.width, canvas.height).data;
  };
`;

describeInChromium("in Chromium", () => {
  let station: TaskStation;
  beforeAll(async () => {
    station = await startTaskStation();
  });
  afterAll(() => station.gateway.close());

  async function fileOf(kind: "image" | "video", body: object): Promise<Uint8Array> {
    const done = await station.until(await station.submit(kind, body, AT_ONCE), "completed", "failed");
    const [url] = kind === "image" ? done.data.map((image: Json) => image.url) : (done.output?.urls ?? []);
    const response = await fetch(url);
    expect(response.status).toBe(200);
    return response.bytes();
  }

  const videos = [
    { body: { model: "alibaba/wan-2.6", resolution: "720p" }, width: 1280, height: 720, seconds: 5 },
    {
      body: { model: "bytedance/seedance-2.0", resolution: "480p", aspect_ratio: "9:16", duration: 10 },
      width: 496,
      height: 864,
      seconds: 10,
    },
    {
      body: { model: "bytedance/seedance-2.0", resolution: "1080p", duration: "15", seed: 1 },
      width: 1920,
      height: 1080,
      seconds: 15,
    },
  ];
  for (const { body, width, height, seconds } of videos)
    test(`a video of ${width} by ${height} and ${seconds} seconds plays, and moves`, async () => {
      const video = await fileOf("video", { prompt: "A red fox runs.", ...body });
      const seen = (await inChromium(
        `${VIDEO_SCRIPT}
          const { duration, videoWidth, videoHeight } = video;
          await video.play();
          const began = video.currentTime;
          const untilMs = performance.now() + 20_000;
          while (video.currentTime - began < 0.4 && performance.now() < untilMs)
            await new Promise((resolve) => setTimeout(resolve, 20));
          const played = video.currentTime - began;
          video.pause();
          const frames = [];
          for (const share of [0.05, 0.35, 0.65, 0.95]) {
            const pixels = await frameAt(duration * share);
            const digest = await crypto.subtle.digest("SHA-256", pixels);
            frames.push(new Uint8Array(digest).join());
          }
          return { duration, videoWidth, videoHeight, played, frames, fault: video.error?.message };`,
        { "video.mp4": video },
      )) as Json;
      expect(seen).toMatchObject({ duration: seconds, videoWidth: width, videoHeight: height });
      expect(seen.fault).toBeUndefined();
      expect(seen.played).toBeGreaterThanOrEqual(0.4);
      expect(new Set(seen.frames).size).toBe(4);
    }, 180_000);

  test("images are shown in every format", async () => {
    const files = Object.fromEntries(
      await Promise.all(
        ["png", "jpeg", "webp"].map(async (format) => {
          const body = { model: "openai/gpt-image-2", size: "1024*768", output_format: format };
          return [`image.${format}`, await fileOf("image", body)] as const;
        }),
      ),
    );
    const seen = (await inChromium(
      `const canvas = new OffscreenCanvas(1024, 768);
        const context = canvas.getContext("2d");
        const seen = [];
        for (const name of ["image.png", "image.jpeg", "image.webp"]) {
          const image = new Image();
          image.src = name;
          await image.decode();
          context.drawImage(image, 0, 0);
          const { data } = context.getImageData(0, 0, 1024, 768);
          const colours = new Set();
          for (let at = 0; at < data.length; at += 4) colours.add(data[at] * 65536 + data[at + 1] * 256 + data[at + 2]);
          seen.push([name, image.naturalWidth, image.naturalHeight, colours.size > 100]);
        }
        return seen;`,
      files,
    )) as Json;
    expect(seen).toEqual([
      ["image.png", 1024, 768, true],
      ["image.jpeg", 1024, 768, true],
      ["image.webp", 1024, 768, true],
    ]);
  }, 180_000);
});
