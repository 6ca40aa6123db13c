import type { JsonObject } from "../../core/json-value.ts";
import type { Answer, CallPiece, Choice, Piece, SandboxUsage } from "./answer.ts";
import type { Refusal } from "./ask.ts";
import { isLegacy, readChatAsk } from "./chat-request.ts";
import { dataEvent, type SandboxEvent, type SandboxFormat, type WriteContext } from "./format.ts";
import { numberOf, objectOf } from "./members.ts";
import { piecesOf, tokensOf } from "./text-pieces.ts";

/** Chat completions, as OpenAI's servers speak it, with thinking and images as this interface has them. */
export const chatFormat: SandboxFormat = {
  readAsk: readChatAsk,
  writePlain: (answer, context) => ({
    ...head(answer, context, "chat.completion"),
    choices: answer.choices.map((choice, index) => ({
      index,
      message: message(choice, context),
      logprobs: logprobs(textOf(choice), context),
      finish_reason: finishOf(choice, context),
    })),
    usage: usage(answer.usage),
  }),
  *writeStream(answer, context) {
    const start = head(answer, context, "chat.completion.chunk");
    const chunk = (index: number, delta: JsonObject, more: ChunkMore = {}): SandboxEvent => {
      const said = typeof delta.content === "string" ? delta.content : "";
      const beside = { logprobs: logprobs(said, context), finish_reason: more.finish ?? null };
      return dataEvent({ ...start, choices: [{ index, delta, ...beside }] }, more.tokens);
    };
    for (const [index, choice] of answer.choices.entries()) {
      yield chunk(index, { role: "assistant", content: "", refusal: null });
      for (const { delta, tokens } of deltas(choice, context)) yield chunk(index, delta, { tokens });
      yield chunk(index, {}, { finish: finishOf(choice, context) });
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

function finishOf({ finish }: Choice, { body }: WriteContext): string {
  if (finish !== "calls") return finish;
  return isLegacy(body) ? "function_call" : "tool_calls";
}

const CODES: Readonly<Record<Refusal["meaning"], string | null>> = {
  invalid: null,
  too_long: "context_length_exceeded",
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

function textOf(choice: Choice): string {
  return ofType(choice, "text")
    .map(({ text }) => text)
    .join("");
}

/** How likely each token was, as a model that is sure of most would say; null where nobody asked. */
function logprobs(text: string, { body }: WriteContext): JsonObject | null {
  if (body.logprobs !== true) return null;
  const asked = numberOf(body.top_logprobs) ?? 0;
  return { content: piecesOf(text).map((token) => tokenLogprob(token, asked)), refusal: null };
}

/** A token, with the `asked` likeliest in its place, of which it is the first. */
function tokenLogprob(token: string, asked: number): JsonObject {
  const top = Array.from({ length: asked }, (_, i) => likely(token + "'".repeat(i), i));
  return { ...likely(token, 0), top_logprobs: top };
}

function likely(token: string, place: number): JsonObject {
  return {
    token,
    logprob: -(place + (token.length % 4) / 10),
    bytes: Array.from(new TextEncoder().encode(token)),
  };
}

function message(choice: Choice, { body }: WriteContext): JsonObject {
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
    ...(calls.length === 0
      ? {}
      : isLegacy(body)
        ? { function_call: calls[0]?.function }
        : { tool_calls: calls }),
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
  return ofType(choice, "call").map(toolCall);
}

function toolCall({ id: hex, ...call }: CallPiece): JsonObject {
  const id = `call_${hex}`;
  if (call.isText)
    return { id, type: "custom", custom: { name: call.name, input: String(call.input.input) } };
  return { id, type: "function", function: { name: call.name, arguments: JSON.stringify(call.input) } };
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

function* deltas(choice: Choice, { body }: WriteContext): Iterable<Delta> {
  const said = (name: string, text: string): Delta[] =>
    piecesOf(text).map((piece) => ({ delta: { [name]: piece }, tokens: tokensOf(piece) }));
  for (const piece of ofType(choice, "thinking"))
    if (piece.shown) yield* said("reasoning_content", piece.text);
  const details = reasoningDetails(choice);
  // Once and complete: the official helper keeps the last chunk's value only.
  if (details.length > 0) yield { delta: { reasoning_details: details }, tokens: 0 };
  for (const piece of ofType(choice, "text")) yield* said("content", piece.text);
  for (const [index, call] of toolCalls(choice).entries()) yield* callDeltas(call, index, isLegacy(body));
  const images = imageParts(choice);
  if (images.length > 0) yield { delta: { images }, tokens: 0 };
}

/** A call's head, then what it is called with, piece by piece. */
function* callDeltas(call: JsonObject, index: number, isOld: boolean): Iterable<Delta> {
  const kind = call.type === "custom" ? "custom" : "function";
  const given = kind === "custom" ? "input" : "arguments";
  const { [given]: whole, ...named } = objectOf(call[kind]);
  const delta = (beside: JsonObject, said: JsonObject): JsonObject =>
    isOld ? { function_call: said } : { tool_calls: [{ index, ...beside, [kind]: said }] };
  yield { delta: delta(call, { ...named, [given]: "" }), tokens: 0 };
  for (const piece of piecesOf(String(whole)))
    yield { delta: delta({}, { [given]: piece }), tokens: tokensOf(piece) };
}
