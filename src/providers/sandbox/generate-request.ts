import type { JsonObject } from "../../core/json-value.ts";
import { readSpelling } from "../../protocols/generate-content/spelling.ts";
import { type Ask, readImageShape, Refusal, type ToolWish } from "./ask.ts";
import type { AskContext } from "./format.ts";
import { inputTokensOf } from "./input-tokens.ts";
import { numberOf, objectOf, objectsOf, textOf, textsOf } from "./members.ts";

/** Reads a request of generateContent. Throws a 400 for a thought signature that is missing, not ours or changed. */
export function readGenerateAsk(received: JsonObject, context: AskContext): Ask {
  const { model, digest } = context;
  const body = readSpelling(received);
  const contents = objectsOf(body.contents);
  checkSignatures(contents, context);
  const config = objectOf(body.generationConfig);
  const asking = contents.findLast((turn) => turn.role !== "model" && partsText(turn) !== "");
  const results = partsOf(contents.at(-1)).filter((part) => part.functionResponse !== undefined);
  const choice = readChoice(objectOf(objectOf(body.toolConfig).functionCallingConfig));
  const tools = objectsOf(body.tools)
    .flatMap((tool) => objectsOf(tool.functionDeclarations))
    .map((declared) => ({
      name: textOf(declared.name),
      schema: declared.parametersJsonSchema ?? declared.parameters ?? {},
    }));
  const schema = config.responseJsonSchema ?? config.responseSchema;
  const form =
    config.responseMimeType === "application/json" || schema !== undefined ? objectOf(schema) : undefined;
  const maxTokens = numberOf(config.maxOutputTokens);
  const { aspectRatio, imageSize } = objectOf(config.imageConfig);
  return {
    model: model.id,
    vendor: model.vendor,
    digest,
    seed: numberOf(config.seed)?.toString() ?? digest,
    userText: partsText(asking),
    ...(results.length === 0
      ? {}
      : {
          toolResults: results.map((part) => JSON.stringify(objectOf(part.functionResponse).response ?? {})),
        }),
    tools: choice.among.length === 0 ? tools : tools.filter(({ name }) => choice.among.includes(name)),
    toolChoice: choice.wish,
    parallelCalls: true,
    ...(form === undefined ? {} : { form }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    stop: textsOf(config.stopSequences ?? []),
    choices: numberOf(config.candidateCount) ?? 1,
    thinking: readThinking(objectOf(config.thinkingConfig)),
    image: readImage(config, context),
    ...readImageShape(aspectRatio, imageSize),
    images: partsOf(asking).flatMap(imageIn),
    inputTokens: inputTokensOf(
      model,
      body.systemInstruction === undefined ? contents : [body.systemInstruction, ...contents],
      [body.tools, schema],
    ),
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
  readonly among: readonly string[];
} {
  const among = textsOf(allowedFunctionNames ?? []);
  const [only, ...others] = among;
  const word = textOf(mode).toUpperCase();
  if (word === "NONE") return { wish: "none", among: [] };
  if (word !== "ANY") return { wish: "auto", among: word === "VALIDATED" ? among : [] };
  return { wish: only !== undefined && others.length === 0 ? { name: only } : "any", among };
}

/** Source: https://ai.google.dev/gemini-api/docs/thought-signatures */
function checkSignatures(contents: readonly JsonObject[], { model, seal }: AskContext): void {
  const current = contents.findLastIndex(
    (turn) =>
      turn.role !== "model" && partsOf(turn).some(({ functionResponse }) => functionResponse === undefined),
  );
  contents.forEach((turn, i) => {
    const parts = partsOf(turn);
    for (const { thoughtSignature: signature } of parts)
      if (typeof signature === "string" && !seal.isToken(signature))
        throw new Refusal(400, "invalid", "Corrupted thought signature.");
    if (turn.role !== "model") return;
    const call = parts.find(({ functionCall }) => functionCall !== undefined);
    if (i > current && call !== undefined && call.thoughtSignature === undefined) {
      const name = textOf(objectOf(call.functionCall).name);
      throw new Refusal(
        400,
        "invalid",
        `Function call \`${name}\` in the \`${i + 1}.\` content block is missing a \`thought_signature\`.`,
      );
    }
    const unsigned = parts.some(
      (part) => part.inlineData !== undefined && part.thoughtSignature === undefined,
    );
    if (unsigned && model.outputModalities.includes("image"))
      throw new Refusal(400, "invalid", "Image part is missing a thought_signature.");
  });
}
