import { describe, expect, test } from "bun:test";
import { mediaModels } from "../../test/gateway/media-offer.ts";
import { buildModel } from "./catalog.ts";
import type { MediaData } from "./media-schema.ts";

const build = (media: MediaData, category: "image" | "video" | "language" = "image") =>
  buildModel(
    "v/m",
    category,
    { media, prices: category === "language" ? { input: 1, output: 1 } : { image: 1, second: 1 } },
    { supportedProtocols: [], routes: [] },
  );

describe("facts of a media model that cannot be are refused with a sentence", () => {
  const cases: readonly (readonly [string, MediaData, string])[] = [
    ["a field that nobody has", { parameters: { colour: {} } }, "media.parameters.colour is no field"],
    ["a field of the other kind", { parameters: { duration: {} } }, "media.parameters.duration is no field"],
    ["a field that every object inherits", { parameters: { constructor: {} } }, "constructor is no field"],
    [
      "a value that the interface does not know",
      { parameters: { size: { values: ["1*1"] } } },
      "media.parameters.size.values has 1*1",
    ],
    [
      "values of a field that has none",
      { parameters: { prompt: { values: ["a"] } } },
      "media.parameters.prompt.values has a",
    ],
    [
      "values without the default",
      { parameters: { size: { values: ["1024*1024"] } } },
      "media.parameters.size needs a default",
    ],
    [
      "a default that is no value",
      { parameters: { size: { values: ["1024*1024"], default: "512*512" } } },
      "media.parameters.size needs a default",
    ],
    [
      "counts without a last rule for everything",
      { parameters: {}, output_tokens: [{ when: { size: "1024*1024" }, tokens: 5 }] },
      "the last rule of media.output_tokens has a condition",
    ],
  ];
  test.each(cases)("%s", (_, data, says) => expect(() => build(data)).toThrow(says));

  test("on a language model", () =>
    expect(() => build({ parameters: {} }, "language")).toThrow("media is only of models of category"));
});

test("what a file does not say is the interface's own", () => {
  expect(build({ parameters: { seed: {} } }).media).toMatchObject({
    parameters: { seed: { linksOnly: false, required: false } },
    defaults: { seed: -1, async: false, timeout: 300, response_format: "b64_json" },
    outputTokens: [],
    textTokens: 0,
    promptSwitches: false,
    inputVideoSec: 0,
    multiShotExpands: false,
    expandsWithReferences: true,
    audioBesideReferences: "may",
  });
});

test("every media model has a prompt, and what it gives is what its category says", () => {
  expect(mediaModels.map(({ category }) => category).filter((one) => one === "video").length).toBe(3);
  for (const { category, media, outputModalities, supportedProtocols, inputModalities } of mediaModels) {
    expect(outputModalities).toEqual([category === "image" ? "image" : "video"]);
    expect(supportedProtocols).toEqual([]);
    const takes = (name: string): boolean => Object.hasOwn(media.parameters, name);
    expect(takes("prompt")).toBe(true);
    const kinds = {
      image: ["image", "frame_images", "input_references"],
      video: ["reference_videos"],
      audio: ["reference_audios"],
    } as const;
    for (const [kind, names] of Object.entries(kinds))
      expect(inputModalities.some((modality) => modality === kind)).toBe(names.some(takes));
  }
});

test("tokens of GPT Image 2 are those of its published prices, in USD at three digits", () => {
  const { media, prices } = mediaModels.find(({ id }) => id === "openai/gpt-image-2")!;
  const usd = (size: string, quality: string): string => {
    const rule = media.outputTokens.find(
      (one) => (one.size?.includes(size) ?? true) && (one.quality?.includes(quality) ?? true),
    )!;
    return ((Number(prices.image_output![0]!.price) * rule.tokens) / 1e10).toFixed(3);
  };
  const cases = { "1024*1024": ["0.006", "0.053", "0.211"], "1536*1024": ["0.005", "0.041", "0.165"] };
  for (const [size, [low, medium, high]] of Object.entries(cases)) {
    expect([usd(size, "low"), usd(size, "medium"), usd(size, "high")]).toEqual([low!, medium!, high!]);
  }
});
