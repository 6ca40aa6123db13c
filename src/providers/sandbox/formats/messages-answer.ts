import type { JsonObject } from "../../../core/json/json-value.ts";
import type { Answer, Choice, SandboxUsage } from "../answer.ts";
import type { Refusal } from "./ask.ts";
import type { SandboxEvent, SandboxFormat, WriteContext } from "./format.ts";
import { readMessagesAsk } from "./messages-request.ts";
import { textOf } from "../members.ts";
import { piecesOf, tokensOf } from "../text-pieces.ts";

/** Messages, as Anthropic's servers speak it. */
export const messagesFormat: SandboxFormat = {
  readAsk: readMessagesAsk,
  writePlain: (answer, context) => ({
    ...head(answer, context),
    content: blocksOf(answer).map(({ whole }) => whole),
    ...ending(answer),
    usage: usage(answer.usage),
  }),
  *writeStream(answer, context) {
    const empty = { content: [], stop_reason: null, stop_sequence: null };
    const used = usage({ ...answer.usage, text: 1, thinking: 0 });
    yield event("message_start", { message: { ...head(answer, context), ...empty, usage: used } });
    yield event("ping", {});
    for (const [index, block] of blocksOf(answer).entries()) {
      const delta = (type: string, name: string, said: string, tokens = 0): SandboxEvent =>
        event("content_block_delta", { index, delta: { type, [name]: said } }, tokens);
      const begun = { ...block.whole, ...EMPTY[textOf(block.whole.type)] };
      yield event("content_block_start", { index, content_block: begun });
      const [type, name, text] = block.said;
      for (const piece of piecesOf(text)) yield delta(type, name, piece, tokensOf(piece));
      if (block.signature !== undefined) yield delta("signature_delta", "signature", block.signature);
      yield event("content_block_stop", { index });
    }
    yield event("message_delta", { delta: ending(answer), usage: usage(answer.usage) });
    yield event("message_stop", {});
  },
  writeCount: (inputTokens) => ({ input_tokens: inputTokens }),
  writeRefusal: ({ message, meaning, param }) => ({
    type: "error",
    error: { type: TYPES[meaning], message, ...(param === undefined ? {} : { param }) },
  }),
};

const TYPES: Readonly<Record<Refusal["meaning"], string>> = {
  invalid: "invalid_request_error",
  too_long: "invalid_request_error",
  moderation: "invalid_request_error",
  overloaded: "overloaded_error",
  timeout: "timeout_error",
  not_found: "not_found_error",
};

function event(type: string, data: JsonObject, tokens = 0): SandboxEvent {
  return { text: `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`, tokens };
}

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

/** What a block begins with in a stream; the rest comes in deltas. */
const EMPTY: Readonly<Record<string, JsonObject>> = {
  text: { text: "" },
  thinking: { thinking: "", signature: "" },
  tool_use: { input: {} },
};

interface Block {
  readonly whole: JsonObject;
  /** What comes in deltas: of which type, in which member. */
  readonly said: readonly [type: string, name: string, text: string];
  readonly signature?: string;
}

function blocksOf({ choices }: Answer): readonly Block[] {
  return (choices[0]?.pieces ?? []).flatMap((piece): Block[] => {
    switch (piece.type) {
      case "thinking": {
        const { type, signature } = piece;
        const thinking = piece.shown ? piece.text : "";
        return [
          { whole: { type, thinking, signature }, said: ["thinking_delta", type, thinking], signature },
        ];
      }
      case "text": {
        const { type, text } = piece;
        return [{ whole: { type, text }, said: ["text_delta", type, text] }];
      }
      case "call": {
        const { id, name, input } = piece;
        const whole = { type: "tool_use", id: `toolu_${id}`, name, input };
        return [{ whole, said: ["input_json_delta", "partial_json", JSON.stringify(input)] }];
      }
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
