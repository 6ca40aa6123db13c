import { describe, expect, test } from "bun:test";
import {
  type Asked,
  balanceOf,
  edit,
  ended,
  fast,
  gemini,
  gpt,
  INLINE,
  isVideo,
  journey,
  openStations,
  IMAGE,
  qwen,
  seedance,
  told,
  urlsOf,
  type Vendor,
  wan,
} from "./media-vendors.ts";

// Every image and video model over each of its routes, chosen by the keys that are set and by nothing else. The doubles
// are as strict as the notes about their vendors. The tests check what is sent, what is delivered, and what it costs.

const stationOf = openStations(20);

interface Row {
  readonly via: Vendor;
  readonly body: Asked;
  /** What the vendor calls the model. */
  readonly model: string;
  readonly sent: object;
  readonly want: string;
}

const SIZE = { width: 1_024, height: 1_024 };
const WAN_FAL = { prompt: "Waves.", negative_prompt: "Rain.", resolution: "720p", duration: "5" };
const ROUTES: readonly Row[] = [
  {
    via: "dashscope",
    body: qwen,
    model: "qwen-image-2.0",
    sent: { messages: [{ role: "user", content: [{ text: "Fox." }] }] },
    want: "completed 2 700",
  },
  {
    via: "fal",
    body: qwen,
    model: "fal-ai/qwen-image-2/text-to-image",
    sent: {
      prompt: "Fox.",
      num_images: 2,
      image_size: { width: 1_024, height: 768 },
      seed: 7,
      output_format: "png",
      enable_prompt_expansion: false,
    },
    want: "completed 2 700",
  },
  {
    via: "fal",
    body: { ...qwen, image: [INLINE] },
    model: "fal-ai/qwen-image-2/edit",
    sent: {
      prompt: "Fox.",
      num_images: 2,
      image_size: { width: 1_024, height: 768 },
      seed: 7,
      output_format: "png",
      image_urls: [INLINE],
      enable_prompt_expansion: false,
    },
    want: "completed 2 700",
  },
  {
    via: "wavespeed",
    body: qwen,
    model: "wavespeed-ai/qwen-image-2.0/text-to-image",
    sent: { prompt: "Fox.", size: "1024*768", seed: 7 },
    want: "completed 2 700",
  },
  {
    via: "google",
    body: { ...gemini, seed: 7 },
    model: "gemini-3-pro-image",
    sent: {
      contents: [{ role: "user", parts: [{ text: "Fox." }] }],
      generationConfig: {
        responseModalities: ["IMAGE"],
        imageConfig: { imageSize: "2K", aspectRatio: "16:9" },
        seed: 7,
      },
    },
    want: "completed 1 1371",
  },
  {
    via: "fal",
    body: gemini,
    model: "fal-ai/nano-banana-pro",
    sent: { prompt: "Fox.", num_images: 1, resolution: "2K", aspect_ratio: "16:9", output_format: "png" },
    // Counted by us: 1,120 tokens of image, and one of text.
    want: "completed 1 1344.02",
  },
  {
    via: "midjourney",
    body: journey,
    model: "MID_JOURNEY",
    sent: { botType: "MID_JOURNEY", prompt: "Fox. --ar 16:9 --v 7 --s 250 --q 1 --seed 7" },
    want: "completed 4 1000",
  },
  {
    via: "wavespeed",
    body: journey,
    model: "midjourney/text-to-image",
    sent: {
      prompt: "Fox.",
      aspect_ratio: "16:9",
      seed: 7,
      quality: 1,
      version: "7",
      niji: "close",
      chaos: 0,
      weird: 0,
      stylize: 250,
    },
    want: "completed 4 1000",
  },
  {
    via: "openai",
    body: gpt,
    model: "gpt-image-2",
    sent: {
      model: "gpt-image-2",
      prompt: "Fox.",
      n: 2,
      size: "1024x1024",
      quality: "medium",
      background: "auto",
      output_format: "png",
    },
    want: "completed 2 1054.2",
  },
  {
    via: "fal",
    body: gpt,
    model: "openai/gpt-image-2",
    sent: { prompt: "Fox.", num_images: 2, image_size: SIZE, quality: "medium", output_format: "png" },
    want: "completed 2 ",
  },
  {
    via: "wavespeed",
    body: gpt,
    model: "openai/gpt-image-2/text-to-image",
    sent: { prompt: "Fox.", aspect_ratio: "1:1", resolution: "1k", quality: "medium" },
    want: "completed 2 ",
  },
  {
    via: "openai",
    body: { ...edit, mask: INLINE },
    model: "gpt-image-2",
    sent: {
      model: "gpt-image-2",
      prompt: "Night.",
      n: 1,
      size: "1024x1024",
      quality: "auto",
      background: "auto",
      output_format: "png",
      images: [{ image_url: INLINE }],
      mask: { image_url: INLINE },
    },
    want: "completed 1 527.4",
  },
  {
    via: "fal",
    body: { ...edit, mask: INLINE },
    model: "openai/gpt-image-2/edit",
    sent: {
      prompt: "Night.",
      num_images: 1,
      image_size: SIZE,
      quality: "auto",
      output_format: "png",
      image_urls: [INLINE],
      mask_url: INLINE,
    },
    want: "completed 1 ",
  },
  {
    via: "wavespeed",
    body: edit,
    model: "openai/gpt-image-2/edit",
    sent: { prompt: "Night.", aspect_ratio: "1:1", resolution: "1k", quality: "high", images: [INLINE] },
    want: "completed 1 ",
  },
  {
    via: "dashscope",
    body: wan,
    model: "wan2.6-t2v",
    sent: { prompt: "Waves.", negative_prompt: "Rain." },
    want: "completed 1 5000",
  },
  {
    via: "fal",
    body: wan,
    model: "wan/v2.6/text-to-video",
    sent: { ...WAN_FAL, aspect_ratio: "16:9", multi_shots: false, enable_prompt_expansion: false, seed: 7 },
    want: "completed 1 5000",
  },
  {
    via: "fal",
    body: { ...wan, frame_images: [IMAGE], duration: "10", resolution: "1080p" },
    model: "wan/v2.6/image-to-video",
    sent: {
      ...WAN_FAL,
      resolution: "1080p",
      duration: "10",
      image_url: IMAGE,
      multi_shots: false,
      enable_prompt_expansion: false,
      seed: 7,
    },
    want: "completed 1 15000",
  },
  {
    via: "wavespeed",
    body: { ...wan, shot_type: "multi" },
    model: "alibaba/wan-2.6/text-to-video",
    sent: {
      prompt: "Waves.",
      negative_prompt: "Rain.",
      duration: 5,
      size: "1280*720",
      shot_type: "multi",
      enable_prompt_expansion: true,
      seed: 7,
    },
    want: "completed 1 5000",
  },
  {
    via: "ark",
    body: seedance,
    model: "dreamina-seedance-2-0-260128",
    sent: {
      model: "dreamina-seedance-2-0-260128",
      content: [{ type: "text", text: "Waves." }],
      ratio: "9:16",
      resolution: "720p",
      duration: 5,
      seed: 7,
      watermark: false,
      generate_audio: true,
    },
    want: "completed 1 7623",
  },
  {
    via: "fal",
    body: seedance,
    model: "bytedance/seedance-2.0/text-to-video",
    sent: { prompt: "Waves.", duration: "5", resolution: "720p", aspect_ratio: "9:16", generate_audio: true },
    want: "completed 1 7560",
  },
  {
    via: "ark",
    body: fast,
    model: "dreamina-seedance-2-0-fast-260128",
    sent: {
      model: "dreamina-seedance-2-0-fast-260128",
      content: [
        { type: "text", text: "Waves." },
        { type: "image_url", image_url: { url: IMAGE }, role: "first_frame" },
        { type: "image_url", image_url: { url: INLINE }, role: "last_frame" },
      ],
      ratio: "adaptive",
      resolution: "720p",
      duration: 5,
      watermark: false,
      generate_audio: true,
    },
    want: "completed 1 6098.4",
  },
  {
    via: "fal",
    body: fast,
    model: "bytedance/seedance-2.0/fast/image-to-video",
    sent: {
      prompt: "Waves.",
      duration: "5",
      resolution: "720p",
      image_url: IMAGE,
      end_image_url: INLINE,
      generate_audio: true,
    },
    want: "completed 1 6048",
  },
];

describe("by its key, where no other provider of the model has one", () => {
  for (const { via, body, model, sent, want } of ROUTES)
    test(`${via} makes ${body.model} as ${model}`, async () => {
      const { double, gateway } = stationOf(via);
      const before = await balanceOf(gateway);
      const task = await ended(gateway, body);
      // Several that are sent at once come in any order.
      const first = double.accepted.toSorted((a, b) => Number(a.input["seed"]) - Number(b.input["seed"]))[0];
      expect(first?.model).toBe(model);
      const { state, ...input } = first?.input ?? {};
      expect(input).toEqual({ ...sent });
      expect(state === undefined || state === `${task.id}.1`).toBe(true);
      expect(told(task)).toStartWith(want);
      expect(before - (await balanceOf(gateway))).toBeCloseTo(task.credit, 6);
      for (const url of urlsOf(task)) {
        const file = await fetch(url);
        expect(file.headers.get("content-type")).toBe(isVideo(body) ? "video/mp4" : "image/png");
        expect(file.status).toBe(200);
      }
      expect(new Set(urlsOf(task)).size).toBe(urlsOf(task).length);
    });
});
