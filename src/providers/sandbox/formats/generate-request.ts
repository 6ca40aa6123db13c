import { type JsonObject, objectsIn } from "../../../core/json/json-value.ts";
import { readSpelling } from "../../../protocols/generate-content/spelling.ts";
import { type AskContext, type Ask, completeAsk, joined, type ToolWish } from "./ask.ts";
import { checkGenerate, partsOf } from "./generate-rules.ts";
import { numberOf, objectOf, textOf, textsOf } from "../members.ts";

/** Reads a request of generateContent. Throws a 400 for what Google refuses, signatures that are not ours among it. */
export function readGenerateAsk(received: JsonObject, context: AskContext): Ask {
  const body = readSpelling(received);
  checkGenerate({ ...context, body, received });
  const contents = objectsIn(body.contents);
  const { systemInstruction: system } = body;
  const config = objectOf(body.generationConfig);
  const asking = contents.findLast((turn) => turn.role !== "model" && partsText(turn) !== "");
  const responses = contents.map((turn) =>
    objectsIn(partsOf(turn).map(({ functionResponse }) => functionResponse)),
  );
  const other = responses.findLastIndex((ofTurn) => ofTurn.length === 0);
  const results = responses.slice(other + 1).flat();
  const { wish, among } = readChoice(objectOf(objectOf(body.toolConfig).functionCallingConfig));
  const schema = config.responseJsonSchema ?? config.responseSchema;
  const { aspectRatio, imageSize } = objectOf(config.imageConfig);
  return completeAsk(
    {
      seed: config.seed,
      turns: system === undefined ? contents : [system, ...contents],
      schemas: [body.tools, schema],
      texts: [partsText(asking), partsText(objectOf(system))],
      schema,
      isJson: config.responseMimeType === "application/json",
      tooLong: (tokens, most) =>
        `The input token count (${tokens}) exceeds the maximum number of tokens allowed (${most}).`,
      toolResults: results.map(({ response }) => JSON.stringify(response ?? {})),
      tools: objectsIn(body.tools)
        .flatMap((tool) => objectsIn(tool.functionDeclarations))
        .map(({ name, parametersJsonSchema, parameters }) => ({
          name: textOf(name),
          schema: parametersJsonSchema ?? parameters ?? {},
        }))
        .filter(({ name }) => among.size === 0 || among.has(name)),
      toolChoice: wish,
      maxTokens: numberOf(config.maxOutputTokens),
      stop: textsOf(config.stopSequences),
      choices: numberOf(config.candidateCount) ?? 1,
      thinking: readThinking(objectOf(config.thinkingConfig)),
      image: readImage(config, context),
      aspectRatio,
      imageSize,
      images: partsOf(asking).flatMap(imageIn),
    },
    context,
  );
}

function partsText(turn: JsonObject | undefined): string {
  return joined(partsOf(turn).map(({ text }) => text));
}

/** The image that a part holds or names, if it does. */
function imageIn({ inlineData, fileData }: JsonObject): readonly string[] {
  const [inline, file] = [objectOf(inlineData), objectOf(fileData)];
  const isImage = ({ mimeType }: JsonObject): boolean => textOf(mimeType).startsWith("image/");
  if (isImage(inline)) return [`data:${textOf(inline.mimeType)};base64,${textOf(inline.data)}`];
  return isImage(file) ? [textOf(file.fileUri)] : [];
}

function readThinking({ includeThoughts, thinkingBudget, thinkingLevel }: JsonObject): Ask["thinking"] {
  if (includeThoughts === true) return "shown";
  const asked = thinkingLevel !== undefined || (numberOf(thinkingBudget) ?? 0) !== 0;
  return asked ? "hidden" : "none";
}

/** A model that puts out images does so unless it is asked for text alone; JSON is text. */
function readImage(config: JsonObject, { model }: AskContext): Ask["image"] {
  const kinds = textsOf(config.responseModalities);
  const asked = kinds.length > 0 ? kinds.includes("IMAGE") : config.responseMimeType === undefined;
  if (!asked || !model.outputModalities.includes("image")) return "none";
  return kinds.length > 0 && !kinds.includes("TEXT") ? "only" : "with_text";
}

/** What is called, and the only tools that may be; none: all may. */
function readChoice({ mode, allowedFunctionNames }: JsonObject): {
  readonly wish: ToolWish;
  readonly among: ReadonlySet<string>;
} {
  const among = new Set(textsOf(allowedFunctionNames));
  const [only, ...others] = among;
  const word = textOf(mode).toUpperCase();
  if (word === "ANY")
    return { wish: only !== undefined && others.length === 0 ? { name: only } : "any", among };
  if (word === "VALIDATED") return { wish: "auto", among };
  return { wish: word === "NONE" ? "none" : "auto", among: new Set() };
}
