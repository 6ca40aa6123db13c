type JsonObject = Readonly<Record<string, unknown>>;

/** A plain answer of Responses that is one message of these parts, as OpenAI would send it; null has no usage. */
export function response(content: readonly JsonObject[], tokens: readonly [unknown, unknown] | null) {
  return {
    id: "resp_1",
    object: "response",
    created_at: 1,
    status: "completed",
    model: "up",
    output: [{ id: "msg_1", type: "message", status: "completed", role: "assistant", content }],
    store: false,
    metadata: {},
    usage: tokens && usageOf(...tokens),
  };
}

function usageOf(input: unknown, output: unknown): JsonObject {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: Number(input) + Number(output),
  };
}

/** The events of the same as a stream, its first part a text that comes in these pieces. */
export function responseEvents(whole: ReturnType<typeof response>, pieces: readonly string[]) {
  const [item] = whole.output;
  const at = { item_id: item?.id, output_index: 0, content_index: 0 };
  return [
    { type: "response.created", response: { ...whole, status: "in_progress", output: [], usage: null } },
    {
      type: "response.output_item.added",
      output_index: 0,
      item: { ...item, status: "in_progress", content: [] },
    },
    {
      type: "response.content_part.added",
      ...at,
      part: { type: "output_text", text: "", annotations: [], logprobs: [] },
    },
    ...pieces.map((delta) => ({ type: "response.output_text.delta", ...at, delta, logprobs: [] })),
    { type: "response.output_text.done", ...at, text: pieces.join(""), logprobs: [] },
    { type: "response.content_part.done", ...at, part: item?.content[0] },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: whole },
  ].map((event, i) => ({ ...event, sequence_number: i }));
}
