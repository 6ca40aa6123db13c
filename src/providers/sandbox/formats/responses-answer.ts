import type { JsonObject } from "../../../core/json/json-value.ts";
import type { Answer, Choice, Piece, SandboxUsage } from "../answer.ts";
import { textOf } from "../members.ts";
import { piecesOf, tokensOf } from "../text-pieces.ts";
import { chatFormat } from "./chat-answer.ts";
import type { SandboxEvent, SandboxFormat, WriteContext } from "./format.ts";
import { readResponsesAsk, toolsIn } from "./responses-request.ts";

/** Responses, as OpenAI's servers speak it. */
export const responsesFormat: SandboxFormat = {
  readAsk: readResponsesAsk,
  writePlain: (answer, context) => ended(answer, context),
  *writeStream(answer, context) {
    let number = 0;
    const event = (type: string, data: JsonObject, tokens = 0): SandboxEvent => {
      const name = `response.${type}`;
      const told = JSON.stringify({ type: name, sequence_number: number, ...data });
      number += 1;
      return { text: `event: ${name}\ndata: ${told}\n\n`, tokens };
    };
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
function itemsOf({ id, choices }: Answer, { body }: WriteContext): readonly JsonObject[] {
  const { pieces, finish } = choices[0] as Choice;
  const namespaces = new Map(toolsIn(body).map(({ name, namespace }) => [name, namespace]));
  return pieces.flatMap((piece, i) => {
    const isLast = i === pieces.length - 1;
    const status = isLast && finish === "length" ? "incomplete" : "completed";
    return itemOf(piece, `${id}${i}`, status, namespaces);
  });
}

function itemOf(
  piece: Piece,
  id: string,
  status: string,
  namespaces: ReadonlyMap<string, string | undefined>,
): readonly JsonObject[] {
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
      const namespace = namespaces.get(name);
      const called = {
        status,
        call_id: `call_${piece.id}`,
        name,
        ...(namespace === undefined ? {} : { namespace }),
      };
      return isText
        ? [{ id: `ctc_${id}`, type: "custom_tool_call", ...called, input: String(input.input) }]
        : [{ id: `fc_${id}`, type: "function_call", ...called, arguments: JSON.stringify(input) }];
    }
    case "image":
      return [];
  }
}

type ItemEvent = readonly [type: string, data: JsonObject, tokens?: number];

/** What comes between an item's beginning and its end. */
function* eventsOf(item: JsonObject): Iterable<ItemEvent> {
  const [part] = (item.content ?? item.summary ?? []) as readonly JsonObject[];
  const said = function* (name: string, text: unknown, data: JsonObject): Iterable<ItemEvent> {
    for (const delta of piecesOf(textOf(text))) yield [`${name}.delta`, { ...data, delta }, tokensOf(delta)];
  };
  if (item.type === "message" && part !== undefined) {
    const at = { content_index: 0 };
    yield ["content_part.added", { ...at, part: { ...part, text: "" } }];
    yield* said("output_text", part.text, { ...at, logprobs: [] });
    yield ["output_text.done", { ...at, text: part.text, logprobs: [] }];
    yield ["content_part.done", { ...at, part }];
  } else if (item.type === "reasoning" && part !== undefined) {
    const at = { summary_index: 0 };
    yield ["reasoning_summary_part.added", { ...at, part: { ...part, text: "" } }];
    yield* said("reasoning_summary_text", part.text, at);
    yield ["reasoning_summary_text.done", { ...at, text: part.text }];
    yield ["reasoning_summary_part.done", { ...at, part }];
  } else if (item.type === "function_call") {
    yield* said("function_call_arguments", item.arguments, {});
    yield ["function_call_arguments.done", { name: item.name, arguments: item.arguments }];
  } else if (item.type === "custom_tool_call") {
    yield* said("custom_tool_call_input", item.input, {});
    yield ["custom_tool_call_input.done", { input: item.input }];
  }
}
