import { type JsonObject, present } from "../../../core/json/json-value.ts";
import type { Answer, Choice, SandboxUsage } from "../answer.ts";
import { REFUSAL_WORDS } from "./ask.ts";
import { eventOf, type SandboxEvent, type SandboxFormat, type WriteContext } from "./format.ts";
import { readMessagesAsk } from "./messages-request.ts";
import { textOf } from "../members.ts";
import { piecesOf, tokensOf } from "../text-pieces.ts";

/** Messages, as Anthropic's servers speak it. */
export const messagesFormat: SandboxFormat = {
  readAsk: readMessagesAsk,
  writePlain: (answer, context) => ({
    ...head(answer, context),
    content: blocksOf(answer),
    ...ending(answer),
    usage: usage(answer.usage),
  }),
  *writeStream(answer, context) {
    const empty = { content: [], stop_reason: null, stop_sequence: null };
    const used = usage({ ...answer.usage, text: 1, thinking: 0 });
    yield eventOf({ type: "message_start", message: { ...head(answer, context), ...empty, usage: used } });
    yield eventOf({ type: "ping" });
    for (const [index, block] of blocksOf(answer).entries()) {
      const [begun, type, name] = STREAMED[block.type as keyof typeof STREAMED];
      const delta = (said: JsonObject, tokens = 0): SandboxEvent =>
        eventOf({ type: "content_block_delta", index, delta: said }, tokens);
      yield eventOf({ type: "content_block_start", index, content_block: { ...block, ...begun } });
      const text = block.input === undefined ? textOf(block[name]) : JSON.stringify(block.input);
      for (const piece of piecesOf(text)) yield delta({ type, [name]: piece }, tokensOf(piece));
      if (block.signature !== undefined) yield delta({ type: "signature_delta", signature: block.signature });
      yield eventOf({ type: "content_block_stop", index });
    }
    yield eventOf({ type: "message_delta", delta: ending(answer), usage: usage(answer.usage) });
    yield eventOf({ type: "message_stop" });
  },
  writeCount: (inputTokens) => ({ input_tokens: inputTokens }),
  writeRefusal: ({ message, meaning, param }) => ({
    type: "error",
    error: present({ type: REFUSAL_WORDS[meaning][1], message, param }),
  }),
};

function head({ id }: Answer, { model }: WriteContext): JsonObject {
  return { id: `msg_${id}`, type: "message", role: "assistant", model: model.id };
}

const STOP_REASONS = { stop: "end_turn", length: "max_tokens", calls: "tool_use" } as const;

/** This format has one answer to a request. */
function ending({ choices: [choice] }: Answer): JsonObject {
  const { finish, stopSequence } = choice as Choice;
  return {
    stop_reason: stopSequence === undefined ? STOP_REASONS[finish] : "stop_sequence",
    stop_sequence: stopSequence ?? null,
  };
}

/** What a block begins with in a stream, and its delta: of which type, with which member. */
const STREAMED = {
  text: [{ text: "" }, "text_delta", "text"],
  thinking: [{ thinking: "", signature: "" }, "thinking_delta", "thinking"],
  tool_use: [{ input: {} }, "input_json_delta", "partial_json"],
} as const;

function blocksOf({ choices }: Answer): readonly JsonObject[] {
  return (choices[0]?.pieces ?? []).flatMap((piece): JsonObject[] => {
    const { type, signature } = piece;
    switch (type) {
      case "thinking":
        return [{ type, thinking: piece.shown ? piece.text : "", signature }];
      case "text":
        return [{ type, text: piece.text }];
      case "call":
        return [{ type: "tool_use", id: `toolu_${piece.id}`, name: piece.name, input: piece.input }];
      case "image":
        return [];
    }
  });
}

function usage({ input, text, thinking }: SandboxUsage): JsonObject {
  return {
    input_tokens: input,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: text + thinking,
    ...(thinking === 0 ? {} : { output_tokens_details: { thinking_tokens: thinking } }),
    service_tier: "standard",
  };
}
