import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { ERRORS } from "../core/errors.ts";
import { TOKEN_BUCKETS } from "../core/money/price.ts";
import { loadModelFiles, servedIn } from "./catalog.ts";
import { languageExamples } from "./examples/example.ts";
import { FORMATS } from "./formats.ts";
import { modelPage } from "./llms-txt.ts";
import { servicePage } from "./llms-index.ts";
import { isIgnored, parametersOf } from "./parameters.ts";

const ORIGIN = "https://gateway.example";
const all = loadModelFiles(join(import.meta.dir, "../../models"));
const models = all.filter(({ category }) => category === "language");

describe("every language model's page is whole", () => {
  for (const model of models) {
    const page = modelPage(model, ORIGIN);
    const lines = page.split("\n");

    test(`${model.uniqueId}: name, id and sections stand in their order`, () => {
      const headings = lines.filter((line) => /^##? /.test(line));
      expect(headings).toEqual([
        `# ${model.displayName}`,
        "## Where",
        "## Limits",
        "## Prices",
        ...model.supportedProtocols.map((id) => `## Parameters: ${FORMATS[id].name}`),
        "## What to know",
        "## Examples",
        "## Errors",
      ]);
      expect(model.summary).not.toBe("");
      expect(lines[2]).toBe(`> \`${model.id}\`: ${model.summary}`);
      expect(page).not.toMatch(/undefined|null,|NaN|\[object/);
    });

    test(`${model.uniqueId}: a row for each parameter of each format, the ignored ones marked`, () => {
      for (const protocol of model.supportedProtocols) {
        const start = page.indexOf(`## Parameters: ${FORMATS[protocol].name}`);
        const section = page.slice(start, page.indexOf("\n## ", start + 1));
        expect(section).toContain("| Name | Type | Range | Default | What it does |");
        for (const { name, required } of parametersOf(model, protocol)) {
          const row = section.split("\n").find((line) => line.startsWith(`| \`${name}\` |`)) ?? "";
          expect(row.split(" | ").length, `${name} of ${protocol}`).toBe(5);
          expect(row.includes("Ignored by this model")).toBe(isIgnored(model, protocol, name));
          if (required === true) expect(row).toContain("| required |");
          if (name === "model") expect(row).toContain(`| string | \`${model.id}\` | required |`);
        }
      }
    });

    test(`${model.uniqueId}: a row for each price rule`, () => {
      const rules = TOKEN_BUCKETS.flatMap((bucket) => model.prices[bucket] ?? []);
      expect(lines.filter((line) => line.endsWith("| 1M tokens |")).length).toBe(rules.length);
      for (const { price } of rules)
        expect(page).toContain(`| ${Number(price) / 10_000} | ${Number(price).toLocaleString("en")} |`);
    });

    test(`${model.uniqueId}: what is held for media that nobody can measure`, () => {
      for (const [kind, name] of [
        ["pdf", "A document"],
        ["audio", "Audio"],
        ["video", "A video"],
      ] as const) {
        const most = model.inputModalities.includes(kind) ? model.mediaTokenCeiling[kind] : undefined;
        const row = lines.find((line) => line.startsWith(`| ${name} |`));
        if (most === undefined) expect(row).toBeUndefined();
        else expect(row).toContain(`held at ${most.toLocaleString("en")} tokens`);
      }
    });

    test(`${model.uniqueId}: notes, examples and all errors`, () => {
      for (const note of model.notes) expect(page).toContain(`- ${note}`);
      for (const id of model.supportedProtocols) {
        const { name, sdkOptions, paths, programs } = FORMATS[id];
        for (const { title } of languageExamples(model, paths(model.id), programs))
          expect(page).toContain(`### ${name}: ${title.slice(0, 1).toLowerCase()}${title.slice(1)}`);
        expect(page).toContain(sdkOptions(ORIGIN));
      }
      // A provider's 429 is a 503 here.
      expect(lines.find((line) => line.startsWith("| 429 "))).not.toMatch(/provider/);
      // None of them can be met by one who calls a model.
      expect(Object.keys(ERRORS).filter((kind) => !page.includes(`\`${kind}\``))).toEqual([
        "permission_error",
        "method_not_allowed",
        "conflict_error",
        "unsupported_encoding",
      ]);
    });
  }
});

test("a page names the further formats that the model answers in", () => {
  const model = models.find(({ id }) => id === "openai/gpt-5.6-luna")!;
  const formats = { compat_chat_completions: "relay", compat_messages: "translation" } as const;
  const page = modelPage(servedIn(model, formats), ORIGIN);
  expect(page).toContain(`\nMessages at \`POST ${ORIGIN}/api/v1/messages\`: it answers there, too.`);
  expect(page).not.toContain("generateContent");
});

test("a page tells only of the formats that are served now", () => {
  const model = models.find(({ id }) => id === "google/gemini-3-pro-image")!;
  const page = modelPage(servedIn(model, { compat_generate_content: "relay" }), ORIGIN);
  expect(page).not.toMatch(/chat|openai/i);
  expect(page).toContain(`${ORIGIN}/api/v1/models/google%2Fgemini-3-pro-image:generateContent`);
});

test("a page tells where the input of its formats is counted", () => {
  for (const [id, says, other] of [
    ["anthropic/claude-haiku-4.5", "/api/v1/messages/count_tokens", "countTokens"],
    ["google/gemini-3.8-flash", "countTokens", "count_tokens"],
    ["openai/gpt-5.6-luna", "gpt-5.6-luna", "estimate"],
  ] as const) {
    const page = modelPage(
      models.find((model) => model.id === id)!,
      ORIGIN,
    );
    expect([id, page.includes(says), page.includes(other)]).toEqual([id, true, false]);
  }
});

test("the index has every model under its category, with the address of its page", () => {
  const index = servicePage(all, ORIGIN);
  expect(index.split("\n")[0]).toBe("# Switchyard");
  for (const model of all)
    expect(index).toContain(
      `- [${model.displayName}](${ORIGIN}/docs/${model.uniqueId}/llms.txt): \`${model.id}\``,
    );
  for (const title of ["Text", "Image", "Video"]) expect(index).toContain(`## ${title} models`);
  for (const path of [
    "/images/generations",
    "/videos",
    "/messages/count_tokens",
    "/models/{model}:countTokens",
  ])
    expect(index).toContain(`\`POST ${ORIGIN}/api/v1${path}\``);
  expect(servicePage(models, ORIGIN)).not.toMatch(/## Image|## Video|\/images\/|\/videos/);
  expect(servicePage([], ORIGIN)).toContain("None is served now");
});
