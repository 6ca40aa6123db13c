import { type JsonObject, objectsIn } from "../../../core/json/json-value.ts";
import { ONE_JSON_OBJECT } from "../../../protocols/messages/client/encode-request.ts";
import { type AskContext, type Ask, completeAsk, joined } from "./ask.ts";
import { numberOf, objectOf, textOf, textsOf } from "../members.ts";
import { checkMessages } from "./messages-rules.ts";

/** Reads a request of messages. Throws a 400 for what Anthropic refuses, and for thinking whose signature is not that of its text. */
export function readMessagesAsk(body: JsonObject, context: AskContext): Ask {
  checkMessages(body, context);
  const messages = objectsIn(body.messages);
  const { system } = body;
  const last = messages.findLast(({ role }) => role === "user")?.content;
  const results = objectsIn(last).filter(({ type }) => type === "tool_result");
  const asking = messages.findLast(({ role, content }) => role === "user" && blockText(content) !== "");
  const { type, name, disable_parallel_tool_use: single } = objectOf(body.tool_choice);
  const format = objectOf(objectOf(body.output_config).format ?? body.output_format);
  const rules = typeof system === "string" ? [system] : objectsIn(system).map(({ text }) => textOf(text));
  const { type: thinks, display } = objectOf(body.thinking);
  return completeAsk(
    {
      turns: system === undefined ? messages : [system, ...messages],
      schemas: [body.tools, format.schema],
      texts: [blockText(asking?.content), ...rules],
      schema: format.type === "json_schema" ? objectOf(format.schema) : undefined,
      // The format has no word for any JSON; of other formats it is asked for by a sentence.
      isJson: rules.at(-1) === ONE_JSON_OBJECT,
      tooLong: (tokens, most) => `prompt is too long: ${tokens} tokens > ${most} maximum`,
      toolResults: results.map(({ content }) => blockText(content)),
      tools: objectsIn(body.tools)
        .filter((tool) => (tool.type ?? "custom") === "custom")
        .map((tool) => ({ name: textOf(tool.name), schema: tool.input_schema ?? {} })),
      toolChoice:
        type === "tool" ? { name: textOf(name) } : type === "any" || type === "none" ? type : "auto",
      parallelCalls: single !== true,
      maxTokens: numberOf(body.max_tokens),
      stop: textsOf(body.stop_sequences),
      thinking:
        thinks === undefined || thinks === "disabled" ? "none" : display === "omitted" ? "hidden" : "shown",
    },
    context,
  );
}

function blockText(content: unknown): string {
  if (typeof content === "string") return content;
  return joined(objectsIn(content).map(({ type, text }) => (type === "text" ? text : "")));
}
