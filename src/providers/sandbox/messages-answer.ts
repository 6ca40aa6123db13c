import type { JsonObject } from "../../core/json-value.ts";
import type { Answer, Choice, Piece, SandboxUsage } from "./answer.ts";
import type { Refusal } from "./ask.ts";
import type { SandboxEvent, SandboxFormat, WriteContext } from "./format.ts";
import { readMessagesAsk } from "./messages-request.ts";
import { piecesOf, tokensOf } from "./text-pieces.ts";

/** Messages, as Anthropic's servers speak it. */
export const messagesFormat: SandboxFormat = {
  readAsk: readMessagesAsk,
  writePlain: (answer, context) => ({
    ...head(answer, context),
    content: piecesIn(answer).map(block),
    ...ending(choiceIn(answer)),
    usage: usage(answer.usage),
  }),
  *writeStream(answer, context) {
    yield event("message_start", {
      message: {
        ...head(answer, context),
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: usage({ ...answer.usage, text: 1, thinking: 0 }),
      },
    });
    yield event("ping", {});
    for (const [index, piece] of piecesIn(answer).entries()) {
      const delta = (type: string, value: JsonObject, tokens = 0): SandboxEvent =>
        event("content_block_delta", { index, delta: { type, ...value } }, tokens);
      const whole = block(piece);
      yield event("content_block_start", {
        index,
        content_block: { ...whole, ...EMPTY[String(whole.type)] },
      });
      if (piece.type === "thinking") {
        if (piece.shown)
          for (const thinking of piecesOf(piece.text))
            yield delta("thinking_delta", { thinking }, tokensOf(thinking));
        yield delta("signature_delta", { signature: piece.signature });
      }
      if (piece.type === "text")
        for (const text of piecesOf(piece.text)) yield delta("text_delta", { text }, tokensOf(text));
      if (piece.type === "call")
        for (const json of piecesOf(JSON.stringify(piece.input)))
          yield delta("input_json_delta", { partial_json: json }, tokensOf(json));
      yield event("content_block_stop", { index });
    }
    yield event("message_delta", { delta: ending(choiceIn(answer)), usage: usage(answer.usage) });
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

/** What a block begins with; the rest comes in deltas. */
const EMPTY: Readonly<Record<string, JsonObject>> = {
  text: { text: "" },
  thinking: { thinking: "", signature: "" },
  tool_use: { input: {} },
};

function event(type: string, data: JsonObject, tokens = 0): SandboxEvent {
  return { text: `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`, tokens };
}

/** This format has one answer to a request. */
function choiceIn({ choices }: Answer): Choice {
  return choices[0] ?? { pieces: [], finish: "stop" };
}

function piecesIn(answer: Answer): readonly Piece[] {
  return choiceIn(answer).pieces.filter(({ type }) => type !== "image");
}

function head({ id }: Answer, { model }: WriteContext): JsonObject {
  return { id: `msg_${id}`, type: "message", role: "assistant", model: model.id };
}

function ending({ finish, stopSequence }: Choice): JsonObject {
  const words = { stop: "end_turn", length: "max_tokens", calls: "tool_use" } as const;
  return {
    stop_reason: stopSequence === undefined ? words[finish] : "stop_sequence",
    stop_sequence: stopSequence ?? null,
  };
}

function block(piece: Piece): JsonObject {
  switch (piece.type) {
    case "thinking":
      return { type: "thinking", thinking: piece.shown ? piece.text : "", signature: piece.signature };
    case "text":
    case "image":
      return { type: "text", text: piece.type === "text" ? piece.text : "" };
    case "call":
      return { type: "tool_use", id: `toolu_${piece.id}`, name: piece.name, input: piece.input };
  }
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
