import { type JsonObject, objectsIn } from "../../../core/json/json-value.ts";
import { type AskContext, type Fault, refuseFirst } from "./ask.ts";
import { base64In, canBeFollowed, isBase64 } from "./given-media.ts";
import { objectOf, textOf } from "../members.ts";

/** Vendors that want every call answered, and every answer called for; the others were not seen to. */
const PAIRS_CALLS: ReadonlySet<string> = new Set(["openai", "deepseek", "alibaba", "moonshotai"]);

/** Vendors that take JSON without a schema only where the prompt has the word. */
const WANTS_JSON_NAMED: ReadonlySet<string> = new Set(["openai", "deepseek", "alibaba"]);

/**
 * Refuses what the vendors' servers refuse of chat completions and the gateway lets up to them, in OpenAI's words. Also
 * refuses signatures that are not the sandbox's or were changed. Sources: recorded errors and
 * https://platform.openai.com/docs/api-reference/chat.
 */
export function checkChat(body: JsonObject, context: AskContext): void {
  refuseFirst(faultsOf(body, context));
}

function* faultsOf(body: JsonObject, context: AskContext): Iterable<Fault> {
  const messages = objectsIn(body.messages);
  for (const [i, message] of messages.entries()) {
    const path = `messages[${i}]`;
    for (const [j, part] of objectsIn(message.content).entries())
      yield* faultsOfMedia(part, `${path}.content[${j}]`);
    yield* faultsOfThinking(message, path, context);
    yield* faultsOfImages(message, path, context);
  }
  if (PAIRS_CALLS.has(context.model.vendor)) yield* faultsOfCalls(messages);
  const { response_format: format, top_logprobs: likeliest } = body;
  const parts = messages.flatMap(({ content }) => objectsIn(content));
  const texts = [...messages.map(({ content }) => content), ...parts.map(({ text }) => text)];
  if (
    WANTS_JSON_NAMED.has(context.model.vendor) &&
    objectOf(format).type === "json_object" &&
    !texts.some((text) => /json/i.test(textOf(text)))
  )
    yield [
      "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
      "messages",
    ];
  if (typeof likeliest === "number" && !(Number.isInteger(likeliest) && likeliest >= 0 && likeliest <= 20))
    yield ["Invalid 'top_logprobs': expected an integer from 0 to 20.", "top_logprobs"];
}

function* faultsOfMedia(part: JsonObject, path: string): Iterable<Fault> {
  for (const name of ["image_url", "video_url", "audio_url"]) {
    const url = textOf(objectOf(part[name]).url);
    if (!canBeFollowed(url)) yield [`Error while downloading the ${name}.`, `${path}.${name}.url`];
    if (/^data:/i.test(url) && !isBase64(base64In(url) ?? ""))
      yield [`Invalid base64 ${name}.`, `${path}.${name}.url`];
  }
  const { file_data: file } = objectOf(part.file);
  if (file !== undefined && !isBase64(base64In(textOf(file)) ?? textOf(file)))
    yield ["Invalid file data: expected base64-encoded data.", `${path}.file.file_data`];
  const { data } = objectOf(part.input_audio);
  if (data !== undefined && !isBase64(textOf(data)))
    yield ["Invalid base64 input_audio.", `${path}.input_audio.data`];
}

/** Calls and their results, which come right behind them. */
function* faultsOfCalls(messages: readonly JsonObject[]): Iterable<Fault> {
  let open = new Set<string>();
  for (const [i, { role, tool_call_id: id, tool_calls: calls }] of [
    ...messages,
    {} as JsonObject,
  ].entries()) {
    const path = i === messages.length ? "messages" : `messages[${i}].role`;
    if (role === "tool") {
      if (!open.delete(textOf(id)))
        yield [
          "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
          path,
        ];
      continue;
    }
    if (open.size > 0)
      yield [
        `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open].join(", ").slice(0, 200)}`,
        path,
      ];
    open = new Set(objectsIn(calls).map((call) => textOf(call.id)));
  }
}

const CORRUPTED = "Corrupted thought signature.";

/** Signatures come back as they were given, on what they were given with. */
function* faultsOfThinking(message: JsonObject, path: string, { seal }: AskContext): Iterable<Fault> {
  for (const [i, detail] of objectsIn(message.reasoning_details).entries()) {
    const { type, thinking, signature, format } = detail;
    if (type !== "thinking" || typeof signature !== "string") continue;
    // A signature without its text is Google's way only, and redacted thinking is none that the sandbox ever gave.
    const isToken = format !== "anthropic-claude-v1" && seal.isToken(signature);
    if (!isToken && !seal.verifies(textOf(thinking), signature))
      yield `${path}.reasoning_details.${i}: Invalid \`signature\` in \`thinking\` block`;
  }
  for (const call of objectsIn(message.tool_calls)) {
    const signature = objectOf(objectOf(call.extra_content).google).thought_signature;
    if (typeof signature === "string" && !seal.isToken(signature)) yield CORRUPTED;
  }
}

function* faultsOfImages(message: JsonObject, path: string, { model, seal }: AskContext): Iterable<Fault> {
  const isOwn = message.role === "assistant" && model.outputModalities.includes("image");
  const inContent = objectsIn(message.content).filter(({ type }) => type === "image_url");
  for (const image of [...objectsIn(message.images), ...inContent]) {
    const [head = ""] = textOf(objectOf(image.image_url).url).split(",", 1);
    const signature = /;\s*thought_signature=([^;,]*)/i.exec(head)?.[1];
    if (signature === undefined && isOwn) yield `${path}: Image part is missing a thought_signature.`;
    if (signature !== undefined && !seal.isToken(signature)) yield CORRUPTED;
  }
}
