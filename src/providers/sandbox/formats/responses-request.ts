import { type JsonObject, objectsIn } from "../../../core/json/json-value.ts";
import { numberOf, objectOf, textOf } from "../members.ts";
import { type Ask, type AskContext, type AskedTool, completeAsk } from "./ask.ts";
import { contentText, customTool, readChoice } from "./openai.ts";
import { checkResponses } from "./responses-rules.ts";

/** Reads a request of Responses. Throws a 400 for what OpenAI refuses, and for reasoning that is not the sandbox's. */
export function readResponsesAsk(body: JsonObject, context: AskContext): Ask {
  const items = itemsIn(body);
  checkResponses(body, items, context);
  const messages = items.filter(({ type = "message" }) => type === "message");
  const lastUser = messages.findLast(({ role }) => role === "user");
  const rules = messages.filter(({ role }) => role === "system" || role === "developer");
  const isOutput = ({ type }: JsonObject): boolean => textOf(type).endsWith("_call_output");
  const after = items.slice(items.findLastIndex((item) => !isOutput(item)) + 1);
  const { instructions, text, reasoning } = body;
  const { type, schema } = objectOf(objectOf(text).format);
  const { wish, among } = readChoice(body.tool_choice, false);
  return completeAsk(
    {
      turns: instructions === undefined ? items : [instructions, ...items],
      schemas: [body.tools, text],
      texts: [lastUser?.content, instructions, ...rules.map(({ content }) => content)].map(contentText),
      schema: type === "json_schema" ? objectOf(schema) : undefined,
      isJson: type === "json_object",
      tooLong: () =>
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
      toolResults: after.map(({ output }) => contentText(output)),
      tools: toolsIn(body).filter(({ name }) => among?.has(name) !== false),
      toolChoice: wish,
      parallelCalls: body.parallel_tool_calls !== false,
      maxTokens: numberOf(body.max_output_tokens),
      thinking: readThinking(objectOf(reasoning)),
    },
    context,
  );
}

function itemsIn({ input }: JsonObject): readonly JsonObject[] {
  return typeof input === "string" ? [{ role: "user", content: input }] : objectsIn(input);
}

/** A tool, and the namespace that it stands in. */
interface NamedTool extends AskedTool {
  readonly namespace?: string;
}

/** The tools that can be called, those that items bring among them. */
export function toolsIn(body: JsonObject): readonly NamedTool[] {
  const bringing = itemsIn(body).filter(({ type }) => type === "additional_tools");
  return [body, ...bringing].flatMap(({ tools }) =>
    objectsIn(tools).flatMap((tool): readonly NamedTool[] => {
      if (tool.type !== "namespace") return readTool(tool);
      const namespace = textOf(tool.name);
      return objectsIn(tool.tools).flatMap((inner) =>
        readTool(inner).map((read) => Object.assign(read, { namespace })),
      );
    }),
  );
}

function readTool({ type, name, parameters, format }: JsonObject): readonly AskedTool[] {
  if (type === "function") return [{ name: textOf(name), schema: parameters ?? {} }];
  return type === "custom" ? [customTool(name, format)] : [];
}

function readThinking({ effort, summary }: JsonObject): Ask["thinking"] {
  if (effort === "none" || (effort ?? summary ?? null) === null) return "none";
  return (summary ?? null) === null ? "hidden" : "shown";
}
