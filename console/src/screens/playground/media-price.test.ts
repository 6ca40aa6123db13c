import { expect, test } from "bun:test";
import type { JobCosts } from "../models/reads.ts";
import { estimate, type Estimate, refusalOf } from "./media-price.ts";

type Cost = JobCosts["costs"][number];

const cost = (
  parameters: Cost["parameters"],
  credits: number | readonly [least: number, most: number],
  with_video: Cost["with_video"] = null,
): Cost => {
  const [least_credits, most_credits] = typeof credits === "number" ? [credits, credits] : credits;
  return { parameters, with_video, least_credits, most_credits };
};
const exactly = (credits: number): Estimate => ({
  least: credits,
  most: credits,
  isAbout: false,
  why: undefined,
});

const EACH: JobCosts = {
  per: "image",
  is_about: false,
  beside: null,
  most_seconds_with_references: null,
  costs: [cost({}, 350)],
};
const FOUR: JobCosts = {
  per: "request",
  is_about: false,
  beside: null,
  most_seconds_with_references: null,
  costs: [cost({}, 1_000)],
};
const BY_QUALITY: JobCosts = {
  per: "image",
  is_about: true,
  beside: "input",
  most_seconds_with_references: null,
  costs: [
    cost({ size: "1024*1024", quality: "low" }, 58.8),
    cost({ size: "1024*1024", quality: "high" }, 2_107.2),
    cost({ size: "1024*1024", quality: "auto" }, [58.8, 2_107.2]),
    cost({ size: "512*512", quality: "low" }, 20),
  ],
};
const BY_RESOLUTION: JobCosts = {
  per: "image",
  is_about: false,
  beside: "input_and_reasoning",
  most_seconds_with_references: null,
  costs: [cost({ image_size: "1K" }, 1_200), cost({ image_size: "4K" }, 2_400)],
};
const BY_SECOND: JobCosts = {
  per: "video",
  is_about: false,
  beside: null,
  most_seconds_with_references: null,
  costs: [
    cost({ resolution: "720p", duration: "5" }, 5_000),
    cost({ resolution: "1080p", duration: "10" }, 15_000),
  ],
};
/** As of Seedance 2.0, which is sold by tokens and charges up to 15 seconds of reference videos. */
const BY_TOKEN: JobCosts = {
  per: "video",
  is_about: true,
  beside: null,
  most_seconds_with_references: null,
  costs: [
    cost({ resolution: "720p", duration: "5" }, 7_560, false),
    cost({ resolution: "720p", duration: "5" }, [4_644, 18_576], true),
    cost({ resolution: "1080p", duration: "5" }, 18_711, false),
    cost({ resolution: "1080p", duration: "5" }, [11_421, 45_684], true),
  ],
};
/** As of Wan 2.6, which is sold by the second and charges up to 5 seconds of reference videos. */
const WITH_SECONDS: JobCosts = {
  per: "video",
  is_about: false,
  beside: null,
  most_seconds_with_references: 10,
  costs: [
    cost({ resolution: "720p", duration: "5" }, 5_000, false),
    cost({ resolution: "720p", duration: "5" }, [5_000, 10_000], true),
    cost({ resolution: "720p", duration: "15" }, 15_000, false),
  ],
};
/** Reference videos have a price of their own, and their seconds are not charged. */
const WITHOUT_SECONDS: JobCosts = {
  ...WITH_SECONDS,
  costs: [cost({ duration: "5" }, 5_000, false), cost({ duration: "5" }, 4_000, true)],
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

const REFERRING = { duration: "5", reference_videos: ["https://a.example/b.mp4"] };

test("the seconds of reference videos give a range", () => {
  expect(estimate(BY_TOKEN, { ...REFERRING, resolution: "720p" }, {})).toEqual({
    least: 4_644,
    most: 18_576,
    isAbout: true,
    why: "The number of tokens of a video is known once it is made. A video among the references changes the price. The seconds of reference videos are charged too.",
  });
  expect(estimate(BY_TOKEN, { ...REFERRING, resolution: "1080p" }, {})).toMatchObject({ most: 45_684 });
  expect(estimate(WITH_SECONDS, { ...REFERRING, resolution: "720p" }, {})).toMatchObject({
    least: 5_000,
    most: 10_000,
    isAbout: false,
  });
});

test("a video among the references can have a price of its own", () => {
  expect(estimate(WITHOUT_SECONDS, REFERRING, {})).toEqual({
    least: 4_000,
    most: 4_000,
    isAbout: false,
    why: "A video among the references changes the price.",
  });
});

test("without a video among the references their price does not count", () => {
  const job = { ...REFERRING, resolution: "720p", reference_videos: [] };
  const without = estimate(BY_TOKEN, job, {});
  expect(without).toMatchObject({ least: 7_560, most: 7_560 });
  expect(without?.why).not.toContain("references");
  expect(estimate(WITH_SECONDS, job, {})).toEqual(exactly(5_000));
});

test("a video that is too long for its references has a reason and no price, whatever the references are", () => {
  const long = { resolution: "720p", duration: "15" };
  const why = "With references a video of this model has at most 10 seconds.";
  for (const references of [
    { input_references: ["data:,"] },
    { reference_videos: ["https://a.example/b.mp4"] },
  ]) {
    expect(refusalOf(WITH_SECONDS, { ...long, ...references }, {})).toBe(why);
    expect(refusalOf(WITH_SECONDS, references, long)).toBe(why);
    expect(estimate(WITH_SECONDS, { ...long, ...references }, {})).toBeUndefined();
    expect(refusalOf(WITH_SECONDS, { ...references, duration: "5" }, {})).toBeUndefined();
    expect(refusalOf(BY_TOKEN, { ...long, ...references }, {})).toBeUndefined();
  }
  expect(refusalOf(WITH_SECONDS, { ...long, input_references: [] }, {})).toBeUndefined();
  expect(estimate(WITH_SECONDS, long, {})).toEqual(exactly(15_000));
});

test("what has no price has no estimate", () => {
  expect(estimate(BY_SECOND, { resolution: "480p", duration: "5" }, {})).toBeUndefined();
  // With references the model makes no video of this length.
  const long = { ...REFERRING, resolution: "720p", duration: "15" };
  expect(estimate(WITH_SECONDS, long, {})).toBeUndefined();
  expect(estimate(BY_QUALITY, { size: "1024*1024", quality: "2" }, {})).toBeUndefined();
});
