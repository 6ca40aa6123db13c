import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { TSchema } from "typebox";
import { isIgnored, MEDIA_ENDPOINTS, parameterSchema, parametersOf } from "../../src/catalog/parameters.ts";
import { IMAGE_TABLE } from "../../src/catalog/parameter-tables/images.ts";
import { fieldsOf } from "../../src/catalog/parameter-tables/media-table.ts";
import { VIDEO_TABLE } from "../../src/catalog/parameter-tables/videos.ts";
import { compileSchema } from "../../src/core/schema.ts";
import type { TaskAdmission } from "../../src/gateway/media/admit/admit.ts";
import type { MediaModel } from "../../src/gateway/media/admit/model.ts";
import {
  askImage,
  askVideo,
  imageBody,
  LINK,
  mediaModels,
  refusalOf,
  videoBody,
} from "../gateway/media-offer.ts";
import { runsOf } from "../runs.ts";

// What is documented of images and videos is what is taken: the schema of a model's parameters against its admission,
// in both ways.

const RUNS = runsOf(200, 5_000);

const TABLES = { image: IMAGE_TABLE, video: VIDEO_TABLE } as const;

/** The rows of the interface's tables. */
const ROWS = {
  image: `model prompt async timeout size n seed image image_size aspect_ratio response_format niji sref chaos weird
    quality stylize version mask background output_format`,
  video: `model prompt timeout seed duration shot_type resolution aspect_ratio frame_images negative_prompt
    enable_prompt_expansion input_references reference_audios reference_videos`,
} as const;

for (const kind of ["image", "video"] as const) {
  test(`every row of the interface's table of ${kind}s is a field, and no other`, () =>
    expect(Object.keys(fieldsOf(TABLES[kind])).sort()).toEqual(ROWS[kind].split(/\s+/).sort()));
}

/** Fields whose words are media: only links and what is no text at all are tried. */
const MEDIA: ReadonlySet<string> = new Set([
  "image",
  "mask",
  "sref",
  "frame_images",
  "input_references",
  "reference_audios",
  "reference_videos",
]);

/** What must stand beside a field, so that nothing but its own value is judged. */
const BESIDE: Readonly<Record<string, object>> = {
  // Several shots may need the prompt expanded, which is then done with a warning.
  shot_type: { enable_prompt_expansion: true },
};

const link = fc.constantFrom(LINK, "http://files.example/b", "https://x.example/c?d=1");
const frame = fc.oneof(
  link,
  fc.record({ image_url: link }),
  fc.record({ image_url: link, frame_type: fc.constant("first_frame") }),
  fc.record({ image_url: link, frame_type: fc.constant("sideways") }),
  fc.record({ url: link }),
);

/** That two frames have one place no schema says; what becomes of it is tried with admission. */
function hasOneFirst(frames: readonly unknown[]): boolean {
  return frames.filter((one) => JSON.stringify(one).includes("first_frame")).length < 2;
}

/** Values at and beyond every bound, in every spelling, and of every wrong type. */
function valuesOf(name: string, words: readonly string[]): fc.Arbitrary<unknown> {
  const numbers = fc.oneof(
    fc.constantFrom(-2, -1, 0, 0.5, 1, 1.5, 2, 4, 5, 6, 7, 10, 15, 29, 30, 59, 60, 100, 101, 1_000, 1_001),
    fc.constantFrom(1_800, 1_801, 3_000, 3_001, 3_600, 3_601, 2_147_483_647, 2_147_483_648, 1e300),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
  );
  const wrong = fc.constantFrom<unknown>(true, false, {}, { a: 1 }, [[]], [1], [""], [{}], "");
  if (name === "frame_images")
    return fc.oneof(fc.array(frame, { maxLength: 3 }).filter(hasOneFirst), numbers, wrong);
  if (MEDIA.has(name)) return fc.oneof(link, fc.array(link, { maxLength: 20 }), numbers, wrong);
  if (name === "prompt" || name === "negative_prompt") {
    const text = fc.constantFrom("a", "é", "🦊", "a fox", "x".repeat(500));
    const many = fc.constantFrom(499, 500, 501, 800, 801, 1_024, 1_025, 1_500, 1_501, 10_001, 32_001);
    const long = fc.tuple(fc.constantFrom("a", "🦊"), many).map(([letter, count]) => letter.repeat(count));
    return fc.oneof(text, long, numbers, wrong);
  }
  const spelled = fc
    .constantFrom("x", ...words)
    .chain((word) =>
      fc.constantFrom(word, word.replace("*", "x"), Number(word), word.toUpperCase(), ` ${word}`),
    )
    .filter((word) => typeof word === "string" || Number.isFinite(word));
  return fc.oneof({ weight: 3, arbitrary: spelled }, numbers, wrong, fc.array(link, { maxLength: 2 }));
}

/** Whether a value is another spelling of the default. */
function spells(name: string, value: unknown, otherwise: unknown): boolean {
  if (name === "size" && typeof value === "string") return value.replace("x", "*") === otherwise;
  const isNumbered = ["version", "niji", "quality"].includes(name) && typeof value === "number";
  return isNumbered && String(value) === otherwise;
}

function ask({ category, id }: MediaModel, more: object): TaskAdmission {
  return category === "image" ? askImage(imageBody(id, more)) : askVideo(videoBody(id, more));
}

describe("what is documented is what is taken", () => {
  for (const model of mediaModels) {
    const kind = model.category === "image" ? "image" : "video";
    const endpoint = MEDIA_ENDPOINTS[kind];
    const documented = compileSchema(parameterSchema(model) as TSchema);
    const body = kind === "image" ? imageBody : videoBody;
    const fields = fieldsOf(TABLES[kind]);
    const words = (name: string): readonly string[] => (fields[name]?.enum as readonly string[]) ?? [];

    test(`${model.uniqueId}: the good request is documented as good, and without what it needs as bad`, () => {
      const good = body(model.id);
      expect(documented.accepts(good)).toBe(true);
      for (const name of Object.keys(good)) {
        const { [name]: _, ...rest } = good as Record<string, unknown>;
        expect(documented.accepts(rest), name).toBe(false);
      }
    });

    for (const { name } of parametersOf(model, endpoint)) {
      if (name === "model") continue;
      if (isIgnored(model, endpoint, name)) {
        test(`${model.uniqueId}: ${name}, which it does not take`, () => {
          expect(parameterSchema(model)).not.toHaveProperty(["properties", name]);
          expect(parameterSchema(model)["x-ignored"]).toContain(name);
          const otherwise = fields[name]?.default;
          fc.assert(
            fc.property(valuesOf(name, words(name)), (value) => {
              const refused = refusalOf(() => ask(model, { [name]: value }));
              const isNone = Array.isArray(value) && value.length === 0 && fields[name]?.type === "array";
              const saysNothing = isNone || value === otherwise || spells(name, value, otherwise);
              if (saysNothing) expect(refused).toBeUndefined();
              else if (kind === "image") expect(refused?.param?.split(/[.[]/)[0]).toBe(name);
              else if (refused === undefined && value !== "") {
                const { request, warnings } = ask(model, { [name]: value });
                expect(warnings.join("; ")).toStartWith(`${name} was `);
                expect(warnings.length).toBe(1);
                if (name !== "enable_prompt_expansion")
                  expect(request.prompt.length).toBeGreaterThan("A red fox runs".length);
              }
            }),
            RUNS,
          );
        });
        continue;
      }
      test(`${model.uniqueId}: ${name}, which it takes`, () => {
        const beside =
          name === "reference_audios" && model.media.audioBesideReferences === "must"
            ? { input_references: [LINK] }
            : (BESIDE[name] ?? {});
        fc.assert(
          fc.property(valuesOf(name, words(name)), (value) => {
            const more = { ...beside, [name]: value };
            const good = documented.accepts(body(model.id, more));
            const refused = refusalOf(() => ask(model, more));
            if (refused !== undefined) expect(refused.param?.split(/[.[]/)[0]).toBe(name);
            const isTaken = refused === undefined && ask(model, more).warnings.length === 0;
            expect([value, isTaken]).toEqual([value, good]);
          }),
          RUNS,
        );
      });
    }
  }
});
