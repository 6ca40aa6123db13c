import { expect, test } from "bun:test";
import type { JobCosts } from "../models/reads.ts";
import { estimate, type Estimate } from "./media-price.ts";

type Cost = JobCosts["costs"][number];

const cost = (
  parameters: Cost["parameters"],
  credits: number,
  with_video: Cost["with_video"] = null,
): Cost => ({ parameters, with_video, credits });
const exactly = (credits: number): Estimate => ({
  least: credits,
  most: credits,
  isAbout: false,
  why: undefined,
});

const EACH: JobCosts = { per: "image", is_about: false, beside: null, costs: [cost({}, 350)] };
const FOUR: JobCosts = { per: "request", is_about: false, beside: null, costs: [cost({}, 1_000)] };
const BY_QUALITY: JobCosts = {
  per: "image",
  is_about: true,
  beside: "input",
  costs: [
    cost({ size: "1024*1024", quality: "low" }, 58.8),
    cost({ size: "1024*1024", quality: "high" }, 2_107.2),
    cost({ size: "1024*1024", quality: "auto" }, 2_107.2),
    cost({ size: "512*512", quality: "low" }, 20),
  ],
};
const BY_RESOLUTION: JobCosts = {
  per: "image",
  is_about: false,
  beside: "input_and_reasoning",
  costs: [cost({ image_size: "1K" }, 1_200), cost({ image_size: "4K" }, 2_400)],
};
const BY_SECOND: JobCosts = {
  per: "video",
  is_about: false,
  beside: null,
  costs: [
    cost({ resolution: "720p", duration: "5" }, 5_000),
    cost({ resolution: "1080p", duration: "10" }, 15_000),
  ],
};
const BY_TOKEN: JobCosts = {
  per: "video",
  is_about: true,
  beside: null,
  costs: [
    cost({ resolution: "720p", duration: "5" }, 4_000, false),
    cost({ resolution: "720p", duration: "5" }, 3_000, true),
    cost({ resolution: "1080p", duration: "5" }, 10_000, false),
    cost({ resolution: "1080p", duration: "5" }, 5_000, true),
  ],
};

test("an image of a fixed price counts as often as there are images", () => {
  expect(estimate(EACH, {}, { n: 1 })).toEqual(exactly(350));
  expect(estimate(EACH, { n: 3 }, { n: 1 })).toEqual(exactly(1_050));
});

test("a request of a fixed number of images costs the same whatever it asks for", () => {
  expect(estimate(FOUR, { n: 2 }, {})).toEqual(exactly(1_000));
});

test("an image is priced by its size and quality, in either spelling of the size", () => {
  const found = estimate(BY_QUALITY, { size: "1024x1024", quality: "high", n: 2 }, {});
  expect(found).toMatchObject({ least: 4_214.4, most: 4_214.4, isAbout: true });
  expect(found?.why).toContain("What the model reads comes on top.");
});

test("a quality that the model chooses gives a range", () => {
  expect(estimate(BY_QUALITY, {}, { size: "1024*1024", quality: "auto" })).toMatchObject({
    least: 58.8,
    most: 2_107.2,
    why: expect.stringContaining("The model chooses the quality."),
  });
});

test("an image is priced by its resolution", () => {
  expect(estimate(BY_RESOLUTION, { image_size: "4K" }, { image_size: "1K" })).toEqual({
    least: 2_400,
    most: 2_400,
    isAbout: false,
    why: "What the model reads and thinks comes on top.",
  });
});

test("a video is priced by its seconds and resolution", () => {
  const defaults = { resolution: "720p", duration: "5" };
  expect(estimate(BY_SECOND, {}, defaults)).toEqual(exactly(5_000));
  expect(estimate(BY_SECOND, { resolution: "1080p", duration: 10 }, defaults)).toEqual(exactly(15_000));
});

test("a video among the references has a price of its own", () => {
  const job = { duration: "5", reference_videos: ["https://a.example/b.mp4"] };
  const found = estimate(BY_TOKEN, { ...job, resolution: "1080p" }, {});
  expect(found).toMatchObject({ most: 5_000, isAbout: true });
  expect(found?.why).toContain("A video among the references changes the price.");
  expect(estimate(BY_TOKEN, { ...job, resolution: "720p" }, {})).toMatchObject({ most: 3_000 });
  const without = estimate(BY_TOKEN, { ...job, resolution: "720p", reference_videos: [] }, {});
  expect(without).toMatchObject({ most: 4_000 });
  expect(without?.why).not.toContain("references");
});

test("what has no price has no estimate", () => {
  expect(estimate(BY_SECOND, { resolution: "480p", duration: "5" }, {})).toBeUndefined();
  expect(estimate(BY_QUALITY, { size: "1024*1024", quality: "2" }, {})).toBeUndefined();
});
