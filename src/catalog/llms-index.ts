import { CATEGORIES, type Category, type Model } from "../core/model.ts";
import { pageUrl } from "./catalog.ts";
import { errorTable } from "./error-words.ts";
import { EMBEDDINGS_PATH } from "./examples/embeddings.ts";
import { FORMATS } from "./formats.ts";
import { MEDIA_WORDS } from "./media-words.ts";

/** Categories as people know them. */
const CATEGORY_WORDS: Readonly<Record<Category, string>> = {
  language: "Text models",
  image: "Image models",
  video: "Video models",
  audio: "Audio models",
  embedding: "Embedding models",
};

/** What the service is and where its pages are, as an llms.txt; `origin` has no slash at the end. */
export function servicePage(models: readonly Model[], origin: string): string {
  const formats = Object.entries(FORMATS).map(
    ([id, { name, paths, sdkPackage, sdkOptions }]) =>
      `| ${name} (\`${id}\`) | \`POST ${origin}${paths("{model}")[0]?.replace("%7Bmodel%7D", "{model}")}\` | \`${sdkPackage}\`: \`${sdkOptions(origin)}\` |`,
  );
  const media = (["image", "video"] as const)
    .filter((kind) => models.some(({ category }) => category === kind))
    .map((kind) => MEDIA_WORDS[kind])
    .map(
      ({ name, path, sdk }) =>
        `| ${name} | \`POST ${origin}${path}\` | ${sdk === undefined ? "" : `\`openai\`: \`baseURL: "${origin}/api/v1"\``} |`,
    );
  const embeddings = models.some(({ category }) => category === "embedding")
    ? [`| Embeddings | \`POST ${origin}${EMBEDDINGS_PATH}\` | \`openai\`: \`baseURL: "${origin}/api/v1"\` |`]
    : [];
  const lists = CATEGORIES.flatMap((category) => {
    const found = models.filter((model) => model.category === category);
    if (found.length === 0) return [];
    return [`## ${CATEGORY_WORDS[category]}`, found.map((model) => modelLine(model, origin)).join("\n")];
  });
  return `${[
    "# Switchyard",
    "> A model gateway: one HTTP API in front of many providers' models, with API keys, prepaid credits and an exact bill. Every language model answers in every format below, so that the official SDKs work with another base address and no other change; images and videos are made as tasks, and texts get embeddings.",
    "Choose a model below, read its page (it is complete: parameters, limits, prices, examples, errors), and call it.",
    "## How to call it",
    ["| Format | Endpoint | Official SDK |", "|---|---|---|", ...formats, ...media, ...embeddings].join("\n"),
    [
      "- The API key (`sk-…`) goes into `Authorization: Bearer <key>`, `x-api-key` or `x-goog-api-key`; never into the URL. Whoever runs this service issues keys.",
      "- Each language model says by `formats` how it is served in each: `relay`, in its provider's own format, or `translation`. `supported_protocols` are those that its page tells whole. A model's name is its id, `<vendor>/<model-name>`; what its vendor calls it works too.",
      "- Every answer has its cost in `credit`; 1 USD is 10,000 credits. The most that a request can cost is held while it runs, and refused with 402 when the balance does not cover it.",
      `- \`POST ${origin}/api/v1/messages/count_tokens\` and \`POST ${origin}/api/v1/models/{model}:countTokens\` count the input tokens of a request, free, for every language model.`,
      "- What is left out or changed on the way to a model is named in the answer's `warning` header. Every answer has an `x-request-id`.",
    ].join("\n"),
    ...(lists.length === 0 ? ["## Models", "None is served now: no provider has a credential."] : lists),
    "## The catalogue as data",
    [
      `- \`GET ${origin}/api/v1/models\`: the models that the key may use, with limits, formats and \`parameter_schema\``,
      `- \`GET ${origin}/api/v1/models/{model}?category=language\`: one of them; \`category\` is needed only where an id stands in several, and is \`language\` otherwise`,
      `- [OpenAPI](${origin}/openapi.json): every endpoint`,
    ].join("\n"),
    "## Limits",
    "A request's body is at most 32 MiB. A key can have limits of its own; beyond them the answer is 429 with `Retry-After`. The model's limits are on its page.",
    "## Errors",
    errorTable("image"),
    'Every error has the body `{"error":{"message":"…","type":"…"}}`, with what the format\'s clients read besides.',
  ].join("\n\n")}\n`;
}

function modelLine(model: Model, origin: string): string {
  const formats = model.supportedProtocols.map((id) => FORMATS[id].name).join(", ");
  const about = [model.summary, formats].filter((text) => text !== "").join(" · ");
  return `- [${model.displayName}](${pageUrl(model, origin)}): \`${model.id}\`${about === "" ? "" : ` · ${about}`}`;
}
