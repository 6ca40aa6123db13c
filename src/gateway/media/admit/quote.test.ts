import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import {
  askImage,
  askVideo,
  imageBody,
  LINK,
  mediaModels,
  mediaOffer,
  NOW_MS,
  pngUri,
  refusalOf,
  videoBody,
} from "../../../../test/gateway/media-offer.ts";
import { runsOf } from "../../../../test/runs.ts";
import { createCatalog } from "../../../catalog/catalog.ts";
import { creditsText } from "../../../core/money/credits.ts";
import { costOf, foldUnpriced } from "../../../core/money/price.ts";
import { NO_USAGE, type Usage } from "../../../core/money/usage.ts";
import type { TaskAdmission } from "./admit.ts";
import type { MediaModel } from "./model.ts";
import { mostSecondsOf, usageOfOutputs } from "./quote.ts";

const RUNS = runsOf(500, 20_000);

const ask = (id: string, more: object = {}): TaskAdmission =>
  mediaModels.find((model) => model.id === id)?.category === "image"
    ? askImage(imageBody(id, more))
    : askVideo(videoBody(id, more));

/** What a usage costs by the prices that an admission has fixed. */
const charge = ({ model, snapshot }: TaskAdmission, usage: Partial<Usage>): bigint =>
  costOf(foldUnpriced({ ...NO_USAGE, ...usage }, model.prices), snapshot);

const QWEN = "alibaba/qwen-image-2.0";
const GEMINI = "google/gemini-3-pro-image";
const MIDJOURNEY = "midjourney/midjourney";
const GPT = "openai/gpt-image-2";
const WAN = "alibaba/wan-2.6";
const SEEDANCE = "bytedance/seedance-2.0";
const FAST = "bytedance/seedance-2.0-fast";
const VIDEO = { reference_videos: [LINK] };

describe("what is sold by the piece is held at its price, no more", () => {
  const cases: readonly (readonly [string, object, string])[] = [
    [QWEN, {}, "350"],
    [QWEN, { n: 4 }, "1400"],
    [QWEN, { size: "512*512", n: 2 }, "700"],
    // Four images, whatever is asked for.
    [MIDJOURNEY, {}, "1000"],
    [MIDJOURNEY, { n: 1, quality: "2" }, "1000"],
    [WAN, {}, "5000"],
    [WAN, { resolution: "480p" }, "5000"],
    [WAN, { duration: "10" }, "10000"],
    [WAN, { duration: "15", resolution: "1080p" }, "22500"],
    [WAN, { input_references: [LINK] }, "5000"],
    // Up to five seconds of given videos are charged as well.
    [WAN, VIDEO, "10000"],
    [WAN, { ...VIDEO, resolution: "1080p", duration: "10" }, "22500"],
  ];
  test.each(cases)("%s with %j: %s", (id, more, credits) => {
    const { amount } = ask(id, more);
    expect(creditsText(amount)).toBe(credits);
  });
});

describe("what is sold by tokens is held with room for what is counted", () => {
  /** Usages as the vendors told them, or as their rules say. */
  const cases: readonly (readonly [string, object, Partial<Usage>, string])[] = [
    // OpenAI's own sample of an image of medium quality.
    [GPT, { quality: "medium" }, { input: 12, imageOutput: 1_756 }, "527.4"],
    [GPT, { quality: "auto" }, { input: 12, imageOutput: 7_024 }, "2107.8"],
    [GPT, { quality: "high", size: "2048*2048", n: 4 }, { input: 48, imageOutput: 57_088 }, "17128.8"],
    // A recorded edit: 128 pixels wide, 64 tokens.
    [
      "openai/gpt-image-2/edit",
      { image: [pngUri(128, 128)], quality: "low", size: "1536*1024" },
      { input: 12, imageInput: 64, imageOutput: 158 },
      "53.12",
    ],
    // Recorded: 217 tokens of thoughts.
    [GEMINI, {}, { input: 6, reasoning: 217, imageOutput: 1_120 }, "1370.16"],
    [GEMINI, { image_size: "4K" }, { input: 6, reasoning: 217, imageOutput: 2_000 }, "2426.16"],
    [GEMINI, {}, { input: 6, reasoning: 4_096, imageOutput: 1_120 }, "1835.64"],
    [GEMINI, { n: 3, image: [LINK] }, { input: 1_599, reasoning: 651, imageOutput: 3_360 }, "4142.1"],
    // Ark counts a frame more than the seconds have.
    [SEEDANCE, {}, { output: 108_900 }, "7623"],
    [SEEDANCE, { duration: "15", resolution: "1080p" }, { output: 731_025 }, "56288.925"],
    [SEEDANCE, { ...VIDEO, duration: "5" }, { output: 432_900 }, "18614.7"],
    [SEEDANCE, { ...VIDEO, resolution: "1080p" }, { output: 974_025 }, "45779.175"],
    [FAST, { resolution: "480p" }, { output: 50_638 }, "2835.728"],
    [FAST, { resolution: "1080p" }, { output: 108_900 }, "6098.4"],
    [FAST, VIDEO, { output: 432_900 }, "14285.7"],
  ];
  test.each(cases)("%s with %j", (id, more, usage, credits) => {
    const admission = ask(id, more);
    const charged = charge(admission, usage);
    expect(creditsText(charged)).toBe(credits);
    expect(admission.amount).toBeGreaterThanOrEqual(charged);
    // Room, not a multiple: of a short video or a plain image less than half as much again.
    if (!("image" in more) && !("n" in more))
      expect(Number(admission.amount) / Number(charged)).toBeLessThan(1.5);
  });

  test("an image is held with five percent of room, and a prompt with what vendors put around it", () => {
    // 196 tokens and 5 % of them, rounded up; nine characters are at most five tokens, and 64 stand around them.
    expect(creditsText(ask(GPT, { quality: "low" }).amount)).toBe(String(206 * 0.3 + (5 + 64) * 0.05));
  });

  test("each image of several reads its input anew", () => {
    const of = (n: number): bigint => ask(GEMINI, { n, image: [LINK, LINK] }).amount;
    expect(of(4)).toBeGreaterThan(4n * of(1) - 1_000_000n);
  });

  test("a given image whose size is known is held for what it comes to, one by link for the most", () => {
    const of = (image: string): bigint => ask("openai/gpt-image-2/edit", { image: [image] }).amount;
    expect(of(pngUri(128, 128))).toBeLessThan(of(pngUri(1_024, 1_024)));
    expect(of(pngUri(1_024, 1_024))).toBeLessThan(of(LINK));
    expect(of(LINK)).toBe(of(pngUri(6_000, 6_000)));
    const masked = ask("openai/gpt-image-2/edit", { image: [LINK], mask: LINK }).amount;
    expect(masked).toBeGreaterThan(of(LINK));
  });
});

describe("prices are fixed with what they depend on, defaults filled in", () => {
  const cases: readonly (readonly [string, object, object])[] = [
    [QWEN, {}, { size: "2048*2048" }],
    [QWEN, { size: "1024x768" }, { size: "1024*768" }],
    [GEMINI, {}, { resolution: "1K" }],
    [GEMINI, { image_size: "4K" }, { resolution: "4K" }],
    [MIDJOURNEY, {}, { quality: "1" }],
    [GPT, {}, { size: "1024*1024", quality: "auto" }],
    [GPT, { quality: 0.5 }, { size: "1024*1024", quality: "medium" }],
    [WAN, { resolution: "480p" }, { resolution: "720p", hasVideo: false }],
    [SEEDANCE, VIDEO, { resolution: "720p", hasVideo: true }],
    [FAST, { resolution: "1080p" }, { resolution: "720p", hasVideo: false }],
  ];
  test.each(cases)("%s with %j: %j", (id, more, facts) => {
    const { snapshot, model } = ask(id, more);
    expect(snapshot).toEqual({
      version: model.priceVersion,
      prices: model.prices,
      pricedAtMs: NOW_MS,
      facts,
    });
  });
});

/** Fields that prices depend on, at values that the model takes. */
function pricedFields({ category, media }: MediaModel): Record<string, fc.Arbitrary<unknown>> {
  const { image_size, size, quality } = media.parameters;
  if (category === "video") {
    return {
      duration: fc.constantFrom("5", "10"),
      resolution: fc.constantFrom("480p", "720p", "1080p"),
      reference_videos: fc.constantFrom([], [LINK], [LINK, LINK]),
      negative_prompt: fc.constantFrom("", "rain"),
    };
  }
  return {
    n: media.imagesPerJob === undefined ? fc.integer({ min: 1, max: 4 }) : fc.constant(1),
    prompt: fc.string({ minLength: 1, maxLength: 700, unit: "grapheme-ascii" }),
    ...(image_size === undefined ? {} : { image_size: fc.constantFrom("1K", "2K", "4K") }),
    ...(size === undefined ? {} : { size: fc.constantFrom(...(size.values ?? ["512*512", "2048*2048"])) }),
    ...(quality === undefined ? {} : { quality: fc.constantFrom(...(quality.values ?? [])) }),
  };
}

const anything = fc.constantFrom(...mediaModels).chain((model) =>
  fc
    .record(pricedFields(model), { requiredKeys: [] })
    .filter((more) => refusalOf(() => ask(model.id, more)) === undefined)
    .map((more) => ask(model.id, more)),
);

test("a hold is never below what the request usually comes to, all of it delivered", () => {
  fc.assert(
    fc.property(anything, (admission) => {
      const { model, request, amount, expectedCost } = admission;
      const delivered = request.kind === "image" ? request.n : 1;
      const usage = usageOfOutputs(model, request, delivered);
      expect(charge(admission, usage)).toBe(expectedCost);
      expect(amount).toBeGreaterThanOrEqual(expectedCost);
      expect(expectedCost).toBeGreaterThan(0n);
      // Fewer that are delivered never cost more.
      if (delivered > 1)
        expect(charge(admission, usageOfOutputs(model, request, delivered - 1))).toBeLessThan(expectedCost);
    }),
    RUNS,
  );
});

test("the most seconds of a video are its own, and of given ones what the vendor charges", () => {
  const most = (id: string, more: object): number => {
    const { model, request } = ask(id, more);
    if (request.kind !== "video") throw new Error("no video");
    return mostSecondsOf(model, request);
  };
  expect(most(WAN, {})).toBe(5);
  expect(most(WAN, { duration: "10", ...VIDEO })).toBe(15);
  expect(most(SEEDANCE, { duration: "15", ...VIDEO })).toBe(30);
});

test("input that is surely longer than the model's context is too large", () => {
  const prompt = "word ".repeat(90_000);
  expect(refusalOf(() => ask(GEMINI, { prompt }))).toMatchObject({
    kind: "input_too_large",
    param: "prompt",
  });
  expect(refusalOf(() => ask(GEMINI, { prompt: "word ".repeat(20_000) }))).toBeUndefined();
});

test("no store is asked to hold more than it can", () => {
  const model = mediaModels.find(({ id }) => id === QWEN)!;
  const dear = { ...model, prices: { image: [{ when: {}, price: 2n ** 60n }] } };
  const offer = { ...mediaOffer(), catalog: createCatalog([dear]) };
  expect(askImage(imageBody(QWEN), { offer }).amount).toBe(2n ** 53n - 1n);
});
