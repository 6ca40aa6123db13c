import type { EmbeddingFacts, Model } from "../core/model.ts";
import { errorTable } from "./error-words.ts";
import { EMBEDDINGS_PATH, embeddingExamples } from "./examples/embeddings.ts";
import { bullets, KEY_WORDS, table } from "./page-parts.ts";
import { parameterTable } from "./parameter-words.ts";
import { conditionNotes, grouped, priceTable } from "./price-words.ts";

/** An embedding model, as its page needs it. */
export type EmbeddingPageModel = Model & { readonly embedding: EmbeddingFacts };

/** The sections of the page of an embedding model, below its title. */
export function embeddingSections(model: EmbeddingPageModel, origin: string): readonly string[] {
  return [
    "## Where",
    bullets([
      `\`POST ${origin}${EMBEDDINGS_PATH}\` answers with a vector for each text`,
      `official SDK \`openai\`: \`baseURL: "${origin}/api/v1"\``,
    ]),
    `${KEY_WORDS} ${origin}/llms.txt`,
    "## Limits",
    table(["What", "How much"], limits(model)),
    "## Prices",
    priceTable(model.prices),
    bullets([...conditionNotes(model.prices), CREDIT]),
    "## Parameters",
    parameterTable(model, "embeddings"),
    "## What to know",
    bullets([...model.notes, ...notes(model)]),
    "## Examples",
    `Each runs as it stands once \`BASE_URL\` (here \`${origin}\`) and \`API_KEY\` are in its environment; the JavaScript ones as modules (\`example.mjs\`) after \`npm install openai\`. In what they print, \`…\` is text that varies and \`N\` a number.`,
    ...embeddingExamples(model).flatMap(({ title, language, code, prints }) => [
      `### ${title}`,
      `\`\`\`${language}\n${code}\n\`\`\``,
      `Prints:\n\n\`\`\`text\n${prints}\n\`\`\``,
    ]),
    "## Errors",
    errorTable("embedding"),
    'The body of an error: `{"error":{"message":"…","type":"…","param":"… or null","code":"…"}}`',
  ];
}

const CREDIT =
  "1 USD is 10,000 credits. `credit` in the answer is what the request cost, to the sixth decimal, as it is booked. Only input is charged, once for all texts of a request. The most it can cost is held before it is sent on; a failed request costs nothing.";

function limits({ totalContext, embedding }: EmbeddingPageModel): readonly (readonly string[])[] {
  const { dimensions, otherDimensions, mostTexts, mostTokens } = embedding;
  const shown = (count: number): string => grouped(String(count));
  const others =
    otherDimensions === undefined
      ? "; no other length can be asked for"
      : "from" in otherDimensions
        ? `; ${shown(otherDimensions.from)} to ${shown(otherDimensions.to)} with \`dimensions\``
        : `; ${otherDimensions.map(shown).join(", ")} with \`dimensions\``;
  return [
    ["A vector", `${shown(dimensions)} numbers${others}`],
    ["A text", totalContext === null ? "not known" : `${shown(totalContext)} tokens`],
    ["Texts of a request", `${shown(mostTexts)} at most`],
    ...(mostTokens === undefined ? [] : [["All texts of a request", `${shown(mostTokens)} tokens`]]),
    ["Body of a request", "32 MiB"],
  ];
}

function notes({ id, embedding }: EmbeddingPageModel): readonly string[] {
  return [
    `Vectors of different models, or of different lengths, cannot be compared. Always ask for \`${id}\` by its id.`,
    "The answer has exactly the encoding that was asked for; `float` where nothing was. The SDK asks for `base64` by itself, and decodes it.",
    embedding.readsTokens
      ? "Lists of tokens are OpenAI's, and are taken while OpenAI itself serves the model."
      : "Lists of tokens are not taken: LangChain sends text with `check_embedding_ctx_length=False`.",
    "What is left out or changed on the way to the model is named in the answer's `warning` header.",
  ];
}
