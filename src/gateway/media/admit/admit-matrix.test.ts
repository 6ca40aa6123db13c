import { describe, expect, test } from "bun:test";
import {
  askImage,
  askVideo,
  imageBody,
  LINK,
  mediaModels,
  refusalOf,
  videoBody,
} from "../../../../test/gateway/media-offer.ts";
import type { ImageRequest, VideoRequest } from "../../../core/media/media.ts";

// What each model takes, does not take, or has done for it: one test for each row, one check for each model in it.

const IMAGE_MODELS = [
  "alibaba/qwen-image-2.0",
  "google/gemini-3-pro-image",
  "midjourney/midjourney",
  "openai/gpt-image-2",
  "openai/gpt-image-2/edit",
] as const;

const VIDEO_MODELS = ["alibaba/wan-2.6", "bytedance/seedance-2.0", "bytedance/seedance-2.0-fast"] as const;

test("the tables below are of all media models", () =>
  expect(mediaModels.map(({ id }) => id).sort()).toEqual([...IMAGE_MODELS, ...VIDEO_MODELS].sort()));

/** What a value comes to in the request, or that it is refused by name. */
type Cell = object | "refused";

interface Row {
  readonly name: string;
  /** What is asked for. */
  readonly ask: object;
  /** By model, in the order above. */
  readonly cells: readonly Cell[];
}

const SIZES = "512*512 768*768 1024*1024 1536*1536 2048*2048 1024*768 768*1024 1536*1024 1024*1536".split(
  " ",
);
const RATIOS = "1:1 2:3 3:2 3:4 4:3 4:5 5:4 9:16 16:9 21:9".split(" ");

const pixels = (size: string): object => {
  const [width, height] = size.split("*").map(Number);
  return { size: { width, height } };
};
const same = (cell: Cell): readonly Cell[] => [cell, cell, cell, cell, cell];
const links = (count: number): string[] => Array.from({ length: count }, (_, i) => `${LINK}?${i}`);
const only = (index: number, cell: Cell): readonly Cell[] =>
  IMAGE_MODELS.map((_, i) => (i === index ? cell : "refused"));

const IMAGE_ROWS: readonly Row[] = [
  ...[800, 801].map((length) => ({
    name: `prompt of ${length} characters`,
    ask: { prompt: "x".repeat(length) },
    cells: same({ prompt: "x".repeat(length) }).map((cell, i) =>
      i === 0 && length > 800 ? "refused" : cell,
    ),
  })),
  {
    name: "prompt of 1,025 characters",
    ask: { prompt: "x".repeat(1_025) },
    cells: ["refused", {}, "refused", {}, {}],
  },
  {
    name: "prompt of 32,000 characters",
    ask: { prompt: "x".repeat(32_000) },
    cells: ["refused", {}, "refused", {}, {}],
  },
  {
    name: "prompt of 32,001 characters",
    ask: { prompt: "x".repeat(32_001) },
    cells: ["refused", {}, "refused", "refused", "refused"],
  },
  { name: "async", ask: { async: true }, cells: same({}) },
  { name: "timeout", ask: { timeout: 30 }, cells: same({}) },
  { name: "response_format", ask: { response_format: "url" }, cells: same({}) },
  { name: "n 1", ask: { n: 1 }, cells: [{ n: 1 }, { n: 1 }, { n: 4 }, { n: 1 }, { n: 1 }] },
  ...[2, 3, 4].map((n) => ({
    name: `n ${n}`,
    ask: { n },
    cells: [{ n }, { n }, "refused", { n }, { n }] as Cell[],
  })),
  {
    name: "no size",
    ask: {},
    cells: [pixels("2048*2048"), {}, {}, pixels("1024*1024"), pixels("1024*1024")],
  },
  ...SIZES.map((size) => {
    // The default of the interface says nothing where size is not taken; two are too small for GPT Image.
    const untaken: Cell = size === "2048*2048" ? {} : "refused";
    const gpt: Cell = ["512*512", "768*768"].includes(size) ? "refused" : pixels(size);
    return { name: `size ${size}`, ask: { size }, cells: [pixels(size), untaken, untaken, gpt, gpt] };
  }),
  ...["1K", "2K", "4K"].map((word) => ({
    name: `image_size ${word}`,
    ask: { image_size: word },
    cells: IMAGE_MODELS.map((_, i): Cell => (i === 1 ? { imageSize: word } : word === "1K" ? {} : "refused")),
  })),
  ...RATIOS.map((ratio) => ({
    name: `aspect_ratio ${ratio}`,
    ask: { aspect_ratio: ratio },
    cells: IMAGE_MODELS.map((_, i): Cell =>
      i === 1 || i === 2 ? { aspectRatio: ratio } : ratio === "1:1" ? {} : "refused",
    ),
  })),
  { name: "seed -1", ask: { seed: -1 }, cells: same({}) },
  { name: "seed 7", ask: { seed: 7 }, cells: [{ seed: 7 }, { seed: 7 }, { seed: 7 }, "refused", "refused"] },
  {
    name: "no image",
    ask: { image: [] },
    cells: [{ images: [] }, { images: [] }, { images: [] }, { images: [] }, "refused"],
  },
  ...[1, 3, 4, 5, 6, 14, 15, 16, 17].map((count) => ({
    name: `${count} images`,
    ask: { image: links(count) },
    cells: [3, 14, 5, 0, 16].map((most): Cell => (count > most ? "refused" : { images: links(count) })),
  })),
  { name: "mask", ask: { mask: LINK }, cells: only(4, { mask: LINK }) },
  { name: "niji", ask: { niji: "6" }, cells: only(2, { midjourney: { niji: "6", version: "7" } }) },
  { name: "niji close", ask: { niji: "close" }, cells: same({}) },
  { name: "niji 0, which is off", ask: { niji: "0" }, cells: only(2, { midjourney: { version: "7" } }) },
  { name: "sref", ask: { sref: LINK }, cells: only(2, { midjourney: { sref: LINK } }) },
  { name: "chaos", ask: { chaos: 5 }, cells: only(2, { midjourney: { chaos: 5 } }) },
  { name: "weird", ask: { weird: 5 }, cells: only(2, { midjourney: { weird: 5 } }) },
  { name: "stylize", ask: { stylize: 5 }, cells: only(2, { midjourney: { stylize: 5 } }) },
  { name: "version", ask: { version: "6.1" }, cells: only(2, { midjourney: { version: "6.1" } }) },
  {
    name: "what only Midjourney has, at its defaults",
    ask: { chaos: 0, weird: 0, stylize: 100, version: "7" },
    cells: [{}, {}, { midjourney: { chaos: 0, weird: 0, stylize: 100, version: "7" } }, {}, {}],
  },
  {
    name: "no quality",
    ask: {},
    cells: [{}, {}, { quality: "1" }, { quality: "auto" }, { quality: "auto" }],
  },
  ...(
    [
      ["0.25", "low"],
      ["0.5", "medium"],
      ["1", "high"],
      ["2", "high"],
    ] as const
  ).map(([quality, word]) => ({
    name: `quality ${quality}`,
    ask: { quality },
    cells: [quality, quality, { quality }, { quality: word }, { quality: word }].map((cell): Cell =>
      typeof cell === "string" ? (quality === "1" ? {} : "refused") : cell,
    ),
  })),
  ...["low", "medium", "high", "auto"].map((quality) => ({
    name: `quality ${quality}`,
    ask: { quality },
    cells: ["refused", "refused", "refused", { quality }, { quality }] as Cell[],
  })),
  {
    name: "background opaque",
    ask: { background: "opaque" },
    cells: ["refused", "refused", "refused", { background: "opaque" }, { background: "opaque" }],
  },
  {
    name: "background auto",
    ask: { background: "auto" },
    cells: [{}, {}, {}, { background: "auto" }, { background: "auto" }],
  },
  ...["png", "jpeg", "webp"].map((format) => ({
    name: `output_format ${format}`,
    ask: { output_format: format },
    cells: IMAGE_MODELS.map((_, i): Cell =>
      i > 2 ? { outputFormat: format } : format === "png" ? {} : "refused",
    ),
  })),
];

describe("images", () => {
  for (const { name, ask, cells } of IMAGE_ROWS) {
    test(name, () => {
      for (const [i, id] of IMAGE_MODELS.entries()) {
        const cell = cells[i];
        const asked = (): ImageRequest => askImage(imageBody(id, ask)).request as ImageRequest;
        if (cell === "refused") expect([id, refusalOf(asked)?.param]).toEqual([id, Object.keys(ask)[0]]);
        else expect([id, asked()]).toMatchObject([id, cell ?? {}]);
      }
    });
  }

  test("what a model does not take is no part of its request", () => {
    const parts = (id: string): string[] => Object.keys(askImage(imageBody(id)).request).sort();
    const common = ["images", "kind", "n", "prompt"];
    expect(IMAGE_MODELS.map(parts)).toEqual([
      [...common, "size"].sort(),
      [...common, "aspectRatio", "imageSize"].sort(),
      [...common, "aspectRatio", "midjourney", "quality"].sort(),
      [...common, "background", "outputFormat", "quality", "size"].sort(),
      [...common, "background", "outputFormat", "quality", "size"].sort(),
    ]);
  });
});

interface VideoRow extends Row {
  /** Fields that warnings name, by model. */
  readonly warned?: readonly (readonly string[])[];
  /** The field that a refusal names; the first of those asked for where it is not told. */
  readonly param?: string;
}

const video = (cell: Cell): readonly Cell[] => [cell, cell, cell];
const NONE: readonly string[] = [];

const VIDEO_ROWS: readonly VideoRow[] = [
  { name: "prompt of 1,500 characters", ask: { prompt: "x".repeat(1_500) }, cells: video({}) },
  { name: "prompt of 1,501 characters", ask: { prompt: "x".repeat(1_501) }, cells: ["refused", {}, {}] },
  { name: "prompt of 10,001 characters", ask: { prompt: "x".repeat(10_001) }, cells: video("refused") },
  { name: "timeout", ask: { timeout: 60 }, cells: video({}) },
  { name: "seed 7", ask: { seed: 7 }, cells: video({ seed: 7 }) },
  { name: "seed 2147483647", ask: { seed: 2_147_483_647 }, cells: video({ seed: 2_147_483_647 }) },
  ...["5", "10", "15"].map((duration) => ({
    name: `duration ${duration}`,
    ask: { duration },
    cells: video({ durationSec: Number(duration) }),
  })),
  {
    name: "duration 15 with references",
    ask: { duration: "15", input_references: [LINK] },
    cells: ["refused", { durationSec: 15 }, { durationSec: 15 }],
  },
  {
    name: "duration 10 with references",
    ask: { duration: "10", input_references: [LINK] },
    cells: video({ durationSec: 10 }),
  },
  {
    name: "resolution 480p",
    ask: { resolution: "480p" },
    cells: [{ resolution: "720p" }, { resolution: "480p" }, { resolution: "480p" }],
    warned: [["resolution"], NONE, NONE],
  },
  { name: "resolution 720p", ask: { resolution: "720p" }, cells: video({ resolution: "720p" }) },
  {
    name: "resolution 1080p",
    ask: { resolution: "1080p" },
    cells: [{ resolution: "1080p" }, { resolution: "1080p" }, { resolution: "720p" }],
    warned: [NONE, NONE, ["resolution"]],
  },
  { name: "aspect_ratio 9:16", ask: { aspect_ratio: "9:16" }, cells: video({ aspectRatio: "9:16" }) },
  { name: "no aspect_ratio", ask: {}, cells: video({ aspectRatio: "16:9" }) },
  {
    name: "shot_type single",
    ask: { shot_type: "single" },
    cells: [{ shotType: "single", expandPrompt: false }, {}, {}],
  },
  {
    name: "shot_type multi",
    ask: { shot_type: "multi" },
    cells: [
      { shotType: "multi", expandPrompt: true, prompt: "A red fox runs" },
      { prompt: "A red fox runs\n\nTell it in several shots." },
      { prompt: "A red fox runs\n\nTell it in several shots." },
    ],
    warned: [["enable_prompt_expansion"], ["shot_type"], ["shot_type"]],
  },
  {
    name: "shot_type multi with the prompt expanded",
    ask: { shot_type: "multi", enable_prompt_expansion: true },
    cells: [{ shotType: "multi", expandPrompt: true }, {}, {}],
    warned: [NONE, ["enable_prompt_expansion", "shot_type"], ["enable_prompt_expansion", "shot_type"]],
  },
  {
    name: "shot_type multi with references, which needs no expansion",
    ask: { shot_type: "multi", input_references: [LINK] },
    cells: [{ shotType: "multi", expandPrompt: false }, {}, {}],
    warned: [NONE, ["shot_type"], ["shot_type"]],
  },
  {
    name: "negative_prompt",
    ask: { negative_prompt: "rain" },
    cells: [
      { negativePrompt: "rain", prompt: "A red fox runs" },
      { prompt: "A red fox runs\n\nAvoid: rain" },
      { prompt: "A red fox runs\n\nAvoid: rain" },
    ],
    warned: [NONE, ["negative_prompt"], ["negative_prompt"]],
  },
  {
    name: "negative_prompt of 501 characters",
    ask: { negative_prompt: "x".repeat(501) },
    cells: ["refused", {}, {}],
    warned: [NONE, ["negative_prompt"], ["negative_prompt"]],
  },
  {
    name: "negative_prompt longer than any prompt",
    ask: { negative_prompt: "x".repeat(10_001) },
    cells: video("refused"),
  },
  {
    name: "enable_prompt_expansion",
    ask: { enable_prompt_expansion: true },
    cells: [{ expandPrompt: true }, {}, {}],
    warned: [NONE, ["enable_prompt_expansion"], ["enable_prompt_expansion"]],
  },
  {
    name: "enable_prompt_expansion with references",
    ask: { enable_prompt_expansion: true, input_references: [LINK] },
    cells: [{ expandPrompt: false }, {}, {}],
    warned: [["enable_prompt_expansion"], ["enable_prompt_expansion"], ["enable_prompt_expansion"]],
  },
  { name: "no enable_prompt_expansion", ask: {}, cells: [{ expandPrompt: false }, {}, {}] },
  { name: "a first frame", ask: { frame_images: [LINK] }, cells: video({ firstFrame: LINK }) },
  {
    name: "a first and a last frame",
    ask: { frame_images: [LINK, `${LINK}?2`] },
    cells: [
      "refused",
      { firstFrame: LINK, lastFrame: `${LINK}?2` },
      { firstFrame: LINK, lastFrame: `${LINK}?2` },
    ],
  },
  ...[1, 5, 6, 9, 10].map((count) => ({
    name: `${count} input_references`,
    ask: { input_references: links(count) },
    cells: [5, 9, 9].map((most): Cell => (count > most ? "refused" : { referenceImages: links(count) })),
  })),
  ...[1, 3, 4].map((count) => ({
    name: `${count} reference_videos`,
    ask: { reference_videos: links(count) },
    cells: video(count > 3 ? "refused" : { referenceVideos: links(count) }),
  })),
  {
    name: "five references of both kinds",
    ask: { input_references: links(3), reference_videos: links(2) },
    cells: video({ referenceImages: links(3), referenceVideos: links(2) }),
  },
  {
    name: "six references of both kinds",
    ask: { input_references: links(4), reference_videos: links(2) },
    cells: ["refused", {}, {}],
  },
  {
    name: "audio alone",
    ask: { reference_audios: [LINK] },
    cells: [{ referenceAudios: [LINK] }, "refused", "refused"],
  },
  {
    name: "audio beside an image",
    ask: { reference_audios: [LINK], input_references: [LINK] },
    cells: ["refused", { referenceAudios: [LINK] }, { referenceAudios: [LINK] }],
  },
  {
    name: "three audio files beside a video",
    ask: { reference_audios: links(3), reference_videos: [LINK] },
    cells: ["refused", { referenceAudios: links(3) }, { referenceAudios: links(3) }],
  },
  {
    name: "four audio files beside a video",
    ask: { reference_audios: links(4), reference_videos: [LINK] },
    cells: video("refused"),
  },
  ...["input_references", "reference_videos", "reference_audios"].map((name) => ({
    name: `frame_images together with ${name}`,
    ask: { [name]: [LINK], frame_images: [LINK] },
    cells: video("refused"),
  })),
];

describe("videos", () => {
  for (const { name, ask, cells, warned = [NONE, NONE, NONE] } of VIDEO_ROWS) {
    test(name, () => {
      for (const [i, id] of VIDEO_MODELS.entries()) {
        const cell = cells[i];
        if (cell === "refused") {
          const refused = refusalOf(() => askVideo(videoBody(id, ask)));
          expect([id, refused?.param]).toEqual([id, Object.keys(ask)[0]]);
          continue;
        }
        const { request, warnings } = askVideo(videoBody(id, ask));
        expect([id, request as VideoRequest]).toMatchObject([id, cell ?? {}]);
        expect([id, warnings.map((text) => text.split(" ")[0])]).toEqual([id, [...(warned[i] ?? [])]]);
        for (const text of warnings) expect(text).toMatch(/^[\x20-\x7e]+[^.]$/);
      }
    });
  }

  test("what is said in the prompt must find room there", () => {
    const [id, prompt] = ["bytedance/seedance-2.0", "x".repeat(9_980)];
    const refused = refusalOf(() => askVideo(videoBody(id, { prompt, shot_type: "multi" })));
    expect([refused?.kind, refused?.param]).toEqual(["input_too_large", "shot_type"]);
    expect(askVideo(videoBody(id, { prompt })).request.prompt).toBe(prompt);
  });

  test("what a model does not take is no part of its request", () => {
    const parts = (id: string, ask = {}): string[] =>
      Object.keys(askVideo(videoBody(id, ask)).request).sort();
    const common = [
      "durationSec",
      "kind",
      "prompt",
      "referenceAudios",
      "referenceImages",
      "referenceVideos",
      "resolution",
    ];
    expect(VIDEO_MODELS.map((id) => parts(id))).toEqual([
      [...common, "aspectRatio", "expandPrompt", "shotType"].sort(),
      [...common, "aspectRatio"].sort(),
      [...common, "aspectRatio"].sort(),
    ]);
    expect(parts("bytedance/seedance-2.0", { frame_images: [LINK] })).toEqual(
      [...common, "firstFrame"].sort(),
    );
  });
});
