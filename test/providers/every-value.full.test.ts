import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { upstreamIdFor } from "../../src/core/media/upstream-id.ts";
import { bindAdapter, type BoundAdapter } from "../../src/gateway/media/job/bind-adapter.ts";
import type { MediaRequest } from "../../src/core/media/media.ts";
import type { MediaProvider } from "../../src/providers/provider.ts";
import { askImage, askVideo, mediaModels, refusalOf } from "../gateway/media-offer.ts";
import { DOUBLES, providerOf, type Vendor, VENDORS } from "../upstream/media/doubles.ts";
import type { MediaDouble } from "../upstream/media/media-double.ts";
import { testImage } from "../upstream/media/result-files.ts";
import { realCall } from "./real-call.ts";

// Every value that a model takes, sent over each of its routes to the vendor's strict double. The double takes it, or
// the adapter says in words what this route has not. So no client meets a vendor's refusal of a field that it never
// wrote.

const KEY = "sk-every-value-1";
const doubles = new Map<Vendor, MediaDouble>();
beforeAll(async () => {
  for (const vendor of VENDORS) doubles.set(vendor, await DOUBLES[vendor](KEY));
});
afterAll(async () => {
  for (const double of doubles.values()) await double.close();
});

const LINK = "https://a.example/a.png";
const VIDEO = "https://a.example/a.mp4";
const AUDIO = "https://a.example/a.mp3";
/** One pixel, with an alpha channel. */
const INLINE =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const each = (name: string, values: readonly unknown[]): object[] =>
  values.map((value) => ({ [name]: value }));
const pairs = (first: readonly object[], second: readonly object[]): object[] =>
  first.flatMap((one) => second.map((other) => ({ ...one, ...other })));

const PROMPTS = each("prompt", [
  "x",
  "Ünï “quoted”\nsecond line, 日本語 🦊",
  "x".repeat(800),
  "a {b} $(c) %41 \\n",
]);
const SEEDS = each("seed", [-1, 0, 7, 2_147_483_647]);
const SIZES = "512*512 768*768 1024*1024 1536*1536 2048*2048 1024*768 768*1024 1536*1024 1024*1536".split(
  " ",
);
const RATIOS = "1:1 2:3 3:2 3:4 4:3 4:5 5:4 9:16 16:9 21:9".split(" ");

const IMAGES: readonly object[] = [
  {},
  ...PROMPTS,
  ...SEEDS,
  ...each("n", [1, 2, 3, 4]),
  ...each("size", SIZES),
  ...pairs(each("image_size", ["1K", "2K", "4K"]), each("aspect_ratio", RATIOS)),
  ...each("aspect_ratio", RATIOS),
  ...each("quality", ["low", "medium", "high", "auto", "0.25", "0.5", "1", "2"]),
  ...each("background", ["opaque", "auto"]),
  ...each("output_format", ["png", "jpeg", "webp"]),
  ...pairs(each("version", ["6", "6.1", "7"]), each("niji", ["close", "0", "5", "6"])),
  ...each("stylize", [0, 1, 1_000]),
  ...each("chaos", [0, 1, 100]),
  ...pairs(each("weird", [0, 1, 3_000]), each("niji", ["close", "6"])),
  { sref: LINK },
  ...each("image", [[LINK], [INLINE], [LINK, INLINE, LINK]]),
  { image: [INLINE], mask: INLINE },
];

const VIDEOS: readonly object[] = [
  {},
  ...PROMPTS,
  ...SEEDS,
  ...pairs(each("resolution", ["480p", "720p", "1080p"]), each("aspect_ratio", ["16:9", "9:16"])),
  ...each("duration", ["5", "10", "15"]),
  ...pairs(each("shot_type", ["single", "multi"]), each("enable_prompt_expansion", [true, false])),
  { negative_prompt: "Rain." },
  ...pairs(
    each("frame_images", [[LINK], [INLINE], [LINK, INLINE]]),
    each("resolution", ["480p", "720p", "1080p"]),
  ),
  ...pairs(each("input_references", [[LINK], [LINK, LINK]]), each("duration", ["5", "10"])),
  ...pairs(
    each("reference_videos", [[VIDEO], [VIDEO, VIDEO, VIDEO]]),
    each("shot_type", ["single", "multi"]),
  ),
  ...each("reference_audios", [[AUDIO]]),
  { input_references: [LINK], reference_videos: [VIDEO] },
  { input_references: [LINK], reference_videos: [VIDEO], reference_audios: [AUDIO, AUDIO] },
];

/** What a route has not of what its model takes, by what the adapter says of it. */
const MISSING: Readonly<Record<string, readonly string[]>> = {
  "alibaba/wan-2.6 by fal": ["input_references"],
  "alibaba/wan-2.6 by wavespeed": ["input_references"],
  "midjourney/midjourney by wavespeed": ["aspect_ratio 4:5", "aspect_ratio 5:4", "image"],
  "alibaba/qwen-image-2.0 by wavespeed": [],
  "openai/gpt-image-2 by wavespeed": ["output_format jpeg", "output_format webp", "size 1536*1536"],
  "openai/gpt-image-2/edit by wavespeed": [
    "mask",
    "output_format jpeg",
    "output_format webp",
    "size 1536*1536",
  ],
};

describe("every value that a model takes is taken by the vendor of its route", () => {
  for (const { id, category, routes } of mediaModels)
    for (const { provider, upstreamId } of routes) {
      const route = `${id} by ${provider}`;
      test(route, async () => {
        const missing = new Set<string>();
        let taken = 0;
        for (const more of category === "image" ? IMAGES : VIDEOS) {
          const request = admitted(id, category, more);
          if (request === undefined) continue;
          const said = await send(provider as Vendor, upstreamId, request);
          if (said === "taken") taken += 1;
          else missing.add(said);
        }
        expect([...missing].sort()).toEqual([...(MISSING[route] ?? [])]);
        expect(taken).toBeGreaterThan(10);
      });
    }
});

/** The request as the model takes it; `undefined` where it does not. */
function admitted(id: string, category: string, more: object): MediaRequest | undefined {
  const start = id.endsWith("/edit") ? { image: [INLINE] } : {};
  const body = { model: id, prompt: "A red fox", ...start, ...more };
  const asked = (): MediaRequest => (category === "image" ? askImage(body) : askVideo(body)).request;
  return refusalOf(asked) === undefined ? asked() : undefined;
}

/** `taken`, or what cannot be used there; throws with whatever else the vendor said. */
async function send(vendor: Vendor, upstreamId: string, request: MediaRequest): Promise<string> {
  const double = doubles.get(vendor);
  if (double === undefined) throw new Error(`${vendor} was not started.`);
  double.reset();
  const loaded = { mediaType: "image/png", bytes: testImage() };
  const name = upstreamIdFor(upstreamId, request);
  const provider = providerOf(vendor, double, KEY);
  const adapter = adapterOf(provider, request);
  const lacking = adapter.lacks?.(name);
  if (lacking !== undefined)
    return /^(.*) cannot be used with the model now: /.exec(lacking.message)?.[1] ?? lacking.message;
  const step = await adapter.create(realCall(provider, name, loaded));
  if (step.state === "refused") return step.refusal.message;
  expect(double.accepted.length).toBeGreaterThan(0);
  return "taken";
}

function adapterOf({ adapters }: MediaProvider, request: MediaRequest): BoundAdapter {
  const adapter =
    request.kind === "image"
      ? adapters.image && bindAdapter(adapters.image, request)
      : adapters.video && bindAdapter(adapters.video, request);
  if (adapter === undefined) throw new Error("It makes nothing of this kind.");
  return adapter;
}
