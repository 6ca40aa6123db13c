import { filled, type JsonObject, objectsIn, present } from "../../../core/json/json-value.ts";
import { writeDataUrl } from "../../../protocols/data-url.ts";
import type { Answer, Call, Choice, SandboxUsage } from "../answer.ts";
import { REFUSAL_WORDS } from "./ask.ts";
import { isLegacy, readChatAsk } from "./chat-request.ts";
import { eventOf, type SandboxEvent, type SandboxFormat, type WriteContext } from "./format.ts";
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
    const chunk = (index: number, [delta, said = ""]: Delta, finish: string | null = null): SandboxEvent => {
      const beside = { logprobs: logprobs(textOf(delta.content), context), finish_reason: finish };
      return eventOf({ ...start, choices: [{ index, delta, ...beside }] }, tokensOf(said));
    };
    for (const [index, choice] of answer.choices.entries()) {
      yield chunk(index, [{ role: "assistant", content: "", refusal: null }]);
      for (const delta of deltas(message(choice, context))) yield chunk(index, delta);
      yield chunk(index, [{}], finishOf(choice, context));
    }
    if (objectOf(context.body.stream_options).include_usage === true)
      yield eventOf({ ...start, choices: [], usage: usage(answer.usage) });
    yield { text: "data: [DONE]\n\n", tokens: 0 };
  },
  writeRefusal: ({ message: text, meaning, param, status }) => ({
    error: {
      message: text,
      type: status < 500 ? "invalid_request_error" : "server_error",
      param: param ?? null,
      code: REFUSAL_WORDS[meaning][0],
    },
  }),
};

function finishOf({ finish }: Choice, { body }: WriteContext): string {
  if (finish !== "calls") return finish;
  return isLegacy(body) ? "function_call" : "tool_calls";
}

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
    completion_tokens_details: present({
      reasoning_tokens: thinking,
      audio_tokens: 0,
      image_tokens: image || undefined,
    }),
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
  const thought = thinking?.shown === true ? thinking : undefined;
  const calls = pieces.filter((piece) => piece.type === "call").map(toolCall);
  const images = pieces
    .filter((piece) => piece.type === "image")
    .map(({ data, signature }) => writeDataUrl({ mediaType: "image/png", data, signature }))
    .map((url) => ({ type: "image_url", image_url: { url } }));
  return present({
    role: "assistant",
    content: text?.text ?? null,
    refusal: null,
    reasoning_content: thought?.text,
    reasoning_details: thought && [
      { type: "thinking", thinking: thought.text, signature: thought.signature, index: 0 },
    ],
    ...(isLegacy(body) ? { function_call: calls[0]?.function } : { tool_calls: filled(calls) }),
    images: filled(images),
  });
}

function toolCall({ id, name, input, isText }: Call): JsonObject {
  const [type, said] = isText
    ? ["custom", { name, input: String(input.input) }]
    : ["function", { name, arguments: JSON.stringify(input) }];
  return { id: `call_${id}`, type, [type]: said };
}

/** A part of a message, and the words that it says. */
type Delta = readonly [delta: JsonObject, said?: string | undefined];

/** A message piece by piece. Lists come whole: the official helper keeps the last chunk's only. */
function* deltas(whole: JsonObject): Iterable<Delta> {
  const { content, reasoning_content: thinking, reasoning_details: details, images } = whole;
  for (const piece of piecesOf(textOf(thinking))) yield [{ reasoning_content: piece }, piece];
  if (details !== undefined) yield [{ reasoning_details: details }];
  for (const piece of piecesOf(textOf(content))) yield [{ content: piece }, piece];
  for (const [index, { type, ...call }] of objectsIn(whole.tool_calls).entries())
    for (const [part, said] of fragments(objectOf(call[textOf(type)]))) {
      const begun = said === undefined ? { type, ...call } : {};
      yield [{ tool_calls: [{ index, ...begun, [textOf(type)]: part }] }, said];
    }
  if (whole.function_call !== undefined)
    for (const [part, said] of fragments(objectOf(whole.function_call)))
      yield [{ function_call: part }, said];
  if (images !== undefined) yield [{ images }];
}

/** A call's name, then what it is called with, piece by piece. */
function fragments({ name, ...given }: JsonObject): readonly Delta[] {
  const [word = "", text] = Object.entries(given)[0] ?? [];
  return [
    [{ name, [word]: "" }],
    ...piecesOf(textOf(text)).map((piece): Delta => [{ [word]: piece }, piece]),
  ];
}
