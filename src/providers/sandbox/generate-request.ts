import type { JsonObject } from "../../core/json-value.ts";
import { readSpelling } from "../../protocols/generate-content/spelling.ts";
import { type Ask, readImageShape, refuseTooLong, type ToolWish } from "./ask.ts";
import { formOf } from "./form-in-words.ts";
import type { AskContext } from "./format.ts";
import { checkGenerate } from "./generate-rules.ts";
import { inputTokensOf } from "./input-tokens.ts";
import { numberOf, objectOf, objectsOf, textOf, textsOf } from "./members.ts";

/** Reads a request of generateContent. Throws a 400 for what Google refuses, signatures that are not ours among it. */
export function readGenerateAsk(received: JsonObject, context: AskContext): Ask {
  const { model, digest } = context;
  const body = readSpelling(received);
  const contents = objectsOf(body.contents);
  checkGenerate({ ...context, body, received });
  const config = objectOf(body.generationConfig);
  const asking = contents.findLast((turn) => turn.role !== "model" && partsText(turn) !== "");
  const results = contents
    .map((turn) => partsOf(turn).filter((part) => part.functionResponse !== undefined))
    .slice(
      contents.findLastIndex((turn) => partsOf(turn).every((part) => part.functionResponse === undefined)) +
        1,
    )
    .flat();
  const choice = readChoice(objectOf(objectOf(body.toolConfig).functionCallingConfig));
  const tools = objectsOf(body.tools)
    .flatMap((tool) => objectsOf(tool.functionDeclarations))
    .map((declared) => ({
      name: textOf(declared.name),
      schema: declared.parametersJsonSchema ?? declared.parameters ?? {},
    }));
  const schema = config.responseJsonSchema ?? config.responseSchema;
  const inputTokens = inputTokensOf(
    model,
    body.systemInstruction === undefined ? contents : [body.systemInstruction, ...contents],
    [body.tools, schema],
  );
  refuseTooLong(
    model,
    inputTokens,
    (tokens, most) =>
      `The input token count (${tokens}) exceeds the maximum number of tokens allowed (${most}).`,
  );
  const { aspectRatio, imageSize } = objectOf(config.imageConfig);
  return {
    model: model.id,
    vendor: model.vendor,
    digest,
    seed: numberOf(config.seed)?.toString() ?? digest,
    userText: partsText(asking),
    toolResults:
      results.length === 0
        ? undefined
        : results.map((part) => JSON.stringify(objectOf(part.functionResponse).response ?? {})),
    tools: choice.among.size === 0 ? tools : tools.filter(({ name }) => choice.among.has(name)),
    toolChoice: choice.wish,
    parallelCalls: true,
    form: formOf([partsText(asking), partsText(objectOf(body.systemInstruction))], {
      schema,
      isJson: config.responseMimeType === "application/json",
      hasTools: tools.length > 0,
    }),
    maxTokens: numberOf(config.maxOutputTokens),
    stop: textsOf(config.stopSequences ?? []),
    choices: numberOf(config.candidateCount) ?? 1,
    thinking: readThinking(objectOf(config.thinkingConfig)),
    image: readImage(config, context),
    ...readImageShape(aspectRatio, imageSize),
    images: partsOf(asking).flatMap(imageIn),
    inputTokens,
  };
}

function partsOf(turn: JsonObject | undefined): readonly JsonObject[] {
  return objectsOf(turn?.parts);
}

function partsText(turn: JsonObject | undefined): string {
  return partsOf(turn)
    .map(({ text }) => textOf(text))
    .filter((text) => text !== "")
    .join("\n");
}

/** The image that a part holds or names, if it does. */
function imageIn({ inlineData, fileData }: JsonObject): readonly string[] {
  const { mimeType, data } = objectOf(inlineData);
  if (textOf(mimeType).startsWith("image/")) return [`data:${textOf(mimeType)};base64,${textOf(data)}`];
  const { mimeType: fileType, fileUri } = objectOf(fileData);
  return textOf(fileType).startsWith("image/") ? [textOf(fileUri)] : [];
}

function readThinking({ includeThoughts, thinkingBudget, thinkingLevel }: JsonObject): Ask["thinking"] {
  if (includeThoughts === true) return "shown";
  const asked = thinkingLevel !== undefined || (numberOf(thinkingBudget) ?? 0) !== 0;
  return asked ? "hidden" : "none";
}

/** A model that puts out images does so unless it is asked for text alone; JSON is text. */
function readImage(config: JsonObject, { model }: AskContext): Ask["image"] {
  const kinds = textsOf(config.responseModalities ?? []);
  const asked = kinds.length > 0 ? kinds.includes("IMAGE") : config.responseMimeType === undefined;
  if (!asked || !model.outputModalities.includes("image")) return "none";
  return kinds.length > 0 && !kinds.includes("TEXT") ? "only" : "with_text";
}

function readChoice({ mode, allowedFunctionNames }: JsonObject): {
  readonly wish: ToolWish;
  readonly among: ReadonlySet<string>;
} {
  const among = new Set(textsOf(allowedFunctionNames ?? []));
  const [only] = among;
  const word = textOf(mode).toUpperCase();
  if (word === "NONE") return { wish: "none", among: new Set() };
  if (word !== "ANY") return { wish: "auto", among: word === "VALIDATED" ? among : new Set() };
  return { wish: only !== undefined && among.size === 1 ? { name: only } : "any", among };
}
