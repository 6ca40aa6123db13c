import { expect, test } from "bun:test";
import { VIDEO, IMAGE } from "../../../../test/gateway/media-run.ts";
import type { MediaRequest } from "../../../core/media/media.ts";
import { readMediaPayload } from "./payload.ts";

const through = (value: unknown): unknown => readMediaPayload(JSON.parse(JSON.stringify(value)));

const requests: readonly MediaRequest[] = [
  IMAGE,
  {
    ...IMAGE,
    n: 4,
    seed: 0,
    size: { width: 1_024, height: 768 },
    imageSize: "4K",
    aspectRatio: "21:9",
    images: ["data:image/png;base64,AA=="],
    mask: "https://a.example/m.png",
    quality: "0.25",
    background: "opaque",
    outputFormat: "webp",
    midjourney: {
      version: "6.1",
      niji: "6",
      chaos: 1.5,
      weird: 3_000,
      stylize: 0,
      sref: "https://a.example/s",
    },
  },
  VIDEO,
  {
    ...VIDEO,
    seed: 2_147_483_647,
    resolution: "1080p",
    shotType: "multi",
    negativePrompt: "",
    expandPrompt: false,
    firstFrame: "https://a.example/f.png",
    lastFrame: "https://a.example/l.png",
    referenceImages: ["https://a.example/1.png"],
    referenceVideos: ["https://a.example/2.mp4"],
    referenceAudios: ["https://a.example/3.mp3"],
  },
];

for (const [i, request] of requests.entries())
  test(`what a task was asked comes back as it was kept: ${request.kind} ${i}`, () => {
    const payload = { request, clientHeaders: { "x-sandbox": "fail=failed" }, base64: true };
    expect(through(payload)).toEqual(payload);
  });

test("every word that a request may have is kept", () => {
  const words: readonly MediaRequest[] = [
    ...(["480p", "720p", "1080p"] as const).map((resolution) => ({ ...VIDEO, resolution })),
    ...(["16:9", "9:16"] as const).map((aspectRatio) => ({ ...VIDEO, aspectRatio })),
    ...(["single", "multi"] as const).map((shotType) => ({ ...VIDEO, shotType })),
    ...(["1K", "2K", "4K"] as const).map((imageSize) => ({ ...IMAGE, imageSize })),
    ...(["opaque", "auto"] as const).map((background) => ({ ...IMAGE, background })),
    ...(["png", "jpeg", "webp"] as const).map((outputFormat) => ({ ...IMAGE, outputFormat })),
    ...(["6", "6.1", "7"] as const).flatMap((version) =>
      (["5", "6"] as const).map((niji) => ({
        ...IMAGE,
        midjourney: { version, niji, chaos: 0, weird: 0, stylize: 0 },
      })),
    ),
  ];
  for (const request of words) {
    const payload = { request, clientHeaders: {} };
    expect(through(payload)).toEqual(payload);
  }
});

test("members that this version does not know stay", () => {
  const payload = { request: { ...IMAGE, novel: 1 }, clientHeaders: {}, novel: 2 };
  expect(through(payload)).toEqual(payload);
});

test("what is not of this form is none", () => {
  for (const value of [
    null,
    "{}",
    {},
    { request: IMAGE },
    { request: { ...IMAGE, kind: "sound" }, clientHeaders: {} },
    { request: { ...IMAGE, n: 1.5 }, clientHeaders: {} },
    { request: { ...VIDEO, referenceImages: "a" }, clientHeaders: {} },
    { request: IMAGE, clientHeaders: { a: 1 } },
  ])
    expect(through(value)).toBeUndefined();
});
