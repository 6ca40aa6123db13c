import { type JsonObject, objectsIn, present } from "../../../core/json/json-value.ts";
import type { Answer, Choice, SandboxUsage } from "../answer.ts";
import { textOf } from "../members.ts";
import { piecesOf, tokensOf } from "../text-pieces.ts";
import { chatFormat } from "./chat-answer.ts";
import { eventOf, type SandboxEvent, type SandboxFormat, type WriteContext } from "./format.ts";
import { readResponsesAsk, toolsIn } from "./responses-request.ts";

/** Responses, as OpenAI's servers speak it. */
export const responsesFormat: SandboxFormat = {
  readAsk: readResponsesAsk,
  writePlain: (answer, context) => ended(answer, context),
  *writeStream(answer, context) {
    let number = 0;
    const event = (type: string, data: JsonObject, tokens = 0): SandboxEvent =>
      eventOf({ type: `response.${type}`, sequence_number: number++, ...data }, tokens);
    const begun = { ...ended(answer, context), ...BEGUN };
    yield event("created", { response: begun });
    yield event("in_progress", { response: begun });
    for (const [output_index, item] of itemsOf(answer, context).entries()) {
      yield event("output_item.added", { output_index, item: { ...item, ...EMPTY[textOf(item.type)] } });
      for (const [type, data, tokens] of eventsOf(item))
        yield event(type, { item_id: item.id, output_index, ...data }, tokens);
      yield event("output_item.done", { output_index, item });
    }
    const whole = ended(answer, context);
    yield event(textOf(whole.status), { response: whole });
  },
  writeCount: (input_tokens) => ({ object: "response.input_tokens", input_tokens }),
  writeRefusal: chatFormat.writeRefusal,
};

/** What is not known while an answer runs. */
const BEGUN = {
  status: "in_progress",
  output: [],
  usage: null,
  completed_at: null,
  incomplete_details: null,
};

/** What an item begins with in a stream; the rest comes in deltas. */
const EMPTY: Readonly<Record<string, JsonObject>> = {
  reasoning: { summary: [], encrypted_content: "" },
  message: { content: [], status: "in_progress" },
  function_call: { arguments: "", status: "in_progress" },
  custom_tool_call: { input: "", status: "in_progress" },
};

/** The response object of an answer that has ended. */
function ended(answer: Answer, context: WriteContext): JsonObject {
  const { body, model, nowSec } = context;
  const { finish } = answer.choices[0] as Choice;
  const isCut = finish === "length";
  return {
    id: `resp_${answer.id}`,
    object: "response",
    created_at: nowSec,
    status: isCut ? "incomplete" : "completed",
    background: false,
    completed_at: isCut ? null : nowSec,
    error: null,
    incomplete_details: isCut ? { reason: "max_output_tokens" } : null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    model: model.id,
    output: itemsOf(answer, context),
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null, ...(body.reasoning as object) },
    store: false,
    temperature: body.temperature ?? 1,
    text: { format: { type: "text" }, verbosity: "medium", ...(body.text as object) },
    tool_choice: body.tool_choice ?? "auto",
    tools: body.tools ?? [],
    top_logprobs: body.top_logprobs ?? 0,
    top_p: body.top_p ?? 1,
    truncation: body.truncation ?? "disabled",
    service_tier: "default",
    usage: usage(answer.usage),
    metadata: {},
  };
}

function usage({ input, text, thinking }: SandboxUsage): JsonObject {
  const output = text + thinking;
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: thinking },
    total_tokens: input + output,
  };
}

/** The items of an answer; of one that was cut the last is not whole. */
function itemsOf(answer: Answer, { body }: WriteContext): readonly JsonObject[] {
  const { pieces, finish } = answer.choices[0] as Choice;
  const tools = toolsIn(body);
  return pieces.flatMap((piece, i): JsonObject[] => {
    const status = finish === "length" && i === pieces.length - 1 ? "incomplete" : "completed";
    const id = `${answer.id}${i}`;
    switch (piece.type) {
      case "thinking": {
        const summary = piece.shown ? [{ type: "summary_text", text: piece.text }] : [];
        return [{ id: `rs_${id}`, type: "reasoning", summary, encrypted_content: piece.token }];
      }
      case "text": {
        const content = [{ type: "output_text", text: piece.text, annotations: [], logprobs: [] }];
        return [{ id: `msg_${id}`, type: "message", status, role: "assistant", content }];
      }
      case "call": {
        const { name, input, isText } = piece;
        const namespace = tools.findLast((tool) => tool.name === name)?.namespace;
        const called = present({ status, call_id: `call_${piece.id}`, name, namespace });
        return isText
          ? [{ id: `ctc_${id}`, type: "custom_tool_call", ...called, input: String(input.input) }]
          : [{ id: `fc_${id}`, type: "function_call", ...called, arguments: JSON.stringify(input) }];
      }
      case "image":
        return [];
    }
  });
}

type ItemEvent = readonly [type: string, data: JsonObject, tokens?: number];

/** What comes between an item's beginning and its end. */
function* eventsOf({
  type,
  content,
  summary,
  name,
  arguments: given,
  input,
}: JsonObject): Iterable<ItemEvent> {
  const [part] = objectsIn(content ?? summary);
  if (type === "function_call") yield* said("function_call_arguments", given, {}, { name, arguments: given });
  if (type === "custom_tool_call") yield* said("custom_tool_call_input", input, {}, { input });
  if (part === undefined) return;
  const isText = type === "message";
  const around = isText ? "content_part" : "reasoning_summary_part";
  const words = isText ? "output_text" : "reasoning_summary_text";
  const at = { [isText ? "content_index" : "summary_index"]: 0 };
  const beside = isText ? { logprobs: [] } : {};
  yield [`${around}.added`, { ...at, part: { ...part, text: "" } }];
  yield* said(words, part.text, { ...at, ...beside }, { ...at, text: part.text, ...beside });
  yield [`${around}.done`, { ...at, part }];
}

/** A text piece by piece, then all of it. */
function* said(words: string, text: unknown, beside: JsonObject, whole: JsonObject): Iterable<ItemEvent> {
  for (const delta of piecesOf(textOf(text))) yield [`${words}.delta`, { ...beside, delta }, tokensOf(delta)];
  yield [`${words}.done`, whole];
}
