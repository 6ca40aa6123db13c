import { type JsonObject, objectsIn } from "../../../core/json/json-value.ts";
import { type Ask, type AskContext, type AskedTool, completeAsk, joined, type ToolWish } from "./ask.ts";
import { checkChat } from "./chat-rules.ts";
import { numberOf, objectOf, textOf, textsOf } from "../members.ts";

/** Reads a request of chat completions. Throws a 400 for what the vendors refuse, and for signatures that are not ours. */
export function readChatAsk(body: JsonObject, context: AskContext): Ask {
  checkChat(body, context);
  const messages = objectsIn(body.messages);
  const lastUser = messages.findLast(({ role }) => role === "user");
  const isResult = ({ role }: JsonObject): boolean => role === "tool" || role === "function";
  const after = messages.slice(messages.findLastIndex((message) => !isResult(message)) + 1);
  const rules = messages.filter(({ role }) => role === "system" || role === "developer");
  const { wish, among } = readChoice(isLegacy(body) ? body.function_call : body.tool_choice);
  const { type, json_schema: described } = objectOf(body.response_format);
  const modalities = textsOf(body.modalities);
  const { aspect_ratio: aspectRatio, image_size: imageSize } = objectOf(body.image_config);
  return completeAsk(
    {
      seed: body.seed,
      turns: messages,
      schemas: [body.tools, body.functions, body.response_format],
      texts: [lastUser, ...rules].map((message) => contentText(message?.content)),
      schema: type === "json_schema" ? objectOf(objectOf(described).schema) : undefined,
      isJson: type === "json_object",
      tooLong: (tokens, most) =>
        `This model's maximum context length is ${most} tokens. However, your messages resulted in ${tokens} tokens. Please reduce the length of the messages.`,
      toolResults: after.map(({ content }) => contentText(content)),
      tools: readTools(body).filter(({ name }) => among?.has(name) !== false),
      toolChoice: wish,
      parallelCalls: body.parallel_tool_calls !== false && !isLegacy(body),
      maxTokens: numberOf(body.max_completion_tokens) ?? numberOf(body.max_tokens),
      stop: textsOf(body.stop),
      choices: numberOf(body.n) ?? 1,
      thinking: readThinking(body),
      image: !modalities.includes("image") ? "none" : modalities.includes("text") ? "with_text" : "only",
      aspectRatio,
      imageSize,
      images: objectsIn(lastUser?.content)
        .map((part) => textOf(objectOf(part.image_url).url))
        .filter((url) => url !== ""),
    },
    context,
  );
}

/** Whether tools are given in the words that came before `tools`; their answers have `function_call`. */
export function isLegacy({ tools, functions }: JsonObject): boolean {
  return objectsIn(tools).length === 0 && objectsIn(functions).length > 0;
}

function readTools(body: JsonObject): readonly AskedTool[] {
  const functions = isLegacy(body)
    ? body.functions
    : objectsIn(body.tools).map((tool) => tool.function ?? tool);
  return objectsIn(functions).map((tool) =>
    tool.type === "custom"
      ? customTool(objectOf(tool.custom))
      : { name: textOf(tool.name), schema: tool.parameters ?? {} },
  );
}

/** A tool that takes text, as one that takes it as its only member. Of grammars only regular expressions are kept to. */
export function customTool({ name, format }: JsonObject): AskedTool {
  const { syntax, definition } = objectOf(objectOf(format).grammar);
  const input = { type: "string", ...(syntax === "regex" ? { pattern: definition } : {}) };
  return {
    name: textOf(name),
    schema: { type: "object", properties: { input }, required: ["input"] },
    isText: true,
  };
}

function contentText(content: unknown): string {
  return typeof content === "string" ? content : joined(objectsIn(content).map(({ text }) => text));
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

/** Of either way of saying it; `function_call` has the name by itself. */
function readChoice(choice: unknown): ChatChoice {
  if (choice === "none") return { wish: "none" };
  if (choice === "required") return { wish: "any" };
  const { function: called, custom, allowed_tools: allowed, name } = objectOf(choice);
  const named = objectOf(called ?? custom).name ?? name;
  if (typeof named === "string") return { wish: { name: named } };
  if (allowed === undefined) return { wish: "auto" };
  const { mode, tools } = objectOf(allowed);
  const among = objectsIn(tools).map((tool) => textOf(objectOf(tool.function ?? tool.custom).name));
  return { wish: mode === "required" ? "any" : "auto", among: new Set(among) };
}
