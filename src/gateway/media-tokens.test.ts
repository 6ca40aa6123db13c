import { wireRequest } from "../../test/protocols/wire-request.ts";
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { loadRecordings, type Recording, recordingsFor } from "../../test/upstream/recordings.ts";
import { buildModel, loadModelFiles } from "../catalog/catalog.ts";
import type { ModelFacts } from "../catalog/schema.ts";
import type { Model } from "../core/model.ts";
import { readRequest } from "../protocols/chat-completions/request.ts";
import type { Demand, ImageInput } from "../protocols/protocol.ts";
import { mediaTokens } from "./media-tokens.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- wire data of a test
type Json = any;
type Facts = Pick<ModelFacts, "image_tokens" | "media_token_ceiling">;

function modelOf(facts: Facts): Model {
  const reach = { supportedProtocols: [], routes: [] };
  return buildModel("v/m", "language", { prices: { input: 1, output: 1 }, ...facts }, reach);
}

function count(model: Model, images: readonly ImageInput[], more: Partial<Demand> = {}) {
  const media = images.length === 0 ? {} : { image: images.length };
  return mediaTokens(model, { media, images, mediaBytes: 0, ...more });
}

const sized = (width: number, height: number, detail?: string): ImageInput => ({
  size: { width, height },
  ...(detail === undefined ? {} : { detail }),
});

const PATCHES: Facts = {
  media_token_ceiling: { image: 5_000 },
  image_tokens: { patch: 32, per_patch: 1.2, base: 3, low: 308, high: 3_000 },
};

describe("an image counts by its model's formula", () => {
  const cases: readonly { name: string; image: ImageInput; tokens: number }[] = [
    { name: "the squares that cover it, rounded up", image: sized(33, 32), tokens: 6 },
    { name: "the same when it is turned", image: sized(32, 33), tokens: 6 },
    { name: "one square at the least", image: sized(1, 1), tokens: 5 },
    { name: "never above the model's most", image: sized(60_000, 60_000), tokens: 5_000 },
    { name: "the model's most when its size is not known", image: {}, tokens: 5_000 },
    { name: "low detail at its own count, whatever the size", image: sized(1, 1, "low"), tokens: 308 },
    { name: "low detail of unknown size, too", image: { detail: "low" }, tokens: 308 },
    { name: "high detail by its size", image: sized(64, 64, "high"), tokens: 8 },
    { name: "high detail never above its most", image: sized(9_000, 9_000, "high"), tokens: 3_000 },
    { name: "high detail of unknown size at its most", image: { detail: "high" }, tokens: 3_000 },
    { name: "original detail as the model's most", image: { detail: "original" }, tokens: 5_000 },
    { name: "a detail that nobody knows as the model's most", image: { detail: "LOW" }, tokens: 5_000 },
  ];
  for (const { name, image, tokens } of cases) {
    test(name, () => expect(count(modelOf(PATCHES), [image]).ceiling).toBe(tokens));
  }

  test("low and high say nothing to a model without them", () => {
    const model = modelOf({ media_token_ceiling: { image: 9_000 }, image_tokens: { patch: 10 } });
    expect(count(model, [sized(100, 50, "low"), sized(100, 50, "high")]).ceiling).toBe(100);
  });

  test("each image counts by itself, beside what else there is", () => {
    const demand = { media: { image: 2, pdf: 1 }, mediaBytes: 5_000 };
    const tokens = count(modelOf(PATCHES), [sized(64, 64), {}], demand);
    expect(tokens).toEqual({ ceiling: 8 + 5_000 + 200_000, expected: 8 + 1_232 + 100 });
  });

  test("without a formula it is held at the ceiling and guessed by its pixels", () => {
    const model = modelOf({});
    expect(count(model, [sized(300, 100)])).toEqual({ ceiling: 3_000, expected: 40 });
    expect(count(model, [sized(9_000, 9_000)])).toEqual({ ceiling: 3_000, expected: 3_000 });
    expect(count(model, [{}])).toEqual({ ceiling: 3_000, expected: 1_399 });
  });
});

/**
 * Input tokens measured by others for one image with a word or two beside it
 * (https://huggingface.co/datasets/JOHNISKING/image-token-cost, 2026): width, height, automatic and high detail.
 */
const MEASURED = [
  [256, 256, 77, 77],
  [512, 512, 308, 308],
  [768, 768, 692, 692],
  [1_024, 1_024, 1_229, 1_229],
  [1_280, 720, 1_104, 1_104],
  [1_920, 1_080, 2_448, 2_448],
  [1_080, 1_920, 2_448, 2_448],
  [2_560, 1_440, 4_320, 2_931],
  [3_840, 2_160, 9_792, 2_931],
  [4_032, 3_024, 14_364, 2_942],
] as const;

describe("OpenAI's models of the catalogue, beside published measurements", () => {
  const models = loadModelFiles(join(import.meta.dir, "../../models")).filter(
    ({ category, vendor, inputModalities }) => {
      return category === "language" && vendor === "openai" && inputModalities.includes("image");
    },
  );
  test("there are some", () => expect(models.length).toBeGreaterThan(0));
  for (const model of models) {
    test(`${model.id} is held for what was counted, and hardly more`, () => {
      for (const [width, height, auto, high] of MEASURED) {
        expect(count(model, [sized(width, height)]).ceiling).toBe(auto);
        const held = count(model, [sized(width, height, "high")]).ceiling;
        expect(held).toBeGreaterThanOrEqual(high);
        expect(held).toBeLessThan(high * 1.03);
      }
    });
  }
});

/**
 * Formulas of the models in the recordings, as docs/configuration.md has them by family. A model without any counts by
 * the ceiling of its own or of all.
 */
const FAMILIES: readonly (readonly [RegExp, Facts])[] = [
  [/^gpt-5-nano/, { media_token_ceiling: { image: 3_779 }, image_tokens: { patch: 32, per_patch: 2.46 } }],
  [/^gpt-5-mini/, { media_token_ceiling: { image: 2_489 }, image_tokens: { patch: 32, per_patch: 1.62 } }],
  // Its multiplier is not published; this is the largest that any model has.
  [
    /^gpt-5\.4-nano/,
    { media_token_ceiling: { image: 24_600 }, image_tokens: { patch: 32, per_patch: 2.46 } },
  ],
  [
    /^gpt-4o-mini/,
    { media_token_ceiling: { image: 48_169 }, image_tokens: { patch: 512, per_patch: 5_667, base: 2_833 } },
  ],
  [
    /^gpt-4o/,
    {
      media_token_ceiling: { image: 1_445 },
      image_tokens: { patch: 512, per_patch: 170, base: 85, low: 85 },
    },
  ],
  [/claude-(opus|sonnet)-5/, { media_token_ceiling: { image: 4_784 }, image_tokens: { patch: 28 } }],
  [/claude/, { media_token_ceiling: { image: 1_600 }, image_tokens: { patch: 28 } }],
  [/gemini-3/, { media_token_ceiling: { image: 1_120 } }],
];

const isAvailable = recordingsFor("calibration of images");

const FOLDERS = ["chat-completions", "cross-protocol", "messages", "generate-content", "other"];

interface Image {
  readonly url: string;
  readonly detail?: string;
}

/** The images of a request in any format, as chat completions would send them; `undefined` for other values. */
function imageOf(value: Json): Image | undefined {
  const link = value.image_url;
  if (typeof link === "string") return { url: link, ...(value.detail ? { detail: value.detail } : {}) };
  if (typeof link?.url === "string") return link;
  const source = value.type === "image" ? value.source : undefined;
  const inline = value.inlineData ?? value.inline_data ?? source;
  const type: string = inline?.mimeType ?? inline?.mime_type ?? inline?.media_type ?? "";
  if (type.startsWith("image/")) return { url: `data:${type};base64,${inline.data}` };
  const file = value.fileData ?? value.file_data;
  const isLink = source?.type === "url" || String(file?.mimeType ?? file?.mime_type).startsWith("image/");
  return isLink ? { url: "https://example.com/image" } : undefined;
}

/** Takes the images out of `value` into `images`. */
function withoutImages(value: Json, images: Image[]): Json {
  if (Array.isArray(value)) return value.map((item) => withoutImages(item, images));
  if (typeof value !== "object" || value === null) return value;
  const image = imageOf(value);
  if (image !== undefined) {
    images.push(image);
    return { type: "image" };
  }
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutImages(item, images)]));
}

/** Input tokens as the answer has them, cached ones included. */
function recordedInput({ response }: Recording): number | undefined {
  const events: Json[] =
    typeof response.body === "string"
      ? response.body
          .split("\n")
          .filter((line) => line.startsWith("data: {"))
          .map((line) => JSON.parse(line.slice(6)))
      : [response.body];
  let most: number | undefined;
  for (const event of events) {
    const usage = event?.usage ?? event?.message?.usage ?? event?.usageMetadata ?? event?.response?.usage;
    const input =
      usage?.prompt_tokens ??
      usage?.promptTokenCount ??
      usage?.input_tokens ??
      usage?.billed_units?.input_tokens;
    if (typeof input !== "number") continue;
    const cached: number = (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0);
    most = Math.max(most ?? 0, input + cached);
  }
  return most;
}

/** Other media, files and searches, whose tokens would hide those of the images. */
const MORE_THAN_IMAGES = /"type":"(file|document|input_file)"|application\/pdf|"(audio|video)\/|"file_id"/;

/** What would be held for the request's text and images, and what was counted. */
function compared(recording: Recording) {
  const { request, response, model: name, path } = recording;
  const images: Image[] = [];
  const rest = withoutImages(request.body, images);
  const recorded = response.status === 200 ? recordedInput(recording) : undefined;
  if (images.length === 0 || recorded === undefined) return [];
  const { tools, ...text } = rest;
  if (MORE_THAN_IMAGES.test(JSON.stringify(text))) return [];
  // Tools as chat completions would have them, and all else as one text: the bound counts bytes in either.
  const body = {
    model: "v/m",
    ...(tools === undefined
      ? {}
      : { tools: [{ type: "function", function: { name: "t", description: JSON.stringify(tools) } }] }),
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: JSON.stringify(text) },
          ...images.map((image) => ({ type: "image_url", image_url: image })),
        ],
      },
    ],
  };
  const { demand } = readRequest(wireRequest(body));
  const facts = FAMILIES.find(([pattern]) => pattern.test(name.replace(/^.*\//, "")))?.[1] ?? {};
  const media = mediaTokens(modelOf(facts), demand);
  return [
    {
      path,
      recorded,
      ceiling: demand.textTokens.ceiling + media.ceiling,
      expected: demand.textTokens.expected + media.expected,
      isSized: demand.images.every(({ size }) => size !== undefined) && facts.image_tokens !== undefined,
    },
  ];
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number;
}

describe.if(isAvailable)("requests with images beside recorded usage", () => {
  test("the hold covers what the provider counted, in every one", () => {
    const all = FOLDERS.flatMap((folder) => loadRecordings(folder))
      .filter(({ fidelity }) => !/authored|mock|documented|edited/.test(fidelity))
      .flatMap(compared);
    const line = (rows: typeof all): string => {
      const bound = rows.map(({ ceiling, recorded }) => ceiling / recorded);
      const guess = rows.map(({ expected, recorded }) => expected / recorded);
      return `${rows.length} recordings, ceiling/recorded median ${median(bound).toFixed(2)}, least ${Math.min(...bound).toFixed(2)}, expected/recorded median ${median(guess).toFixed(2)}`;
    };
    console.log(`images by formula: ${line(all.filter(({ isSized }) => isSized))}`);
    console.log(`images by ceiling: ${line(all.filter(({ isSized }) => !isSized))}`);
    expect(all.length).toBeGreaterThan(30);
    expect(all.filter(({ isSized }) => isSized).length).toBeGreaterThan(8);
    expect(all.filter(({ ceiling, recorded }) => ceiling < recorded)).toEqual([]);
  });
});
