import type { JsonObject } from "../../core/json-value.ts";
import type { Answer, Choice, Piece, SandboxUsage } from "./answer.ts";
import type { Refusal } from "./ask.ts";
import { readChatAsk } from "./chat-request.ts";
import { dataEvent, type SandboxEvent, type SandboxFormat, type WriteContext } from "./format.ts";
import { objectOf } from "./members.ts";
import { piecesOf, tokensOf } from "./text-pieces.ts";

/** Chat completions, as OpenAI's servers speak it, with thinking and images as this interface has them. */
export const chatFormat: SandboxFormat = {
  readAsk: readChatAsk,
  writePlain: (answer, context) => ({
    ...head(answer, context, "chat.completion"),
    choices: answer.choices.map((choice, index) => ({
      index,
      message: message(choice),
      logprobs: null,
      finish_reason: FINISH[choice.finish],
    })),
    usage: usage(answer.usage),
  }),
  *writeStream(answer, context) {
    const start = head(answer, context, "chat.completion.chunk");
    const chunk = (index: number, delta: JsonObject, more: ChunkMore = {}): SandboxEvent =>
      dataEvent(
        { ...start, choices: [{ index, delta, logprobs: null, finish_reason: more.finish ?? null }] },
        more.tokens,
      );
    for (const [index, choice] of answer.choices.entries()) {
      yield chunk(index, { role: "assistant", content: "", refusal: null });
      for (const { delta, tokens } of deltas(choice)) yield chunk(index, delta, { tokens });
      yield chunk(index, {}, { finish: FINISH[choice.finish] });
    }
    if (objectOf(context.body.stream_options).include_usage === true)
      yield dataEvent({ ...start, choices: [], usage: usage(answer.usage) });
    yield { text: "data: [DONE]\n\n", tokens: 0 };
  },
  writeRefusal: ({ message: text, meaning, param, status }) => ({
    error: {
      message: text,
      type: status < 500 ? "invalid_request_error" : "server_error",
      param: param ?? null,
      code: CODES[meaning],
    },
  }),
};

interface ChunkMore {
  readonly finish?: string;
  readonly tokens?: number;
}

const FINISH = { stop: "stop", length: "length", calls: "tool_calls" } as const;

const CODES: Readonly<Record<Refusal["meaning"], string | null>> = {
  invalid: null,
  moderation: "content_policy_violation",
  overloaded: "server_overloaded",
  timeout: null,
  not_found: "model_not_found",
};

function head({ id }: Answer, { model, nowSec }: WriteContext, object: string): JsonObject {
  return { id: `chatcmpl-${id}`, object, created: nowSec, model: model.id };
}

function usage({ input, text, thinking, image }: SandboxUsage): JsonObject {
  const output = text + thinking + image;
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: thinking,
      audio_tokens: 0,
      ...(image === 0 ? {} : { image_tokens: image }),
    },
  };
}

function ofType<T extends Piece["type"]>(choice: Choice, type: T): readonly (Piece & { type: T })[] {
  return choice.pieces.filter((piece): piece is Piece & { type: T } => piece.type === type);
}

function message(choice: Choice): JsonObject {
  const text = ofType(choice, "text").map((piece) => piece.text);
  const details = reasoningDetails(choice);
  const calls = toolCalls(choice);
  const images = imageParts(choice);
  return {
    role: "assistant",
    content: text.length === 0 ? null : text.join(""),
    refusal: null,
    ...(details.length === 0
      ? {}
      : { reasoning_content: details.map(({ thinking }) => thinking).join(""), reasoning_details: details }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(images.length === 0 ? {} : { images }),
  };
}

function reasoningDetails(choice: Choice): readonly JsonObject[] {
  return choice.pieces.flatMap((piece, index) =>
    piece.type !== "thinking" || !piece.shown
      ? []
      : [{ type: "thinking", thinking: piece.text, signature: piece.signature, index }],
  );
}

function toolCalls(choice: Choice): readonly JsonObject[] {
  return ofType(choice, "call").map(({ id, name, input }) => ({
    id: `call_${id}`,
    type: "function",
    function: { name, arguments: JSON.stringify(input) },
  }));
}

function imageParts(choice: Choice): readonly JsonObject[] {
  return ofType(choice, "image").map(({ data, signature }) => {
    const signed = signature.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
    return {
      type: "image_url",
      image_url: { url: `data:image/png;thought_signature=${signed};base64,${data}` },
    };
  });
}

interface Delta {
  readonly delta: JsonObject;
  readonly tokens: number;
}

function* deltas(choice: Choice): Iterable<Delta> {
  const said = (name: string, text: string): Delta[] =>
    piecesOf(text).map((piece) => ({ delta: { [name]: piece }, tokens: tokensOf(piece) }));
  for (const piece of ofType(choice, "thinking"))
    if (piece.shown) yield* said("reasoning_content", piece.text);
  const details = reasoningDetails(choice);
  // Once and complete: the official helper keeps the last chunk's value only.
  if (details.length > 0) yield { delta: { reasoning_details: details }, tokens: 0 };
  for (const piece of ofType(choice, "text")) yield* said("content", piece.text);
  for (const [index, call] of toolCalls(choice).entries()) {
    const called = objectOf(call.function);
    const text = String(called.arguments);
    yield { delta: { tool_calls: [{ index, ...call, function: { ...called, arguments: "" } }] }, tokens: 0 };
    for (const piece of piecesOf(text))
      yield {
        delta: { tool_calls: [{ index, function: { arguments: piece } }] },
        tokens: tokensOf(piece),
      };
  }
  const images = imageParts(choice);
  if (images.length > 0) yield { delta: { images }, tokens: 0 };
}
