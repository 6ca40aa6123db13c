import { describe, expect, test } from "bun:test";
import { IMAGE } from "../../../test/gateway/media-run.ts";
import { type Said, scriptedCall } from "../../../test/upstream/media/scripted-call.ts";
import { loadRecordings, recordingsAvailable } from "../../../test/upstream/recordings.ts";
import { isJsonObject } from "../../core/json/json-value.ts";
import type { ImageRequest } from "../../core/media/media.ts";
import type { MediaStep } from "../media.ts";
import { openaiImages } from "./images.ts";

const create = async (answer: Said, request: ImageRequest = IMAGE): Promise<MediaStep> =>
  openaiImages.create(request, scriptedCall("gpt-image-2", [answer]).call);

const reasonOf = (step: MediaStep): string => (step.state === "refused" ? step.refusal.reason : step.state);

const error = (code: string | null, message = "No.", type = "x"): object => ({
  error: { message, type, param: null, code },
});

describe("what is sent", () => {
  const rows: readonly [string, Partial<ImageRequest>, string, object][] = [
    ["the least", {}, "/images/generations", {}],
    [
      "all of it",
      {
        n: 4,
        size: { width: 1_536, height: 1_024 },
        quality: "low",
        background: "opaque",
        outputFormat: "webp",
      },
      "/images/generations",
      { n: 4, size: "1536x1024", quality: "low", background: "opaque", output_format: "webp" },
    ],
    ["a seed, which it refuses", { seed: 7 }, "/images/generations", {}],
    [
      "images to change",
      {
        images: ["https://a.example/a.png", "data:image/png;base64,AA=="],
        mask: "data:image/png;base64,AB==",
      },
      "/images/edits",
      {
        images: [{ image_url: "https://a.example/a.png" }, { image_url: "data:image/png;base64,AA==" }],
        mask: { image_url: "data:image/png;base64,AB==" },
      },
    ],
  ];
  for (const [name, request, path, members] of rows)
    test(name, async () => {
      const { call, sent } = scriptedCall("gpt-image-2", [{ json: { data: [] } }]);
      await openaiImages.create({ ...IMAGE, ...request }, call);
      expect(sent).toEqual([
        { method: "POST", path, json: { model: "gpt-image-2", prompt: "A red kite.", n: 1, ...members } },
      ]);
    });
});

/** As OpenAI says it, with the operator's account in it. */
const tooLargeOn = (limit: string): string =>
  `Request too large for gpt-image-2 in organization org-1 on ${limit}: Limit 5, Requested 8.`;

describe("a refusal is", () => {
  const rows: readonly [string, Said, string][] = [
    [
      "moderation by its code",
      { status: 400, json: error("moderation_blocked", "", "image_generation_user_error") },
      "moderation",
    ],
    ["moderation by the older code", { status: 400, json: error("content_policy_violation") }, "moderation"],
    [
      "moderation by its sentence",
      { status: 400, json: error(null, "Your request was rejected as a result of our safety system. x") },
      "moderation",
    ],
    ["invalid", { status: 400, json: error("invalid_value") }, "invalid_request"],
    ["too large by its status", { status: 413, text: "" }, "input_too_large"],
    ["too large by its code", { status: 400, json: error("string_above_max_length") }, "input_too_large"],
    [
      "too large by its sentence",
      { status: 400, json: error(null, "The image file is too large.") },
      "input_too_large",
    ],
    ["the operator's: key", { status: 401, json: error("invalid_api_key") }, "operator_fault"],
    [
      "the operator's: not verified",
      { status: 403, json: error(null, "Your organization must be verified.") },
      "operator_fault",
    ],
    ["the operator's: model", { status: 404, json: error("model_not_found") }, "operator_fault"],
    ...[403, 404].map((status): [string, Said, string] => [
      `invalid: of a file, with ${status}`,
      { status, json: { error: { message: "No.", code: null, param: "images[0].image_url" } } },
      "invalid_request",
    ]),
    [
      "the operator's: model, named as a field",
      { status: 404, json: { error: { message: "No.", code: null, param: "model" } } },
      "operator_fault",
    ],
    ["the operator's: quota", { status: 429, json: error("insufficient_quota") }, "operator_fault"],
    ["the operator's: billing", { status: 400, json: error("billing_hard_limit_reached") }, "operator_fault"],
    ["busy", { status: 429, json: error("rate_limit_exceeded"), headers: { "retry-after": "7" } }, "busy"],
    ...["tokens per min (TPM)", "images per min (IPM)", "input-images per min"].map(
      (limit): [string, Said, string] => [
        `beyond the credential's limit of ${limit}`,
        { status: 429, json: error("rate_limit_exceeded", tooLargeOn(limit)) },
        "beyond_limit",
      ],
    ),
    [
      "busy: a limit that is used up",
      {
        status: 429,
        json: error("rate_limit_exceeded", "Rate limit reached for gpt-image-2 on images per min: Limit 5."),
        headers: { "retry-after": "7" },
      },
      "busy",
    ],
    ["unclear: their server", { status: 500, json: error("server_error") }, "unclear"],
    ["unclear: their edge", { status: 502, text: "<html>" }, "unclear"],
    ["unclear: a good answer of another shape", { json: { data: null } }, "unclear"],
  ];
  for (const [name, answer, want] of rows)
    test(name, async () => {
      const step = await create(answer);
      expect(reasonOf(step)).toBe(want);
      if (want === "busy" && step.state === "refused") expect(step.refusal.retryAfterMs).toBe(7_000);
    });
});

test("usage is told in its buckets; without details what comes out is images; without counts there is none", async () => {
  const data = [{ b64_json: "AAAA" }, { b64_json: "!" }, {}];
  const whole = await create({
    json: {
      data,
      usage: {
        input_tokens: 50,
        input_tokens_details: { text_tokens: 10, image_tokens: 40, cached_tokens: 4 },
        output_tokens: 30,
        output_tokens_details: { image_tokens: 20, text_tokens: 10 },
      },
    },
  });
  expect(whole).toMatchObject({
    state: "done",
    outputs: [{ base64: "AAAA" }, { base64: "!" }],
    usage: { input: 6, cacheRead: 4, imageInput: 40, output: 10, imageOutput: 20 },
  });
  const plain = await create({ json: { data, usage: { input_tokens: 5, output_tokens: 30 } } });
  expect(plain).toMatchObject({ usage: { input: 5, output: 0, imageOutput: 30 } });
  for (const usage of [undefined, {}, { input_tokens: "5", output_tokens: 1 }])
    expect(await create({ json: { data, usage } })).not.toHaveProperty("usage");
});

describe.skipIf(!recordingsAvailable())("recorded", () => {
  const made = (): ReturnType<typeof loadRecordings> =>
    loadRecordings("images/openai").filter(({ request }) => /images\/(generations|edits)$/.test(request.url));

  test("answers are read: every image, and the tokens that were told", async () => {
    expect(made().length).toBeGreaterThan(5);
    for (const { path, response } of made()) {
      const step = await create({ status: response.status, json: response.body });
      if (step.state !== "done" || !isJsonObject(response.body)) throw new Error(`${path} was not read.`);
      const { data, usage } = response.body;
      // One recording was cut where its images are.
      if (!path.includes("--33a7ee2e") && !path.includes("--34dc8d7a"))
        expect([path, step.outputs.length]).toEqual([path, Array.isArray(data) ? data.length : 0]);
      const { input = 0, imageInput = 0, output = 0, imageOutput = 0 } = step.usage ?? {};
      const told = isJsonObject(usage) ? [usage["input_tokens"], usage["output_tokens"]] : [0, 0];
      expect([input + imageInput, output + imageOutput]).toEqual(told as number[]);
    }
  });

  test("requests of the JSON form for these models are ours, member for member", async () => {
    const ours = made().filter(({ request }) =>
      /gpt-image-(2|1\.5)/.test(JSON.stringify(request.body ?? "").slice(0, 100)),
    );
    expect(ours.length).toBeGreaterThanOrEqual(2);
    for (const { request } of ours) {
      if (!isJsonObject(request.body)) throw new Error("A recorded request has no JSON.");
      const { model, prompt, size, quality, images } = request.body;
      const [width = 0, height = 0] = String(size).split("x").map(Number);
      const urls = Array.isArray(images)
        ? images.filter(isJsonObject).map(({ image_url }) => String(image_url))
        : [];
      const { call, sent } = scriptedCall(String(model), [{ json: { data: [] } }]);
      await openaiImages.create(
        {
          ...IMAGE,
          prompt: String(prompt),
          size: { width, height },
          quality: String(quality),
          images: urls,
        },
        call,
      );
      expect(request.url).toEndWith(sent[0]?.path ?? "?");
      expect(sent[0]?.json).toEqual(request.body);
    }
  });

  test("refusals are the client's but for those of quota and key", async () => {
    const recorded = loadRecordings("errors/openai").filter(
      ({ fidelity, protocol }) => protocol === "images" && fidelity !== "authored",
    );
    expect(recorded.length).toBeGreaterThan(3);
    for (const { path, response } of recorded) {
      const step = await create({ status: response.status, json: response.body });
      expect([path, reasonOf(step)]).toEqual([path, "invalid_request"]);
    }
    const quota = loadRecordings("errors/openai").find(({ response }) =>
      JSON.stringify(response.body).includes("insufficient_quota"),
    );
    expect(reasonOf(await create({ status: 400, json: quota?.response.body }))).toBe("operator_fault");
  });
});
