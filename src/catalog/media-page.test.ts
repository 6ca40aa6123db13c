import { describe, expect, test } from "bun:test";
import { mediaModels } from "../../test/gateway/media-offer.ts";
import { ERRORS } from "../core/errors.ts";
import { TASK_STATES } from "../core/task.ts";
import { modelPage } from "./llms-txt.ts";
import { parametersOf, isIgnored } from "./parameters.ts";

const ORIGIN = "https://gateway.example";

describe("every page of an image or video model is whole", () => {
  for (const model of mediaModels) {
    const page = modelPage(model, ORIGIN);
    const lines = page.split("\n");
    const endpoint = model.category === "image" ? "images" : "videos";
    const path = model.category === "image" ? "/api/v1/images/generations" : "/api/v1/videos";

    test(`${model.uniqueId}: name, id and sections stand in their order`, () => {
      expect(lines.filter((line) => /^##? /.test(line))).toEqual([
        `# ${model.displayName}`,
        "## Where",
        "## Limits",
        "## Prices",
        "## Parameters",
        "## Tasks",
        "## What to know",
        "## Examples",
        "## Errors",
      ]);
      expect(lines[2]).toBe(`> \`${model.id}\`: ${model.summary}`);
      expect(page).not.toMatch(/undefined|null,|NaN|\[object/);
      for (const call of [
        `POST ${ORIGIN}${path}`,
        `GET ${ORIGIN}${path}/{id}`,
        `POST ${ORIGIN}${path}/{id}/cancel`,
      ])
        expect(page).toContain(`\`${call}\``);
    });

    test(`${model.uniqueId}: a row for each parameter that it takes, and the others by name`, () => {
      const section = lines.slice(lines.indexOf("## Parameters"), lines.indexOf("## Tasks"));
      for (const { name, schema, required } of parametersOf(model, endpoint)) {
        const row = section.find((line) => line.startsWith(`| \`${name}\` |`));
        if (isIgnored(model, endpoint, name)) {
          expect(row, name).toBeUndefined();
          expect(lines.find((line) => line.startsWith("Parameters of other models"))).toContain(
            `\`${name}\``,
          );
          continue;
        }
        expect(row?.split(" | ").length, name).toBe(5);
        if (required === true) expect(row).toContain("| required |");
        else if (schema.default !== undefined)
          expect(row).toContain(`| \`${JSON.stringify(schema.default)}\` |`);
        if (model.media.parameters[name]?.linksOnly === true) {
          expect(row).toContain("link");
          expect(row).not.toMatch(/data URI|base64/);
        }
        for (const value of (schema.enum as readonly string[] | undefined) ?? [])
          expect(row).toContain(`\`${value}\``);
      }
    });

    test(`${model.uniqueId}: numbers of four digits and more are grouped`, () => {
      const section = lines.slice(lines.indexOf("## Limits"), lines.indexOf("## Parameters"));
      const cells = section.flatMap((line) => line.split(" | "));
      expect(cells.filter((cell) => /^\d{4,}(\.\d+)?$/.test(cell))).toEqual([]);
    });

    test(`${model.uniqueId}: states, notes, examples, and every error that can be met`, () => {
      for (const state of TASK_STATES) expect(page).toContain(`| \`${state}\` |`);
      for (const note of model.notes) expect(page).toContain(`- ${note}`);
      expect(page).toContain(`${path}/$id/cancel`);
      const never = [
        "method_not_allowed",
        "unsupported_encoding",
        ...(model.category === "video" ? ["rate_limit_error"] : []),
      ];
      expect(Object.keys(ERRORS).filter((kind) => !page.includes(`| \`${kind}\` |`))).toEqual(never);
    });
  }
});

test("the examples of a page give an image where the model needs one, and do without where it does not", () => {
  const pageOf = (uniqueId: string): string =>
    modelPage(
      mediaModels.find((model) => model.uniqueId === uniqueId)!,
      ORIGIN,
    );
  const codesOf = (page: string): readonly string[] =>
    [...page.matchAll(/^### (.*)\n\n```\w+\n([\s\S]*?)\n```/gm)].map(
      ([, title = "", code = ""]) => `${title}: ${code.includes("data:image/png;base64,")}`,
    );
  const [first, polled, cancelled, ...others] = codesOf(pageOf("image/openai/gpt-image-2/edit"));
  const byCurl = (given: boolean) => [
    `Images, by curl: ${given}`,
    `A task that is polled, by curl: ${given}`,
    `A task that is cancelled before it has begun, by curl: ${given}`,
  ];
  expect([first!, polled!, cancelled!]).toEqual(byCurl(true));
  expect(others.some((title) => title.startsWith("Images as files"))).toBe(false);
  const plain = codesOf(pageOf("image/openai/gpt-image-2"));
  expect(plain.slice(0, 3)).toEqual(byCurl(false));
  expect(plain.some((title) => title.startsWith("Images as files"))).toBe(true);
});

describe("a page says what a request costs, in credits", () => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ["image/alibaba/qwen-image-2.0", ["So an image costs 350 credits."]],
    [
      "image/google/gemini-3-pro-image",
      ["| 1K | 1,120 | 1,344 |", "| 2K | 1,120 | 1,344 |", "| 4K | 2,000 | 2,400 |"],
    ],
    ["image/midjourney/midjourney", ["So a request, whose images are 4, costs 1,000 credits."]],
    ["image/openai/gpt-image-2", ["| 1024*1024 | 58.8 | 526.8 | 2,107.2 | 2,107.2 |"]],
    ["image/openai/gpt-image-2/edit", ["| 2048*2048 | 119.1 | 1,070.4 | 4,281.6 | 4,281.6 |"]],
    [
      "video/alibaba/wan-2.6",
      [
        "| 720p | 5,000 | 10,000 | 15,000 |",
        "| 1080p | 7,500 | 15,000 | 22,500 |",
        "With reference videos, whose seconds are charged too, up to 5 in all, it costs this much:",
        // With references a video is at most ten seconds long.
        "| 720p | 5,000 to 10,000 | 10,000 to 15,000 |\n",
      ],
    ],
    [
      "video/bytedance/seedance-2.0",
      [
        "| 480p | 3,515.4 |",
        "| 720p | 7,560 |",
        "| 1080p | 18,711 |",
        "With reference videos, whose seconds are charged too, up to 15 in all, it costs about this much:",
        "| 720p | 4,644 to 18,576 |",
      ],
    ],
    ["video/bytedance/seedance-2.0-fast", ["| 480p | 2,812.32 |", "| 720p | 6,048 |"]],
  ];
  test.each(cases)("%s", (uniqueId, rows) => {
    const page = modelPage(
      mediaModels.find((model) => model.uniqueId === uniqueId)!,
      ORIGIN,
    );
    expect(rows.filter((row) => !page.includes(row))).toEqual([]);
  });
});
