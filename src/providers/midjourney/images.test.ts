import { describe, expect, test } from "bun:test";
import { IMAGE } from "../../../test/gateway/media-run.ts";
import { type Said, scriptedCall } from "../../../test/upstream/media/scripted-call.ts";
import type { ImageRequest, MidjourneyStyle } from "../../core/media/media.ts";
import type { MediaStep } from "../media.ts";
import { midjourneyImages } from "./images.ts";

const STYLE: MidjourneyStyle = { version: "7", chaos: 0, weird: 0, stylize: 100 };
const request: ImageRequest = { ...IMAGE, n: 4, quality: "1", aspectRatio: "1:1", midjourney: STYLE };
const reasonOf = (step: MediaStep): string => (step.state === "refused" ? step.refusal.reason : step.state);
const create = (answer: Said): Promise<MediaStep> =>
  midjourneyImages.create(request, scriptedCall("midjourney", [answer]).call);
const poll = async (answer: Said): Promise<MediaStep> =>
  midjourneyImages.poll?.("1730", request, scriptedCall("midjourney", [answer]).call) ?? {
    state: "unknown_job",
  };

describe("the prompt", () => {
  const styled = (style: Partial<MidjourneyStyle>): Partial<ImageRequest> => ({
    midjourney: { ...STYLE, ...style },
  });
  const rows: readonly [string, Partial<ImageRequest>, string][] = [
    ["has what differs from their defaults, and what is ours", {}, "A red kite. --v 7 --s 100 --q 1"],
    ["has a shape", { aspectRatio: "4:5" }, "A red kite. --ar 4:5 --v 7 --s 100 --q 1"],
    [
      "has niji in place of the version",
      styled({ niji: "6", weird: 7 }),
      "A red kite. --niji 6 --s 100 --q 1",
    ],
    [
      "has chaos, weirdness and a style",
      styled({ chaos: 5, weird: 9, stylize: 0, sref: "https://a.example/s.png" }),
      "A red kite. --v 7 --s 0 --c 5 --weird 9 --sref https://a.example/s.png --q 1",
    ],
    ["has a seed", { seed: 0 }, "A red kite. --v 7 --s 100 --q 1 --seed 0"],
    [
      "begins with the addresses of images, in which nothing is a choice",
      { images: ["https://a.example/{b,c}?d={e}"] },
      "https://a.example/%7Bb,c%7D?d=%7Be%7D A red kite. --v 7 --s 100 --q 1",
    ],
  ];
  for (const [name, more, prompt] of rows)
    test(name, async () => {
      const { call, sent } = scriptedCall("midjourney", [{ json: { code: 1, result: "1730" } }]);
      await midjourneyImages.create({ ...request, ...more }, call);
      expect(sent).toEqual([
        {
          method: "POST",
          path: "/mj/submit/imagine",
          json: { botType: "MID_JOURNEY", prompt, state: "img_1.1" },
        },
      ]);
    });

  test("does not have images that came as bytes: they go beside it", async () => {
    const { call, sent } = scriptedCall("midjourney", [{ json: { code: 1, result: "1730" } }]);
    await midjourneyImages.create({ ...request, images: ["data:image/png;base64,AA=="] }, call);
    expect(sent[0]?.json).toMatchObject({
      base64Array: ["data:image/png;base64,AA=="],
      prompt: "A red kite. --v 7 --s 100 --q 1",
    });
  });
});

describe("the answer to a submission", () => {
  const rows: readonly [string, Said, string][] = [
    ...[1, 21, 22].map((code): [string, Said, string] => [
      `${code}`,
      { json: { code, result: "1730" } },
      "working",
    ]),
    ["1 without a name", { json: { code: 1 } }, "unclear"],
    ["1 with a path for a name", { json: { code: 1, result: "../1" } }, "unclear"],
    ["23", { json: { code: 23, description: "full" } }, "busy"],
    ["3", { json: { code: 3 } }, "busy"],
    ["24", { json: { code: 24, description: "banned" } }, "moderation"],
    ["4", { json: { code: 4 } }, "invalid_request"],
    ["9", { json: { code: 9 } }, "failed"],
    ["77", { json: { code: 77 } }, "failed"],
    ["of no code", { json: {} }, "unclear"],
    ["with 401", { status: 401, json: { code: 1, result: "1" } }, "operator_fault"],
    ["with 403", { status: 403, text: "" }, "operator_fault"],
    ["with 500", { status: 500, json: { code: 24 } }, "unclear"],
  ];
  for (const [name, answer, want] of rows)
    test(`${name} is ${want}`, async () => expect(reasonOf(await create(answer))).toBe(want));
});

describe("a job", () => {
  const failed = (failReason: unknown): Said => ({ json: { status: "FAILURE", failReason } });
  const rows: readonly [string, Said, string][] = [
    ...["NOT_START", "SUBMITTED", "IN_PROGRESS", "PONDERING"].map((status): [string, Said, string] => [
      status,
      { json: { status } },
      "working",
    ]),
    ["MODAL", { json: { status: "MODAL" } }, "failed"],
    ["CANCEL", { json: { status: "CANCEL" } }, "failed"],
    ["FAILURE", failed("timed out"), "failed"],
    ["FAILURE without a word", failed(null), "failed"],
    ...["Banned prompt detected", "Image moderated", "Request blocked by filter"].map(
      (reason): [string, Said, string] => [reason, failed(reason), "moderation"],
    ),
    ["of which nothing is said", { text: "" }, "unknown_job"],
    ["that is null", { json: null }, "unknown_job"],
    ["404", { status: 404, text: "" }, "unknown_job"],
    ["500", { status: 500, text: "" }, "unclear"],
    ["without a status", { json: {} }, "unclear"],
  ];
  for (const [name, answer, want] of rows)
    test(`${name} is ${want}`, async () => expect(reasonOf(await poll(answer))).toBe(want));

  test("gives four images where the proxy tells them apart, else the one that holds them", async () => {
    const url = "https://cdn.example/grid.png";
    const grid = { state: "done", outputs: [{ url, grid: { columns: 2, rows: 2 } }] } as const;
    const done = (members: object): Said => ({ json: { status: "SUCCESS", ...members } });
    expect(await poll(done({ imageUrl: url }))).toEqual(grid);
    expect(await poll(done({ imageUrl: url, imageUrls: [{ url }] }))).toEqual(grid);
    const single = [1, 2, 3, 4].map((place) => ({ url: `https://cdn.example/${place}.png` }));
    expect(await poll(done({ imageUrl: url, imageUrls: single }))).toEqual({
      state: "done",
      outputs: single,
    });
    expect(await poll(done({ imageUrl: null }))).toEqual({ state: "done", outputs: [] });
  });
});
