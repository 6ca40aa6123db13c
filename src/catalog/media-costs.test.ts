import { describe, expect, test } from "bun:test";
import { mediaModels } from "../../test/gateway/media-offer.ts";
import { mediaCosts } from "./media-costs.ts";
import type { MediaPageModel } from "./media-words.ts";

const costsOf = (uniqueId: string) =>
  mediaCosts(mediaModels.find((model) => model.uniqueId === uniqueId) as MediaPageModel);
const credits = (amount: number): bigint => BigInt(Math.round(amount * 1e6));

describe("what a job costs by what it asks for", () => {
  test("an image by its size and quality; where the model chooses it may be the cheapest", () => {
    const { costs, ...about } = costsOf("image/openai/gpt-image-2");
    expect(about).toEqual({ per: "image", images: undefined, isAbout: true, beside: "input" });
    const [square] = Map.groupBy(costs, ({ parameters }) => parameters["size"]).values();
    const cost = (quality: string, least: number, most: number) => ({
      parameters: { size: "1024*1024", quality },
      hasVideo: null,
      least: credits(least),
      most: credits(most),
    });
    expect(square).toEqual([
      cost("low", 58.8, 58.8),
      cost("medium", 526.8, 526.8),
      cost("high", 2_107.2, 2_107.2),
      cost("auto", 58.8, 2_107.2),
    ]);
  });

  test("an image by its resolution, beside what the model reads and thinks", () => {
    const { costs, ...about } = costsOf("image/google/gemini-3-pro-image");
    expect(about).toEqual({ per: "image", images: undefined, isAbout: false, beside: "input_and_reasoning" });
    expect(costs.map(({ parameters, most }) => [parameters["image_size"], most])).toEqual([
      ["1K", credits(1_344)],
      ["2K", credits(1_344)],
      ["4K", credits(2_400)],
    ]);
  });

  test("an image, or all images of a request, at one price", () => {
    const one = { parameters: {}, hasVideo: null };
    expect(costsOf("image/alibaba/qwen-image-2.0")).toEqual({
      per: "image",
      images: undefined,
      isAbout: false,
      beside: undefined,
      costs: [{ ...one, least: credits(350), most: credits(350) }],
    });
    expect(costsOf("image/midjourney/midjourney")).toMatchObject({
      per: "request",
      images: 4,
      costs: [{ ...one, least: credits(1_000), most: credits(1_000) }],
    });
  });

  test("a video by its seconds, with the seconds of references where these are charged", () => {
    const { costs, ...about } = costsOf("video/alibaba/wan-2.6");
    expect(about).toEqual({
      per: "video",
      images: undefined,
      isAbout: false,
      beside: undefined,
      mostSecWithReferences: 10,
    });
    const small = costs.filter(({ parameters }) => parameters["resolution"] === "720p");
    expect(
      small.map(({ parameters, hasVideo, least, most }) => [parameters["duration"], hasVideo, least, most]),
    ).toEqual([
      ["5", false, credits(5_000), credits(5_000)],
      ["5", true, credits(5_000), credits(10_000)],
      ["10", false, credits(10_000), credits(10_000)],
      ["10", true, credits(10_000), credits(15_000)],
      ["15", false, credits(15_000), credits(15_000)],
    ]);
  });

  test("a video by tokens that are assumed, at another price where it has references", () => {
    const { costs, isAbout } = costsOf("video/bytedance/seedance-2.0");
    expect(isAbout).toBe(true);
    expect(costs.slice(0, 2)).toEqual([
      {
        parameters: { resolution: "480p", duration: "5" },
        hasVideo: false,
        least: credits(3_515.4),
        most: credits(3_515.4),
      },
      {
        parameters: { resolution: "480p", duration: "5" },
        hasVideo: true,
        least: credits(2_159.46),
        most: credits(8_637.84),
      },
    ]);
    expect(costs).toHaveLength(18);
  });
});
