import { describe, expect, test } from "bun:test";
import { VIDEO, mediaModel, IMAGE } from "../../../../test/gateway/media-run.ts";
import { priceFacts } from "../../../core/media/media-model.ts";
import type { Model } from "../../../core/model.ts";
import { PRICE_BUCKETS, USAGE_FIELDS } from "../../../core/money/price.ts";
import { NO_USAGE, type Usage } from "../../../core/money/usage.ts";
import type { MediaModel } from "../admit/model.ts";
import { quoteMedia } from "../admit/quote.ts";
import { chargeFor, owedFor, type Delivery, type MediaCharge } from "./usage.ts";

function media(model: Model): MediaModel {
  if (model.media === undefined) throw new Error("The model makes no media.");
  return { ...model, media: model.media };
}

const BY_IMAGE = media(mediaModel("image", { prices: { image: 0.035 } }));
const BY_TOKEN = media(
  mediaModel("image", {
    prices: { input: 5, image_input: 8, image_output: 30 },
    media: { parameters: { prompt: {} }, output_tokens: [{ tokens: 1_000 }] },
  }),
);
const BY_SECOND = media(
  mediaModel("video", {
    prices: { second: [{ when: { resolution: "1080p" }, price: 0.15 }, { price: 0.1 }] },
    media: { parameters: { prompt: {} }, input_video_seconds: 5 },
  }),
);
const VIDEO_BY_TOKEN = media(
  mediaModel("video", {
    prices: { output: [{ when: { has_video: true }, price: 4 }, { price: 7 }] },
    media: { parameters: { prompt: {} }, output_tokens: [{ tokens: 20_000 }], input_video_seconds: 15 },
  }),
);

function delivered(model: MediaModel, more: Partial<Delivery> = {}): Delivery {
  const request = more.request ?? (model.category === "image" ? IMAGE : VIDEO);
  const { snapshot, amount } = quoteMedia(model, request, Date.UTC(2026, 10, 21));
  expect(snapshot.facts).toEqual(priceFacts(request));
  return { model, request, snapshot, most: amount, reported: undefined, given: 1, kept: 1, ...more };
}

/** A charge, which its usage and its rates come to unless it was clamped. */
function charge(model: MediaModel, more: Partial<Delivery> = {}): MediaCharge {
  const charged = chargeFor(delivered(model, more));
  const { usage, rates, used, flags } = charged;
  const parts = PRICE_BUCKETS.map((bucket, i) => {
    const count = usage[USAGE_FIELDS[bucket]] ?? 0;
    return count === 0 ? 0 : count * (rates[i] as number);
  });
  const sum = BigInt(parts.reduce((all, part) => all + part, 0));
  if (flags.includes("clamped")) expect(used).toBeLessThanOrEqual(sum);
  else expect(used).toBe(sum);
  return charged;
}

const usage = (more: Partial<Usage>): Usage => ({ ...NO_USAGE, ...more });

describe("images that are sold by the piece", () => {
  const three = { request: { ...IMAGE, n: 3 }, given: 3 };
  const cases: readonly [name: string, more: Partial<Delivery>, credits: number, flags: readonly string[]][] =
    [
      ["each is charged", { ...three, kept: 3 }, 1_050, []],
      ["only those that are delivered", { ...three, kept: 2, reported: usage({ images: 3 }) }, 700, []],
      ["whatever the provider counts", { ...three, kept: 3, reported: usage({ images: -7 }) }, 1_050, []],
      ["tokens of it are not", { kept: 1, reported: usage({ output: 5_000, images: 1 }) }, 350, []],
      ["and never more than was held", { kept: 4, given: 4 }, 350, ["clamped"]],
    ];
  for (const [name, more, credits, flags] of cases)
    test(name, () => {
      const { used, flags: told, told: tokens } = charge(BY_IMAGE, more);
      expect(used).toBe(BigInt(credits) * 1_000_000n);
      expect(told).toEqual(flags as typeof told);
      expect(tokens).toBeUndefined();
    });
});

describe("videos that are sold by the second", () => {
  const withVideo = { request: { ...VIDEO, referenceVideos: ["https://a.example/b.mp4"] } };
  const cases: readonly [name: string, more: Partial<Delivery>, seconds: number, flags: readonly string[]][] =
    [
      ["as many as were asked for", {}, 5, []],
      ["as many as the provider bills", { reported: usage({ seconds: 4 }) }, 4, []],
      ["a second that has begun is whole", { reported: usage({ seconds: 3.04 }) }, 4, []],
      ["with those of a video that was given", { ...withVideo, reported: usage({ seconds: 9.2 }) }, 10, []],
      ["no more than could be asked for", { reported: usage({ seconds: 9.2 }) }, 5, ["clamped"]],
      ["a negative count is none", { reported: usage({ seconds: -5 }) }, 5, ["clamped"]],
      ["nor is one that is no number", { reported: usage({ seconds: Number.NaN }) }, 5, ["clamped"]],
      ["nor one of 10^15", { reported: usage({ seconds: 1e15 }) }, 5, ["clamped"]],
      ["nor nothing", { reported: usage({ seconds: 0 }) }, 5, ["clamped"]],
    ];
  for (const [name, more, seconds, flags] of cases)
    test(name, () => {
      const { used, flags: told, usage: counted } = charge(BY_SECOND, more);
      expect(used).toBe(BigInt(seconds) * 1_000_000_000n);
      expect(counted.seconds).toBe(seconds);
      expect(told).toEqual(flags as typeof told);
    });

  test("at the price of their resolution", () => {
    expect(charge(BY_SECOND, { request: { ...VIDEO, resolution: "1080p" } }).used).toBe(7_500_000_000n);
  });
});

describe("what is sold by tokens", () => {
  test("is charged as the provider counted, and told", () => {
    const reported = usage({ input: 10, imageInput: 100, imageOutput: 900 });
    const { used, flags, told } = charge(BY_TOKEN, { reported });
    expect(used).toBe(10n * 50_000n + 100n * 80_000n + 900n * 300_000n);
    expect(flags).toEqual([]);
    expect(told).toEqual({ inputTokens: 110, outputTokens: 900 });
  });

  test("is estimated from the model's data where the provider does not count", () => {
    const request = { ...IMAGE, n: 3 };
    const { used, flags, usage: counted } = charge(BY_TOKEN, { request, given: 3, kept: 2 });
    expect(flags).toEqual(["estimated"]);
    expect(counted.imageOutput).toBe(2_000);
    expect(used).toBe(BigInt(counted.input) * 50_000n + 2_000n * 300_000n);
    const video = charge(VIDEO_BY_TOKEN);
    expect(video.usage.output).toBe(100_000);
    expect(video.flags).toEqual(["estimated"]);
  });

  test("is charged by the part that was delivered of what the provider counted", () => {
    const request = { ...IMAGE, n: 3 };
    const reported = usage({ input: 10, imageOutput: 2_801 });
    const { usage: counted, flags } = charge(BY_TOKEN, { request, given: 3, kept: 2, reported });
    expect([counted.input, counted.imageOutput]).toEqual([10, 1_868]);
    expect(flags).toEqual(["partial"]);
  });

  test("is charged all of its input, of whatever kind, and of its output the part that was delivered", () => {
    const inputs = {
      input: 10,
      cacheRead: 2_001,
      cacheWrite5m: 301,
      cacheWrite1h: 401,
      imageInput: 51,
      audioInput: 61,
    };
    const outputs = { output: 70, reasoning: 80, imageOutput: 90, audioOutput: 100 };
    const request = { ...IMAGE, n: 2 };
    const model = media(
      mediaModel("image", {
        prices: {
          input: 5,
          cache_read: 1,
          cache_write_5m: 6,
          cache_write_1h: 10,
          image_input: 8,
          audio_input: 9,
          output: 20,
          reasoning: 20,
          image_output: 30,
          audio_output: 40,
        },
        media: { parameters: { prompt: {} }, output_tokens: [{ tokens: 1_000 }] },
      }),
    );
    const { usage: counted, used } = charge(model, {
      request,
      given: 2,
      kept: 1,
      reported: usage({ ...inputs, ...outputs }),
    });
    expect(counted).toMatchObject({
      ...inputs,
      output: 35,
      reasoning: 40,
      imageOutput: 45,
      audioOutput: 50,
    });
    const dollars = 10 * 5 + 2_001 + 301 * 6 + 401 * 10 + 51 * 8 + 61 * 9;
    expect(used).toBe(BigInt(dollars + 35 * 20 + 40 * 20 + 45 * 30 + 50 * 40) * 10_000n);
  });

  test("is not scaled where the provider made fewer than were asked for", () => {
    const request = { ...IMAGE, n: 3 };
    const reported = usage({ imageOutput: 2_000 });
    const { usage: counted, flags } = charge(BY_TOKEN, { request, given: 2, kept: 2, reported });
    expect([counted.imageOutput, flags]).toEqual([2_000, []]);
  });

  for (const [name, imageOutput, flags] of [
    ["negative", -5, ["clamped", "estimated"]],
    ["no number", Number.NaN, ["clamped", "estimated"]],
    ["fractions", 900.5, ["clamped"]],
    ["10^15", 1e15, ["clamped"]],
  ] as const) {
    test(`costs no more than was held where counts are ${name}`, () => {
      const charged = charge(BY_TOKEN, { reported: usage({ imageOutput }) });
      const { amount } = quoteMedia(BY_TOKEN, IMAGE, 0);
      expect(charged.used <= amount && charged.used > 0n).toBe(true);
      expect(charged.flags).toEqual([...flags]);
    });
  }

  test("may cost a little more than was held, and not much more", () => {
    const { amount } = quoteMedia(BY_TOKEN, IMAGE, 0);
    const tokens = (share: number): number => Math.floor((Number(amount) * share) / 300_000);
    const little = charge(BY_TOKEN, { reported: usage({ imageOutput: tokens(1.2) }) });
    expect(little.used > amount).toBe(true);
    expect(little.flags).toEqual([]);
    const much = charge(BY_TOKEN, { reported: usage({ imageOutput: tokens(1.3) }) });
    expect(much.used).toBe(amount);
    expect(much.flags).toEqual(["clamped"]);
  });

  test("has the price of what was asked for", () => {
    const request = { ...VIDEO, referenceVideos: ["https://a.example/b.mp4"] };
    const reported = usage({ output: 100_000 });
    expect(charge(VIDEO_BY_TOKEN, { reported }).used).toBe(7_000_000_000n);
    expect(charge(VIDEO_BY_TOKEN, { request, reported }).used).toBe(4_000_000_000n);
  });
});

describe("what the operator owes", () => {
  const flat = (price: bigint) => [{ when: {}, price }];
  const four = { request: { ...IMAGE, n: 4 }, given: 4, kept: 2 };

  test("is for all that was given, by the piece, whatever the client gets", () => {
    expect(owedFor(delivered(BY_IMAGE, four), { image: flat(20n) })).toBe(80n);
    expect(owedFor(delivered(BY_TOKEN, four), { image: flat(20n) })).toBe(80n);
  });

  test("is by tokens where the provider sells by them, as it counted them, else by our estimate", () => {
    const cost = { input: flat(2n), image_input: flat(1n), image_output: flat(3n) };
    const reported = usage({ input: 10, imageOutput: 4_000 });
    expect(owedFor(delivered(BY_IMAGE, { ...four, reported }), cost)).toBe(12_020n);
    expect(owedFor(delivered(BY_TOKEN, { ...four, reported }), cost)).toBe(12_020n);
    const estimated = owedFor(delivered(BY_TOKEN, four), cost);
    expect(estimated).toBeGreaterThanOrEqual(4n * 3_000n);
  });

  test("is by the seconds of videos that it bills, else by those that were asked for", () => {
    const cost = { second: flat(7n) };
    expect(owedFor(delivered(BY_SECOND), cost)).toBe(35n);
    expect(owedFor(delivered(BY_SECOND, { reported: usage({ seconds: 3.2 }) }), cost)).toBe(28n);
    expect(owedFor(delivered(VIDEO_BY_TOKEN), { output: flat(1n) })).toBe(100_000n);
  });

  test("is not known without a cost, and where nothing says how many tokens it was", () => {
    expect(owedFor(delivered(BY_IMAGE), undefined)).toBeUndefined();
    expect(owedFor(delivered(BY_IMAGE), { image_output: flat(3n) })).toBeUndefined();
    expect(owedFor(delivered(BY_SECOND), { output: flat(3n) })).toBeUndefined();
  });
});
