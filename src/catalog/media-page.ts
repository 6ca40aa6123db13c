import type { TaskKind } from "../core/task.ts";
import { errorTable } from "./error-words.ts";
import type { Example, ExampleFacts } from "./examples/example.ts";
import { imageExamples } from "./examples/images.ts";
import { videoExamples } from "./examples/videos.ts";
import { costTable } from "./media-price-words.ts";
import { MEDIA_WORDS, mediaLimits, type MediaPageModel } from "./media-words.ts";
import { bullets, KEY_WORDS, table } from "./page-parts.ts";
import { mediaParameterTable } from "./parameter-words.ts";
import { MEDIA_ENDPOINTS } from "./parameters.ts";
import { conditionNotes, priceTable } from "./price-words.ts";

const EXAMPLES: Readonly<Record<TaskKind, (model: ExampleFacts) => readonly Example[]>> = {
  image: imageExamples,
  video: videoExamples,
};

/** The sections of the page of an image or video model, below its title. */
export function mediaSections(model: MediaPageModel, origin: string): readonly string[] {
  return [
    ...where(model, origin),
    "## Limits",
    table(["What", "How much"], mediaLimits(model)),
    ...prices(model),
    ...parameters(model),
    ...tasks(model),
    "## What to know",
    bullets([...model.notes, ...MEDIA_WORDS[model.category].notes(model)]),
    ...examples(model, origin),
    "## Errors",
    errorTable(model.category),
    'The body of an error: `{"error":{"message":"…","type":"…","param":"… or null","code":"…"}}`',
  ];
}

function where({ category }: MediaPageModel, origin: string): readonly string[] {
  const { path, makes, sdk } = MEDIA_WORDS[category];
  const calls = [
    `\`POST ${origin}${path}\` ${makes}`,
    `\`GET ${origin}${path}/{id}\` reads a task`,
    `\`POST ${origin}${path}/{id}/cancel\` cancels a task that has not begun`,
    ...(sdk === undefined ? [] : [sdk(origin)]),
  ];
  return ["## Where", bullets(calls), `${KEY_WORDS} ${origin}/llms.txt`];
}

function parameters(model: MediaPageModel): readonly string[] {
  const { taken, ignored } = mediaParameterTable(model, MEDIA_ENDPOINTS[model.category]);
  return [
    "## Parameters",
    taken,
    ...(ignored === "" ? [] : [`${MEDIA_WORDS[model.category].ignored} ${ignored}.`]),
  ];
}

function prices(model: MediaPageModel): readonly string[] {
  const notes = [
    ...conditionNotes(model.prices),
    "1 USD is 10,000 credits. `credit` in the answer is what the request cost, to the sixth decimal, as it is booked. The most it can cost is held until it has ended; what is not delivered costs nothing, and neither does a task that failed or was cancelled.",
  ];
  return ["## Prices", priceTable(model.prices), ...costTable(model), bullets(notes)];
}

const STATES = [
  ["`pending`", "It waits. Only now can it be cancelled"],
  ["`running`", "It is made"],
  ["`completed`", "The result is there"],
  ["`failed`", "There will be none; `error` says why. It costs nothing"],
  ["`cancelled`", "It was cancelled before it had begun. It costs nothing"],
];

function tasks({ category }: MediaPageModel): readonly string[] {
  return [
    "## Tasks",
    MEDIA_WORDS[category].task,
    table(["`status`", "What it means"], STATES),
    bullets(MEDIA_WORDS[category].taskNotes),
  ];
}

function examples(model: MediaPageModel, origin: string): readonly string[] {
  const packages = model.category === "image" ? " after `npm install openai`" : "";
  return [
    "## Examples",
    `Each runs as it stands once \`BASE_URL\` (here \`${origin}\`) and \`API_KEY\` are in its environment; the JavaScript ones as modules (\`example.mjs\`)${packages}. In what they print, \`…\` is text that varies and \`N\` a number.`,
    ...EXAMPLES[model.category](model).flatMap(({ title, language, code, prints }) => [
      `### ${title}`,
      `\`\`\`${language}\n${code}\n\`\`\``,
      `Prints:\n\n\`\`\`text\n${prints}\n\`\`\``,
    ]),
  ];
}
