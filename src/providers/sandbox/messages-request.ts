import type { JsonObject } from "../../core/json-value.ts";
import { ONE_JSON_OBJECT } from "../../protocols/messages/encode-request.ts";
import { type Ask, Refusal, refuseTooLong, type ToolWish } from "./ask.ts";
import { formOf } from "./form-in-words.ts";
import type { AskContext } from "./format.ts";
import { inputTokensOf } from "./input-tokens.ts";
import { checkMessages } from "./messages-rules.ts";
import { numberOf, objectOf, objectsOf, textOf, textsOf } from "./members.ts";

/** Reads a request of messages. Throws a 400 for what Anthropic refuses, and for thinking whose signature is not that of its text. */
export function readMessagesAsk(body: JsonObject, { model, digest, seal }: AskContext): Ask {
  const messages = objectsOf(body.messages);
  checkMessages(body);
  messages.forEach(({ role, content }, i) => {
    if (role !== "assistant") return;
    objectsOf(content).forEach((block, j) => {
      const at = `messages.${i}.content.${j}`;
      // The sandbox gives none, so what comes back is none of its own.
      if (block.type === "redacted_thinking")
        throw new Refusal(400, "invalid", `${at}: Invalid \`data\` in \`redacted_thinking\` block`);
      if (block.type !== "thinking") return;
      if (typeof block.signature !== "string")
        throw new Refusal(400, "invalid", `${at}.thinking.signature: Field required`);
      if (seal.verifies(textOf(block.thinking), block.signature)) return;
      throw new Refusal(400, "invalid", `${at}: Invalid \`signature\` in \`thinking\` block`);
    });
  });
  const last = messages.findLast(({ role }) => role === "user")?.content;
  const results = objectsOf(last).filter(({ type }) => type === "tool_result");
  const asking = messages.findLast(({ role, content }) => role === "user" && blockText(content) !== "");
  const tools = objectsOf(body.tools)
    .filter(({ type }) => type === undefined || type === null || type === "custom")
    .map((tool) => ({ name: textOf(tool.name), schema: tool.input_schema ?? {} }));
  const { type, name, disable_parallel_tool_use: single } = objectOf(body.tool_choice);
  const format = objectOf(objectOf(body.output_config).format ?? body.output_format);
  const { system } = body;
  const rules = typeof system === "string" ? [system] : objectsOf(system).map(({ text }) => textOf(text));
  const inputTokens = inputTokensOf(
    model,
    body.system === undefined ? messages : [body.system, ...messages],
    [body.tools, format.schema],
  );
  refuseTooLong(
    model,
    inputTokens,
    (tokens, most) => `prompt is too long: ${tokens} tokens > ${most} maximum`,
  );
  const { type: thinks, display } = objectOf(body.thinking);
  return {
    model: model.id,
    vendor: model.vendor,
    digest,
    seed: digest,
    userText: blockText(asking?.content),
    toolResults: results.length === 0 ? undefined : results.map(({ content }) => blockText(content)),
    tools,
    toolChoice: wishOf(type, textOf(name)),
    parallelCalls: single !== true,
    form: formOf([blockText(asking?.content), ...rules], {
      schema: format.type === "json_schema" ? objectOf(format.schema) : undefined,
      // The format has no word for any JSON; of other formats it is asked for by a sentence.
      isJson: rules.at(-1) === ONE_JSON_OBJECT,
      hasTools: tools.length > 0,
    }),
    maxTokens: numberOf(body.max_tokens),
    stop: textsOf(body.stop_sequences ?? []),
    choices: 1,
    images: [],
    thinking:
      thinks === undefined || thinks === "disabled" ? "none" : display === "omitted" ? "hidden" : "shown",
    image: "none",
    inputTokens,
  };
}

function wishOf(type: unknown, name: string): ToolWish {
  if (type === "tool") return { name };
  return type === "any" || type === "none" ? type : "auto";
}

function blockText(content: unknown): string {
  if (typeof content === "string") return content;
  return objectsOf(content)
    .map((block) => (block.type === "text" ? textOf(block.text) : ""))
    .filter((text) => text !== "")
    .join("\n");
}
