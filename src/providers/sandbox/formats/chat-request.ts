import { type JsonObject, objectsIn } from "../../../core/json/json-value.ts";
import { type Ask, type AskContext, type AskedTool, completeAsk } from "./ask.ts";
import { checkChat } from "./chat-rules.ts";
import { contentText, customTool, readChoice } from "./openai.ts";
import { numberOf, objectOf, textOf, textsOf } from "../members.ts";

/** Reads a request of chat completions. Throws a 400 for what the vendors refuse, and for signatures that are not ours. */
export function readChatAsk(body: JsonObject, context: AskContext): Ask {
  checkChat(body, context);
  const messages = objectsIn(body.messages);
  const lastUser = messages.findLast(({ role }) => role === "user");
  const isResult = ({ role }: JsonObject): boolean => role === "tool" || role === "function";
  const after = messages.slice(messages.findLastIndex((message) => !isResult(message)) + 1);
  const rules = messages.filter(({ role }) => role === "system" || role === "developer");
  const { wish, among } = readChoice(isLegacy(body) ? body.function_call : body.tool_choice, true);
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
  return objectsIn(functions).map(({ type, custom, name, parameters }) => {
    if (type !== "custom") return { name: textOf(name), schema: parameters ?? {} };
    const { name: called, format } = objectOf(custom);
    return customTool(called, objectOf(format).grammar);
  });
}

/** By the gateway's own field, or by Qwen's. */
function readThinking({ reasoning, enable_thinking: switched }: JsonObject): Ask["thinking"] {
  if (reasoning === undefined || reasoning === null) return switched === true ? "shown" : "none";
  const { effort, enabled, exclude } = objectOf(reasoning);
  if (effort === "none" || enabled === false) return "none";
  return exclude === true ? "hidden" : "shown";
}
