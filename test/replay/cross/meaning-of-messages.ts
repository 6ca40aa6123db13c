import type { Json } from "../wire-json.ts";
import {
  addTurn,
  callNumbers,
  type Item,
  type Meaning,
  type MeantThinking,
  noMeaning,
  onlyKnown,
  resultValue,
} from "./meaning.ts";

const TOP =
  `model max_tokens messages system stream temperature top_p top_k stop_sequences tools tool_choice thinking
output_config metadata`.replaceAll("\n", " ");

/** What a messages request means: https://docs.claude.com/en/api/messages. */
export function meaningOfMessages(body: Json): Meaning {
  onlyKnown(body, TOP, "messages");
  const meaning = noMeaning();
  const calls = callNumbers();
  const system =
    typeof body.system === "string" ? [{ type: "text", text: body.system }] : (body.system ?? []);
  meaning.system = system.map((block: Json) => itemOf(block, calls));
  for (const { role, content } of body.messages) {
    const blocks: Json[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
    addTurn(
      meaning,
      role,
      blocks.flatMap((block) => itemsOf(block, calls)),
    );
  }
  meaning.tools = (body.tools ?? []).map((tool: Json) => {
    onlyKnown(tool, "name description input_schema strict cache_control type", "tools");
    const { name, description, input_schema: schema, strict } = tool;
    return { name, description, schema, strict: strict === true };
  });
  const { tool_choice: choice, output_config: config = {} } = body;
  onlyKnown(config, "effort format", "output_config");
  return {
    ...meaning,
    choice: choiceOf(choice),
    parallel: choice?.disable_parallel_tool_use === true ? false : undefined,
    most: body.max_tokens,
    temperature: body.temperature,
    topP: body.top_p,
    stop: body.stop_sequences ?? [],
    thinking: thinkingOf(body.thinking, config.effort),
    form: config.format === undefined ? undefined : { schema: config.format.schema },
    user: body.metadata?.user_id,
  };
}

function choiceOf(choice: Json): Json {
  if (choice?.type === "any") return "required";
  return choice?.type === "tool" ? { tool: choice.name } : choice?.type;
}

function thinkingOf(thinking: Json, effort: string | undefined): MeantThinking | undefined {
  if (thinking === undefined) return effort === undefined ? undefined : { effort };
  onlyKnown(thinking, "type budget_tokens display", "thinking");
  return {
    on: thinking.type !== "disabled",
    ...(effort === undefined ? {} : { effort }),
    ...(thinking.budget_tokens === undefined ? {} : { budget: thinking.budget_tokens }),
    ...(thinking.type === "disabled" ? {} : { shown: thinking.display !== "omitted" }),
  };
}

/** A result of more than text is the result, and the media that stand in it. */
function itemsOf(block: Json, calls: ReturnType<typeof callNumbers>): Item[] {
  const media: Json[] = block.type === "tool_result" && Array.isArray(block.content) ? block.content : [];
  const shown = media.filter(({ type }) => type !== "text").map((part) => itemOf(part, calls));
  return [itemOf(block, calls), ...shown];
}

function itemOf(block: Json, calls: ReturnType<typeof callNumbers>): Item {
  const cache = block.cache_control === undefined ? {} : { cache: block.cache_control };
  switch (block.type) {
    case "text":
      onlyKnown(block, "type text cache_control", "text");
      return { is: "text", text: block.text, ...cache };
    case "image":
      return { is: "image", ...sourceOf(block.source), ...cache };
    case "document":
      return { is: "document", ...sourceOf(block.source), name: block.title, ...cache };
    case "thinking":
      return { is: "thinking", text: block.thinking, signature: block.signature };
    case "tool_use":
      onlyKnown(block, "type id name input cache_control caller", "tool_use");
      if (!/^[a-zA-Z0-9_-]+$/.test(block.id)) throw new Error(`an id that is not taken: ${block.id}`);
      return { is: "call", number: calls.call(block.id, block.name), name: block.name, args: block.input };
    case "tool_result": {
      onlyKnown(block, "type tool_use_id content is_error cache_control", "tool_result");
      const { content = [] } = block;
      const texts: Json[] = typeof content === "string" ? [{ text: content }] : content;
      const text = texts.flatMap((part) => part.text ?? []).join("\n");
      return { is: "result", of: calls.result(block.tool_use_id), value: resultValue(text) };
    }
    default:
      throw new Error(`the reader does not know a block ${block.type}`);
  }
}

function sourceOf(source: Json): Json {
  return source.type === "url" ? { url: source.url } : { mime: source.media_type, data: source.data };
}
