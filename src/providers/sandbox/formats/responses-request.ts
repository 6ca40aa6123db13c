import { type JsonObject, objectsIn } from "../../../core/json/json-value.ts";
import { numberOf, objectOf, textOf, textsOf } from "../members.ts";
import { type Ask, type AskContext, type AskedTool, completeAsk, joined, type ToolWish } from "./ask.ts";
import { customTool } from "./chat-request.ts";
import { checkResponses } from "./responses-rules.ts";

/** Reads a request of Responses. Throws a 400 for what OpenAI refuses, and for reasoning that is not the sandbox's. */
export function readResponsesAsk(body: JsonObject, context: AskContext): Ask {
  const items = itemsIn(body);
  checkResponses(body, items, context);
  const messages = items.filter(({ type = "message" }) => type === "message");
  const lastUser = messages.findLast(({ role }) => role === "user");
  const rules = messages.filter(({ role }) => role === "system" || role === "developer");
  const after = items.slice(items.findLastIndex((item) => !isOutput(item)) + 1);
  const { format } = objectOf(body.text);
  const { type, schema } = objectOf(format);
  const { wish, among } = readChoice(body.tool_choice);
  return completeAsk(
    {
      turns: body.instructions === undefined ? items : [body.instructions, ...items],
      schemas: [body.tools, body.text],
      texts: [
        contentText(lastUser?.content),
        textOf(body.instructions),
        ...rules.map(({ content }) => contentText(content)),
      ],
      schema: type === "json_schema" ? objectOf(schema) : undefined,
      isJson: type === "json_object",
      tooLong: () =>
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
      toolResults: after.map(({ output }) => contentText(output)),
      tools: toolsIn(body).filter(({ name }) => among?.has(name) !== false),
      toolChoice: wish,
      parallelCalls: body.parallel_tool_calls !== false,
      maxTokens: numberOf(body.max_output_tokens),
      stop: textsOf(undefined),
      choices: 1,
      thinking: readThinking(objectOf(body.reasoning)),
      image: "none",
      images: [],
    },
    context,
  );
}

function itemsIn({ input }: JsonObject): readonly JsonObject[] {
  return typeof input === "string" ? [{ role: "user", content: input }] : objectsIn(input);
}

/** Whether an item is what a call gave back. */
export function isOutput({ type }: JsonObject): boolean {
  return textOf(type).endsWith("_call_output");
}

/** A tool, and the namespace that it stands in. */
interface NamedTool extends AskedTool {
  readonly namespace?: string;
}

/** The tools that can be called, those that items bring among them. */
export function toolsIn(body: JsonObject): readonly NamedTool[] {
  const brought = itemsIn(body).flatMap(({ type, tools }) =>
    type === "additional_tools" ? objectsIn(tools) : [],
  );
  return [...objectsIn(body.tools), ...brought].flatMap((tool): readonly NamedTool[] => {
    if (tool.type !== "namespace") return readTool(tool);
    return objectsIn(tool.tools).flatMap((inner) => readTool(inner, { namespace: textOf(tool.name) }));
  });
}

function readTool(tool: JsonObject, within: Pick<NamedTool, "namespace"> = {}): readonly NamedTool[] {
  const { type, name, parameters, format } = tool;
  if (type === "function") return [{ name: textOf(name), schema: parameters ?? {}, ...within }];
  return type === "custom" ? [{ ...customTool({ name, format: { grammar: format } }), ...within }] : [];
}

function contentText(content: unknown): string {
  return typeof content === "string" ? content : joined(objectsIn(content).map(({ text }) => text));
}

function readThinking({ effort, summary }: JsonObject): Ask["thinking"] {
  if (effort === "none" || (effort ?? summary ?? null) === null) return "none";
  return (summary ?? null) === null ? "hidden" : "shown";
}

/** What is called, and the only tools that may be. */
function readChoice(choice: unknown): { readonly wish: ToolWish; readonly among?: ReadonlySet<string> } {
  if (choice === "none") return { wish: "none" };
  if (choice === "required") return { wish: "any" };
  const { type, name, mode, tools } = objectOf(choice);
  if (type === "allowed_tools") {
    const among = new Set(objectsIn(tools).map((tool) => textOf(tool.name)));
    return { wish: mode === "required" ? "any" : "auto", among };
  }
  return { wish: typeof name === "string" ? { name } : "auto" };
}
