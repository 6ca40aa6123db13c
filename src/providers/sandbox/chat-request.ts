import type { JsonObject } from "../../core/json-value.ts";
import { type Ask, readImageShape, Refusal, type ToolWish } from "./ask.ts";
import type { AskContext } from "./format.ts";
import { inputTokensOf } from "./input-tokens.ts";
import { numberOf, objectOf, objectsOf, textOf, textsOf } from "./members.ts";

/** Reads a request of chat completions. Throws a 400 for a signature that is not ours or was changed. */
export function readChatAsk(body: JsonObject, context: AskContext): Ask {
  const { model, digest } = context;
  const messages = objectsOf(body.messages);
  messages.forEach((message, i) => checkSignatures(message, `messages.${i}`, context));
  const lastUser = messages.findLast(({ role }) => role === "user");
  const after = messages.slice(messages.findLastIndex(({ role }) => role !== "tool") + 1);
  const choice = readChoice(body.tool_choice);
  const tools = objectsOf(body.tools)
    .map((tool) => objectOf(tool.function))
    .map((called) => ({ name: textOf(called.name), schema: called.parameters ?? {} }));
  const maxTokens = numberOf(body.max_completion_tokens) ?? numberOf(body.max_tokens);
  const form = readForm(objectOf(body.response_format));
  const modalities = textsOf(body.modalities);
  const { aspect_ratio: aspectRatio, image_size: imageSize } = objectOf(body.image_config);
  return {
    model: model.id,
    vendor: model.vendor,
    digest,
    seed: numberOf(body.seed)?.toString() ?? digest,
    userText: contentText(lastUser?.content),
    ...(after.length === 0 ? {} : { toolResults: after.map(({ content }) => contentText(content)) }),
    tools: choice.among === undefined ? tools : tools.filter(({ name }) => choice.among?.includes(name)),
    toolChoice: choice.wish,
    parallelCalls: body.parallel_tool_calls !== false,
    ...(form === undefined ? {} : { form }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    stop: textsOf(body.stop),
    choices: numberOf(body.n) ?? 1,
    thinking: readThinking(body.reasoning),
    image: !modalities.includes("image") ? "none" : modalities.includes("text") ? "with_text" : "only",
    ...readImageShape(aspectRatio, imageSize),
    images: objectsOf(lastUser?.content)
      .map((part) => textOf(objectOf(part.image_url).url))
      .filter((url) => url !== ""),
    inputTokens: inputTokensOf(model, messages, [body.tools, body.response_format]),
  };
}

function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  return objectsOf(content)
    .map(({ text }) => textOf(text))
    .filter((text) => text !== "")
    .join("\n");
}

function readThinking(reasoning: unknown): Ask["thinking"] {
  if (reasoning === undefined || reasoning === null) return "none";
  const { effort, enabled, exclude } = objectOf(reasoning);
  if (effort === "none" || enabled === false) return "none";
  return exclude === true ? "hidden" : "shown";
}

function readForm({ type, json_schema: described }: JsonObject): JsonObject | undefined {
  if (type === "json_object") return {};
  return type === "json_schema" ? objectOf(objectOf(described).schema) : undefined;
}

interface ChatChoice {
  readonly wish: ToolWish;
  /** The only tools that may be called. */
  readonly among?: readonly string[];
}

function readChoice(choice: unknown): ChatChoice {
  if (choice === "none" || choice === "auto") return { wish: choice };
  if (choice === "required") return { wish: "any" };
  const { function: called, allowed_tools: allowed } = objectOf(choice);
  if (called !== undefined) return { wish: { name: textOf(objectOf(called).name) } };
  if (allowed === undefined) return { wish: "auto" };
  const { mode, tools } = objectOf(allowed);
  return {
    wish: mode === "required" ? "any" : "auto",
    among: objectsOf(tools).map((tool) => textOf(objectOf(tool.function).name)),
  };
}

/** Signatures come back as they were given, on what they were given with. */
function checkSignatures(message: JsonObject, path: string, { model, seal }: AskContext): void {
  objectsOf(message.reasoning_details).forEach(({ type, thinking, signature, format }, i) => {
    if (type !== "thinking" || typeof signature !== "string") return;
    // A signature without its text is Google's way only, and redacted thinking is none that the sandbox ever gave.
    const mayBeToken = format !== "anthropic-claude-v1";
    if (seal.verifies(textOf(thinking), signature) || (mayBeToken && seal.isToken(signature))) return;
    const at = `${path}.reasoning_details.${i}`;
    throw new Refusal(400, "invalid", `${at}: Invalid \`signature\` in \`thinking\` block`);
  });
  for (const call of objectsOf(message.tool_calls)) {
    const signature = objectOf(objectOf(call.extra_content).google).thought_signature;
    if (typeof signature === "string" && !seal.isToken(signature)) throw corrupted();
  }
  const images = [
    ...objectsOf(message.images),
    ...objectsOf(message.content).filter(({ type }) => type === "image_url"),
  ];
  for (const image of images) {
    const url = textOf(objectOf(image.image_url).url);
    const comma = url.indexOf(",");
    const signature = /;\s*thought_signature=([^;,]*)/i.exec(url.slice(0, Math.max(0, comma)))?.[1];
    if (signature !== undefined && !seal.isToken(signature)) throw corrupted();
    const isOwn = message.role === "assistant" && model.outputModalities.includes("image");
    if (signature === undefined && isOwn)
      throw new Refusal(400, "invalid", `${path}: Image part is missing a thought_signature.`);
  }
}

function corrupted(): Refusal {
  return new Refusal(400, "invalid", "Corrupted thought signature.");
}
