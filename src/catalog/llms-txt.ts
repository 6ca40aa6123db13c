import { creditsText } from "../core/money/credits.ts";
import { type Model, type ProtocolId, PROTOCOLS } from "../core/model.ts";
import { costOf, type PriceSnapshot } from "../core/money/price.ts";
import { NO_USAGE } from "../core/money/usage.ts";
import { errorTable } from "./error-words.ts";
import { type EmbeddingPageModel, embeddingSections } from "./embedding-page.ts";
import { type Example, languageExamples } from "./examples/example.ts";
import { type Format, FORMATS } from "./formats.ts";
import { mediaSections } from "./media-page.ts";
import type { MediaPageModel } from "./media-words.ts";
import { bullets, KEY_WORDS } from "./page-parts.ts";
import { parameterTable } from "./parameter-words.ts";
import { grouped, priceNotes, priceTable } from "./price-words.ts";

/** All that is needed to use a model, as Markdown; `origin` is where the service is, without a slash at the end. */
export function modelPage(model: Model, origin: string): string {
  return `${[
    `# ${model.displayName}`,
    `> \`${model.id}\`${model.summary === "" ? "" : `: ${model.summary}`}`,
    ...sections(model, origin),
  ].join("\n\n")}\n`;
}

function sections(model: Model, origin: string): readonly string[] {
  if (isMediaPageModel(model)) return mediaSections(model, origin);
  if (isEmbeddingPageModel(model)) return embeddingSections(model, origin);
  return languageSections(model, origin);
}

function isEmbeddingPageModel(model: Model): model is EmbeddingPageModel {
  return model.embedding !== undefined;
}

function isMediaPageModel(model: Model): model is MediaPageModel {
  return model.media !== undefined && (model.category === "image" || model.category === "video");
}

function languageSections(model: Model, origin: string): readonly string[] {
  const formats = model.supportedProtocols.map((id) => ({ id, format: FORMATS[id] }));
  return [
    ...where(model, formats, origin),
    ...limits(model),
    ...prices(model),
    ...formats.flatMap(({ id, format }) => parameters(model, id, format)),
    ...quirks(model, formats),
    ...examples(model, formats, origin),
    ...errors(formats),
  ];
}

interface Served {
  readonly id: ProtocolId;
  readonly format: Format;
}

function where(model: Model, formats: readonly Served[], origin: string): readonly string[] {
  const places = formats.map(({ id, format: { name, paths, sdkPackage, sdkOptions } }) =>
    [
      `- ${name} (\`${id}\`)`,
      ...paths(model.id).map((path) => `  - \`POST ${origin}${path}\``),
      `  - official SDK \`${sdkPackage}\`: \`${sdkOptions(origin)}\``,
    ].join("\n"),
  );
  const further = PROTOCOLS.filter((id) => model.formats[id] !== undefined)
    .filter((id) => !formats.some((served) => served.id === id))
    .map((id) => `${FORMATS[id].name} at \`POST ${origin}${FORMATS[id].paths(model.id)[0]}\``);
  return [
    "## Where",
    ...(places.length === 0 ? [] : [places.join("\n")]),
    ...(further.length === 0 ? [] : [`${further.join("; ")}: ${FURTHER}`]),
    `${KEY_WORDS} ${origin}/llms.txt`,
  ];
}

const FURTHER =
  "it answers there, too. What such a request says and this model cannot be told is left out with a `warning` header, or is a 400 that names the field.";

/** Media of which nobody knows beforehand what they come to. */
const HELD_WHOLE = [
  ["pdf", "A document"],
  ["audio", "Audio"],
  ["video", "A video"],
] as const;

function limits(model: Model): readonly string[] {
  const tokens = (count: number | null): string =>
    count === null ? "not known" : `${grouped(String(count))} tokens`;
  const rows = [
    `| Takes | ${model.inputModalities.join(", ")} |`,
    `| Gives | ${model.outputModalities.join(", ")} |`,
    `| Context, input and output together | ${tokens(model.totalContext)} |`,
    `| Output, reasoning included | ${tokens(model.maxOutput)} |`,
    "| Body of a request | 32 MiB |",
    ...(model.inputModalities.includes("image")
      ? [
          `| An image | ${tokens(model.mediaTokenCeiling.image ?? null)} at most; that is what is held for a link |`,
        ]
      : []),
    ...HELD_WHOLE.flatMap(([kind, name]) => {
      const most = model.inputModalities.includes(kind) ? model.mediaTokenCeiling[kind] : undefined;
      return most === undefined
        ? []
        : [`| ${name} | held at ${tokens(most)}, whatever its length; charged for what it comes to |`];
    }),
  ];
  return ["## Limits", ["| What | How much |", "|---|---|", ...rows].join("\n")];
}

function prices(model: Model): readonly string[] {
  const notes = [
    ...priceNotes(model.prices, model.inputModalities),
    ...(model.category === "language" ? [workedPrice(model)] : []),
    "1 USD is 10,000 credits. `credit` in the answer is what the request cost, to the sixth decimal, as it is booked. The most it can cost is held before it is sent on; a failed request without output costs nothing.",
  ];
  return ["## Prices", priceTable(model.prices), bullets(notes)];
}

/** What a request costs by the rows that have no condition. */
function workedPrice({ prices: rules, priceVersion }: Model): string {
  const plain: PriceSnapshot = {
    version: priceVersion,
    prices: Object.fromEntries(Object.entries(rules).map(([bucket, list]) => [bucket, list.slice(-1)])),
    pricedAtMs: 0,
  };
  const cost = costOf({ ...NO_USAGE, input: 1_000, output: 500 }, plain);
  const ruled = Object.values(rules).some((list) => list.length > 1);
  return `So 1,000 tokens of input and 500 of output cost ${creditsText(cost)} credits${ruled ? ' by the rows "otherwise"' : ""}.`;
}

function parameters(model: Model, id: ProtocolId, format: Format): readonly string[] {
  const parts = model.inputModalities.flatMap((kind) => {
    const part = FORMATS[id].mediaParts[kind];
    return part === undefined ? [] : [`${kind}: \`${part}\``];
  });
  return [`## Parameters: ${format.name}`, parameterTable(model, id), "Parts of a message:", bullets(parts)];
}

function quirks(model: Model, formats: readonly Served[]): readonly string[] {
  const own = [
    ...model.notes,
    "What is left out or changed on the way to the model is named in the answer's `warning` header.",
  ];
  return [
    "## What to know",
    bullets(own),
    ...formats.flatMap(({ format }) => [`${format.name}:`, bullets(format.notes(model))]),
  ];
}

function examples(model: Model, formats: readonly Served[], origin: string): readonly string[] {
  if (formats.length === 0) return [];
  const packages = formats.map(({ format }) => format.sdkPackage).join(" ");
  return [
    "## Examples",
    `Each runs as it stands once \`BASE_URL\` (here \`${origin}\`) and \`API_KEY\` are in its environment; the JavaScript ones as modules (\`example.mjs\`) after \`npm install ${packages}\`. In what they print, \`…\` is text that varies and \`N\` a number.`,
    ...formats.flatMap(({ format }) =>
      languageExamples(model, format.paths(model.id), format.programs).flatMap((example) =>
        shownExample(format, example),
      ),
    ),
  ];
}

function shownExample(format: Format, { title, language, code, prints }: Example): readonly string[] {
  return [
    `### ${format.name}: ${title.slice(0, 1).toLowerCase()}${title.slice(1)}`,
    `\`\`\`${language}\n${code}\n\`\`\``,
    `Prints:\n\n\`\`\`text\n${prints}\n\`\`\``,
  ];
}

function errors(formats: readonly Served[]): readonly string[] {
  if (formats.length === 0) return ["## Errors", errorTable("language")];
  const bodies = formats.map(({ format }) => `${format.name}: \`${format.errorBody}\``);
  return ["## Errors", errorTable("language"), "The body of an error:", bullets(bodies)];
}
