import { expect, test } from "bun:test";
import { costsOf, estimate, type Estimate, type Priced } from "./media-price.ts";

/** A page as `src/catalog/media-page.ts` writes it. */
const page = (prices: string): string =>
  `# A model\n\n## Prices\n\n${prices}\n\n- 1 USD is 10,000 credits.\n\n## Parameters\n\n| Name |`;
const cost = (text: string, job: Priced, defaults: Priced = {}): Estimate | undefined => {
  const costs = costsOf(page(text));
  return costs === undefined ? undefined : estimate(costs, job, defaults);
};
const exactly = (credits: number): Estimate => ({
  least: credits,
  most: credits,
  isAbout: false,
  why: undefined,
});

const EACH = "| Image | always | 0.035 | 350 | each |\n\nSo an image costs 350 credits.";
const FOUR = "So a request, whose images are 4, costs 1,000 credits.";
const BY_QUALITY = `So an image costs about this much in credits; what the model reads comes on top:

| \`size\` | low | high | auto, at most |
|---|---|---|---|
| 1024*1024 | 58.8 | 2,107.2 | 2,107.2 |`;
const BY_RESOLUTION = `So an image costs this much in credits; what the model reads and thinks comes on top:

| \`image_size\` | Output tokens | Credits |
|---|---|---|
| 4K | 2,000 | 2,400 |`;
const BY_SECOND = `| Second of video | resolution 1080p | 0.15 | 1,500 | each |
| Second of video | otherwise | 0.1 | 1,000 | each |

So a video costs this much in credits:

| \`resolution\` | 5 seconds | 10 seconds |
|---|---|---|
| 720p | 5,000 | 10,000 |
| 1080p | 7,500 | 15,000 |`;
const BY_TOKEN = `| Output | resolution 1080p, with a video in the input | 4 | 40,000 | 1M tokens |
| Output | resolution 1080p | 8 | 80,000 | 1M tokens |
| Output | with a video in the input | 3 | 30,000 | 1M tokens |
| Output | otherwise | 4 | 40,000 | 1M tokens |

So a video costs about this much in credits:

| \`resolution\` | 5 seconds |
|---|---|
| 720p | 4,000 |
| 1080p | 10,000 |`;

test("an image of a fixed price counts as often as there are images", () => {
  expect(cost(EACH, {}, { n: 1 })).toEqual(exactly(350));
  expect(cost(EACH, { n: 3 }, { n: 1 })).toEqual(exactly(1_050));
});

test("a request of a fixed number of images costs the same whatever it asks for", () => {
  expect(cost(FOUR, { n: 2 })).toEqual(exactly(1_000));
});

test("an image is priced by its size and quality, in either spelling of the size", () => {
  const found = cost(BY_QUALITY, { size: "1024x1024", quality: "high", n: 2 });
  expect(found).toMatchObject({ least: 4_214.4, most: 4_214.4, isAbout: true });
  expect(found?.why).toContain("What the model reads comes on top.");
});

test("a quality that the model chooses gives a range", () => {
  expect(cost(BY_QUALITY, {}, { size: "1024*1024", quality: "auto" })).toMatchObject({
    least: 58.8,
    most: 2_107.2,
    why: expect.stringContaining("The model chooses the quality."),
  });
});

test("an image priced by its resolution costs what the last column says", () => {
  expect(cost(BY_RESOLUTION, { image_size: "4K" }, { image_size: "1K" })).toEqual({
    least: 2_400,
    most: 2_400,
    isAbout: false,
    why: "What the model reads and thinks comes on top.",
  });
});

test("a video is priced by its seconds and resolution", () => {
  const defaults = { resolution: "720p", duration: "5" };
  expect(cost(BY_SECOND, {}, defaults)).toEqual(exactly(5_000));
  expect(cost(BY_SECOND, { resolution: "1080p", duration: 10 }, defaults)).toEqual(exactly(15_000));
});

test("a video among the references has a price of its own", () => {
  const job = { duration: "5", reference_videos: ["https://a.example/b.mp4"] };
  expect(cost(BY_TOKEN, { ...job, resolution: "1080p" })).toMatchObject({ most: 5_000, isAbout: true });
  expect(cost(BY_TOKEN, { ...job, resolution: "720p" })).toMatchObject({ most: 3_000 });
  expect(cost(BY_TOKEN, { ...job, resolution: "720p", reference_videos: [] })).toMatchObject({ most: 4_000 });
});

test("what the page does not price has no estimate", () => {
  expect(costsOf("# No prices")).toBeUndefined();
  expect(cost(BY_SECOND, { resolution: "480p", duration: "5" })).toBeUndefined();
  expect(cost(BY_QUALITY, { size: "1024*1024", quality: "2" })).toBeUndefined();
});
