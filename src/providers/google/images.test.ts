import { describe, expect, test } from "bun:test";
import { IMAGE } from "../../../test/gateway/media-run.ts";
import { type Said, scriptedCall } from "../../../test/upstream/media/scripted-call.ts";
import { loadRecordings, recordingsAvailable } from "../../../test/upstream/recordings.ts";
import { GatewayError } from "../../core/errors.ts";
import { isJsonObject } from "../../core/json/json-value.ts";
import type { ImageRequest } from "../../core/media/media.ts";
import type { MediaStep } from "../media.ts";
import { googleImages } from "./images.ts";

const made = (usage: object = { promptTokenCount: 270, candidatesTokenCount: 1_120 }): Said => ({
  json: { candidates: [{ content: { parts: [{ inlineData: { data: "AAAA" } }] } }], usageMetadata: usage },
});
const finished = (finishReason: string): Said => ({ json: { candidates: [{ finishReason }] } });
const refused = (status: number, word: string, details: readonly object[] = [], message = "No."): Said => ({
  status,
  json: { error: { code: status, message, status: word, details } },
});

const quota = (time: string): object => ({
  "@type": "type.googleapis.com/google.rpc.QuotaFailure",
  violations: [{ quotaId: `GenerateRequestsPer${time}PerProjectPerModel-FreeTier` }],
});

const create = (
  answers: readonly (Said | Error)[],
  request: Partial<ImageRequest> = {},
): Promise<MediaStep> =>
  googleImages.create({ ...IMAGE, ...request }, scriptedCall("gemini-3-pro-image", answers).call);
const reasonOf = (step: MediaStep): string => (step.state === "refused" ? step.refusal.reason : step.state);

test("as many calls are sent as images are asked for, each with a seed of its own and the images inline", async () => {
  const { call, sent } = scriptedCall("gemini-3-pro-image", [made()]);
  const request: ImageRequest = {
    ...IMAGE,
    n: 3,
    seed: 2_147_483_646,
    imageSize: "4K",
    aspectRatio: "4:5",
    images: ["https://a.example/b.png"],
  };
  const step = await googleImages.create(request, call);
  expect(step).toMatchObject({ state: "done", usage: { input: 810, output: 3_360 } });
  expect(sent.map(({ path }) => path)).toEqual(
    Array.from({ length: 3 }, () => "/v1beta/models/gemini-3-pro-image:generateContent"),
  );
  const data = Buffer.from("bytes of https://a.example/b.png").toString("base64");
  expect(sent.map(({ json }) => json)).toEqual(
    [2_147_483_646, 2_147_483_647, 0].map((seed) => ({
      contents: [
        { role: "user", parts: [{ text: "A red kite." }, { inlineData: { mimeType: "image/png", data } }] },
      ],
      generationConfig: {
        responseModalities: ["IMAGE"],
        imageConfig: { imageSize: "4K", aspectRatio: "4:5" },
        seed,
      },
    })),
  );
});

describe("an answer without an image is", () => {
  const blocks = [
    "SAFETY",
    "OTHER",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "IMAGE_SAFETY",
    "MODEL_ARMOR",
    "JAILBREAK",
  ];
  const ends =
    "SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION";
  const rows: readonly [string, Said, string][] = [
    ...blocks.map((blockReason): [string, Said, string] => [
      `a blocked prompt: ${blockReason}`,
      { json: { promptFeedback: { blockReason } } },
      "moderation",
    ]),
    ...ends
      .split(" ")
      .map((word): [string, Said, string] => [`a blocked image: ${word}`, finished(word), "moderation"]),
    ...["NO_IMAGE", "IMAGE_OTHER", "MAX_TOKENS", "OTHER", "LANGUAGE"].map((word): [string, Said, string] => [
      `a failure: ${word}`,
      finished(word),
      "failed",
    ]),
    ["unclear: nothing", { json: {} }, "unclear"],
    ["unclear: no JSON", { text: "<html>" }, "unclear"],
    ["invalid", refused(400, "INVALID_ARGUMENT"), "invalid_request"],
    [
      "the operator's: a wrong key by its details",
      refused(400, "INVALID_ARGUMENT", [{ reason: "API_KEY_INVALID" }]),
      "operator_fault",
    ],
    [
      "the operator's: a wrong key by its sentence",
      refused(400, "INVALID_ARGUMENT", [], "API key not valid. x"),
      "operator_fault",
    ],
    ["the operator's: FAILED_PRECONDITION", refused(400, "FAILED_PRECONDITION"), "operator_fault"],
    ["the operator's: 401", refused(401, "UNAUTHENTICATED"), "operator_fault"],
    ["the operator's: 403", refused(403, "PERMISSION_DENIED"), "operator_fault"],
    ["the operator's: 404", refused(404, "NOT_FOUND"), "operator_fault"],
    [
      "the operator's: credit that is used up, with the status of a limit",
      refused(429, "RESOURCE_EXHAUSTED", [], "Your prepayment credits are depleted. Please go to AI Studio."),
      "operator_fault",
    ],
    [
      "invalid: a prompt that is quoted",
      refused(400, "INVALID_ARGUMENT", [], 'No. You wrote "a spending cap".'),
      "invalid_request",
    ],
    [
      "the operator's: a quota of the day",
      refused(429, "RESOURCE_EXHAUSTED", [quota("Day")]),
      "operator_fault",
    ],
    ["busy: a quota of the minute", refused(429, "RESOURCE_EXHAUSTED", [quota("Minute")]), "busy"],
    ["busy: 429", refused(429, "RESOURCE_EXHAUSTED"), "busy"],
    ["busy: 503", refused(503, "UNAVAILABLE"), "busy"],
    ["unclear: 500", refused(500, "INTERNAL"), "unclear"],
    ["unclear: 504", refused(504, "DEADLINE_EXCEEDED"), "unclear"],
  ];
  for (const [name, answer, want] of rows)
    test(name, async () => expect(reasonOf(await create([answer]))).toBe(want));
});

test("a wait that its details name is heeded", async () => {
  const step = await create([refused(429, "RESOURCE_EXHAUSTED", [{ retryDelay: "27.3s" }])]);
  expect(step).toMatchObject({ refusal: { reason: "busy", retryAfterMs: 28_000 } });
});

test("thoughts are no images, and data is handed on as it stands", async () => {
  const parts = [
    { inlineData: { data: "BBBB" }, thought: true },
    { text: "x" },
    { inlineData: { data: "!" } },
    { inlineData: { data: "AAAA" }, thoughtSignature: "s" },
  ];
  const step = await create([{ json: { candidates: [{ content: { parts } }] } }]);
  expect(step).toEqual({ state: "done", outputs: [{ base64: "!" }, { base64: "AAAA" }] });
});

test("images that are more together than a request may be are not sent", async () => {
  const { call, sent } = scriptedCall("gemini-3-pro-image", [made()]);
  const large = { mediaType: "image/png", bytes: new Uint8Array(40_000_000) };
  const images = ["https://a.example/1", "https://a.example/2"];
  const step = await googleImages.create({ ...IMAGE, images }, { ...call, load: async () => large });
  expect(step).toMatchObject({ refusal: { reason: "input_too_large" } });
  expect(sent).toEqual([]);
});

describe("of several calls", () => {
  const broken = new GatewayError("upstream_error", "It broke.");
  const done = ["what was made is given"];
  test(`${done[0]}, whatever became of the others`, async () => {
    const step = await create([made(), broken, refused(429, "RESOURCE_EXHAUSTED"), made()], { n: 4 });
    expect(step).toMatchObject({ state: "done", outputs: [{}, {}], usage: { input: 540 } });
  });
  const busy = refused(429, "RESOURCE_EXHAUSTED");
  const rows: readonly [readonly Said[], string][] = [
    [[busy, busy], "busy"],
    [[busy, refused(500, "INTERNAL")], "unclear"],
    [[busy, finished("SAFETY")], "moderation"],
    [[busy, refused(401, "UNAUTHENTICATED")], "operator_fault"],
    // One of them may have been begun, so that no other provider is to begin it.
    [[refused(500, "INTERNAL"), refused(401, "UNAUTHENTICATED")], "unclear"],
  ];
  for (const [answers, want] of rows)
    test(`of which none made an image, it is ${want}`, async () =>
      expect(reasonOf(await create(answers, { n: 2 }))).toBe(want));
  test("one that broke beside a busy one leaves it in doubt", async () =>
    expect(create([busy, broken], { n: 2 })).rejects.toBe(broken));
});

describe.skipIf(!recordingsAvailable())("recorded", () => {
  const drawn = (): ReturnType<typeof loadRecordings> =>
    ["generate-content/google", "generate-content/google-vertex"]
      .flatMap((folder) => loadRecordings(folder))
      .filter(({ path, response }) => /image-output/.test(path) && isJsonObject(response.body));

  test("answers of makers of images are read: each image, and the tokens that were told", async () => {
    expect(drawn().length).toBeGreaterThan(1);
    for (const { path, response } of drawn()) {
      const step = await create([{ status: response.status, json: response.body }]);
      if (step.state !== "done") throw new Error(`${path} was not read.`);
      const told = JSON.stringify(response.body);
      const data = [...told.matchAll(/"data":"([^"]+)"/g)].map(([, base64 = ""]) => base64);
      expect([path, step.outputs]).toEqual([path, data.map((base64) => ({ base64 }))]);
      const usage = /"candidatesTokenCount":(\d+)/.exec(told)?.[1];
      expect((step.usage?.output ?? 0) + (step.usage?.imageOutput ?? 0)).toBe(Number(usage));
    }
  });

  test("a request has the form of the recorded one", async () => {
    const recorded = drawn().find(({ request }) => isJsonObject(request.body));
    if (!isJsonObject(recorded?.request.body)) throw new Error("No request is recorded.");
    const { contents, generationConfig } = recorded.request.body;
    const { call, sent } = scriptedCall("gemini-2.5-flash-image", [made()]);
    await googleImages.create({ ...IMAGE, prompt: "Generate an image of an axolotl." }, call);
    expect(recorded.request.url).toEndWith(sent[0]?.path.replace(/^\/v1beta/, "") ?? "?");
    // That one asked Vertex for text as well, and for a format of images that is Vertex's alone.
    expect(generationConfig).toMatchObject({ responseModalities: ["TEXT", "IMAGE"] });
    expect(sent[0]?.json).toEqual({
      contents: Array.isArray(contents) ? contents : [],
      generationConfig: { responseModalities: ["IMAGE"], imageConfig: {} },
    });
  });

  test("a limit is busy for as long as it says", async () => {
    const limits = loadRecordings("errors/google").filter(({ response }) => response.status === 429);
    expect(limits.length).toBeGreaterThan(1);
    for (const { response } of limits)
      expect(reasonOf(await create([{ status: 429, json: response.body }]))).toBe("busy");
  });
});
