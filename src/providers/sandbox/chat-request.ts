import type { JsonObject } from "../../core/json-value.ts";
import { type Ask, type AskedTool, readImageShape, refuseTooLong, type ToolWish } from "./ask.ts";
import { checkChat } from "./chat-rules.ts";
import type { AskContext } from "./format.ts";
import { formOf } from "./form-in-words.ts";
import { inputTokensOf } from "./input-tokens.ts";
import { numberOf, objectOf, objectsOf, textOf, textsOf } from "./members.ts";

/** Reads a request of chat completions. Throws a 400 for what the vendors refuse, and for signatures that are not ours. */
export function readChatAsk(body: JsonObject, context: AskContext): Ask {
  const { model, digest } = context;
  checkChat(body, context);
  const messages = objectsOf(body.messages);
  const inputTokens = inputTokensOf(model, messages, [body.tools, body.functions, body.response_format]);
  refuseTooLong(
    model,
    inputTokens,
    (tokens, most) =>
      `This model's maximum context length is ${most} tokens. However, your messages resulted in ${tokens} tokens. Please reduce the length of the messages.`,
  );
  const lastUser = messages.findLast(({ role }) => role === "user");
  const isResult = ({ role }: JsonObject): boolean => role === "tool" || role === "function";
  const after = messages.slice(messages.findLastIndex((message) => !isResult(message)) + 1);
  const choice = isLegacy(body) ? readLegacyChoice(body.function_call) : readChoice(body.tool_choice);
  const tools = readTools(body);
  const { type, json_schema: described } = objectOf(body.response_format);
  const rules = messages.filter(({ role }) => role === "system" || role === "developer");
  const modalities = textsOf(body.modalities);
  const { aspect_ratio: aspectRatio, image_size: imageSize } = objectOf(body.image_config);
  return {
    model: model.id,
    vendor: model.vendor,
    digest,
    seed: numberOf(body.seed)?.toString() ?? digest,
    userText: contentText(lastUser?.content),
    toolResults: after.length === 0 ? undefined : after.map(({ content }) => contentText(content)),
    tools: choice.among === undefined ? tools : tools.filter(({ name }) => choice.among?.has(name)),
    toolChoice: choice.wish,
    parallelCalls: body.parallel_tool_calls !== false && !isLegacy(body),
    form: formOf(
      [lastUser, ...rules].map((message) => contentText(message?.content)),
      {
        schema: type === "json_schema" ? objectOf(objectOf(described).schema) : undefined,
        isJson: type === "json_object",
        hasTools: tools.length > 0,
      },
    ),
    maxTokens: numberOf(body.max_completion_tokens) ?? numberOf(body.max_tokens),
    stop: textsOf(body.stop),
    choices: numberOf(body.n) ?? 1,
    thinking: readThinking(body),
    image: !modalities.includes("image") ? "none" : modalities.includes("text") ? "with_text" : "only",
    ...readImageShape(aspectRatio, imageSize),
    images: objectsOf(lastUser?.content)
      .map((part) => textOf(objectOf(part.image_url).url))
      .filter((url) => url !== ""),
    inputTokens,
  };
}

/** Whether tools are given in the words that came before `tools`; their answers have `function_call`. */
export function isLegacy({ tools, functions }: JsonObject): boolean {
  return objectsOf(tools).length === 0 && objectsOf(functions).length > 0;
}

function readTools(body: JsonObject): readonly AskedTool[] {
  if (isLegacy(body))
    return objectsOf(body.functions).map(({ name, parameters }) => ({
      name: textOf(name),
      schema: parameters ?? {},
    }));
  return objectsOf(body.tools).map((tool) => {
    if (tool.type === "custom") return customTool(objectOf(tool.custom));
    const { name, parameters } = objectOf(tool.function);
    return { name: textOf(name), schema: parameters ?? {} };
  });
}

/** A tool that takes text, as one that takes it as its only member. Of grammars only regular expressions are kept to. */
function customTool({ name, format }: JsonObject): AskedTool {
  const { syntax, definition } = objectOf(objectOf(format).grammar);
  const input = { type: "string", ...(syntax === "regex" ? { pattern: definition } : {}) };
  return {
    name: textOf(name),
    schema: { type: "object", properties: { input }, required: ["input"] },
    isText: true,
  };
}

function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  return objectsOf(content)
    .map(({ text }) => textOf(text))
    .filter((text) => text !== "")
    .join("\n");
}

/** By the gateway's own field, or by Qwen's. */
function readThinking({ reasoning, enable_thinking: switched }: JsonObject): Ask["thinking"] {
  if (reasoning === undefined || reasoning === null) return switched === true ? "shown" : "none";
  const { effort, enabled, exclude } = objectOf(reasoning);
  if (effort === "none" || enabled === false) return "none";
  return exclude === true ? "hidden" : "shown";
}

interface ChatChoice {
  readonly wish: ToolWish;
  /** The only tools that may be called. */
  readonly among?: ReadonlySet<string>;
}

function readChoice(choice: unknown): ChatChoice {
  if (choice === "none" || choice === "auto") return { wish: choice };
  if (choice === "required") return { wish: "any" };
  const { function: called, custom, allowed_tools: allowed } = objectOf(choice);
  const named = called ?? custom;
  if (named !== undefined) return { wish: { name: textOf(objectOf(named).name) } };
  if (allowed === undefined) return { wish: "auto" };
  const { mode, tools } = objectOf(allowed);
  return {
    wish: mode === "required" ? "any" : "auto",
    among: new Set(objectsOf(tools).map((tool) => textOf(objectOf(tool.function ?? tool.custom).name))),
  };
}

function readLegacyChoice(choice: unknown): ChatChoice {
  if (choice === "none") return { wish: "none" };
  const { name } = objectOf(choice);
  return { wish: typeof name === "string" ? { name } : "auto" };
}
