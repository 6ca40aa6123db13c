import { type JsonObject, objectsIn } from "../../../core/json/json-value.ts";
import type { Answer, Call, Choice, SandboxUsage } from "../answer.ts";
import type { Refusal } from "./ask.ts";
import { isLegacy, readChatAsk } from "./chat-request.ts";
import { dataEvent, type SandboxEvent, type SandboxFormat, type WriteContext } from "./format.ts";
import { numberOf, objectOf, textOf } from "../members.ts";
import { piecesOf, tokensOf } from "../text-pieces.ts";

/** Chat completions, as OpenAI's servers speak it, with thinking and images as this interface has them. */
export const chatFormat: SandboxFormat = {
  readAsk: readChatAsk,
  writePlain: (answer, context) => ({
    ...head(answer, context, "chat.completion"),
    choices: answer.choices.map((choice, index) => {
      const said = message(choice, context);
      return {
        index,
        message: said,
        logprobs: logprobs(textOf(said.content), context),
        finish_reason: finishOf(choice, context),
      };
    }),
    usage: usage(answer.usage),
  }),
  *writeStream(answer, context) {
    const start = head(answer, context, "chat.completion.chunk");
    const chunk = (index: number, delta: JsonObject, finish: string | null = null): SandboxEvent => {
      const beside = { logprobs: logprobs(textOf(delta.content), context), finish_reason: finish };
      return dataEvent({ ...start, choices: [{ index, delta, ...beside }] }, tokensIn(delta));
    };
    for (const [index, choice] of answer.choices.entries()) {
      yield chunk(index, { role: "assistant", content: "", refusal: null });
      for (const delta of deltas(message(choice, context))) yield chunk(index, delta);
      yield chunk(index, {}, finishOf(choice, context));
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

/** How likely each token was, as a model that is sure of most would say; null where nobody asked. */
function logprobs(text: string, { body }: WriteContext): JsonObject | null {
  if (body.logprobs !== true) return null;
  const content = piecesOf(text).map((token) => {
    // The token itself is the first of the likeliest in its place.
    const top = Array.from({ length: numberOf(body.top_logprobs) ?? 0 }, (_, i) => likely(token, i));
    return Object.assign(likely(token, 0), { top_logprobs: top });
  });
  return { content, refusal: null };
}

function likely(said: string, place: number): JsonObject {
  const token = said + "'".repeat(place);
  const logprob = -(place + (token.length % 4) / 10);
  return { token, logprob, bytes: Array.from(new TextEncoder().encode(token)) };
}

/** Beside its text a choice has thinking, calls or an image, or several of these. */
function message({ pieces }: Choice, { body }: WriteContext): JsonObject {
  const text = pieces.find((piece) => piece.type === "text");
  const thinking = pieces.find((piece) => piece.type === "thinking");
  const calls = pieces.filter((piece) => piece.type === "call").map(toolCall);
  const images = pieces.flatMap((piece) => {
    if (piece.type !== "image") return [];
    const signature = piece.signature.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
    const url = `data:image/png;thought_signature=${signature};base64,${piece.data}`;
    return [{ type: "image_url", image_url: { url } }];
  });
  return {
    role: "assistant",
    content: text?.text ?? null,
    refusal: null,
    ...(thinking?.shown === true
      ? {
          reasoning_content: thinking.text,
          reasoning_details: [
            { type: "thinking", thinking: thinking.text, signature: thinking.signature, index: 0 },
          ],
        }
      : {}),
    ...(calls.length === 0
      ? {}
      : isLegacy(body)
        ? { function_call: calls[0]?.function }
        : { tool_calls: calls }),
    ...(images.length === 0 ? {} : { images }),
  };
}

function toolCall({ id, name, input, isText }: Call): JsonObject {
  const [type, said] = isText
    ? ["custom", { name, input: String(input.input) }]
    : ["function", { name, arguments: JSON.stringify(input) }];
  return { id: `call_${id}`, type, [type]: said };
}

/** A message piece by piece. Lists come whole: the official helper keeps the last chunk's only. */
function* deltas(whole: JsonObject): Iterable<JsonObject> {
  const { content, reasoning_content: thinking, reasoning_details: details, images } = whole;
  for (const piece of piecesOf(textOf(thinking))) yield { reasoning_content: piece };
  if (details !== undefined) yield { reasoning_details: details };
  for (const piece of piecesOf(textOf(content))) yield { content: piece };
  for (const [index, { type, ...call }] of objectsIn(whole.tool_calls).entries()) {
    const [begun, ...more] = fragments(objectOf(call[textOf(type)]));
    yield { tool_calls: [{ index, type, ...call, [textOf(type)]: begun }] };
    for (const said of more) yield { tool_calls: [{ index, [textOf(type)]: said }] };
  }
  if (whole.function_call !== undefined)
    for (const said of fragments(objectOf(whole.function_call))) yield { function_call: said };
  if (images !== undefined) yield { images };
}

/** A call's name, then what it is called with, piece by piece. */
function fragments({ name, ...given }: JsonObject): readonly JsonObject[] {
  const [word = "", text] = Object.entries(given)[0] ?? [];
  return [{ name, [word]: "" }, ...piecesOf(textOf(text)).map((piece) => ({ [word]: piece }))];
}

/** Tokens of what a delta says in words. */
function tokensIn({
  content,
  reasoning_content: thinking,
  tool_calls: calls,
  function_call: old,
}: JsonObject): number {
  const [call] = objectsIn(calls);
  const { arguments: given, input } = objectOf(call?.function ?? call?.custom ?? old);
  return tokensOf(...[content, thinking, given, input].map(textOf));
}
