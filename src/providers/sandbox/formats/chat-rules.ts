import { type JsonObject, objectsIn } from "../../../core/json/json-value.ts";
import { objectOf, textOf } from "../members.ts";
import { type AskContext, refuse } from "./ask.ts";
import { checkAudio, checkFile, checkUrl, contentText } from "./openai.ts";

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
  const { vendor } = context.model;
  const messages = objectsIn(body.messages);
  for (const [i, message] of messages.entries()) {
    const path = `messages[${i}]`;
    for (const [j, part] of objectsIn(message.content).entries()) checkMedia(part, `${path}.content[${j}]`);
    checkThinking(message, path, context);
    checkImages(message, path, context);
  }
  if (PAIRS_CALLS.has(vendor)) checkCalls(messages);
  const { response_format: format, top_logprobs: likeliest } = body;
  const wantsWord = WANTS_JSON_NAMED.has(vendor) && objectOf(format).type === "json_object";
  if (wantsWord && !messages.some(({ content }) => /json/i.test(contentText(content))))
    refuse(
      "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
      "messages",
    );
  if (typeof likeliest === "number" && !(Number.isInteger(likeliest) && likeliest >= 0 && likeliest <= 20))
    refuse("Invalid 'top_logprobs': expected an integer from 0 to 20.", "top_logprobs");
}

function checkMedia(part: JsonObject, path: string): void {
  for (const name of ["image_url", "video_url", "audio_url"])
    checkUrl(textOf(objectOf(part[name]).url), name, `${path}.${name}.url`);
  checkFile(objectOf(part.file).file_data, `${path}.file.file_data`);
  const { data } = objectOf(part.input_audio);
  if (data !== undefined) checkAudio(data, `${path}.input_audio.data`);
}

/** Calls and their results, which come right behind them. */
function checkCalls(messages: readonly JsonObject[]): void {
  let open = new Set<string>();
  // Behind the last message stands none: its calls have no results.
  for (const [i, { role, tool_call_id: id, tool_calls: calls }] of [
    ...messages,
    {} as JsonObject,
  ].entries()) {
    const path = i === messages.length ? "messages" : `messages[${i}].role`;
    if (role === "tool") {
      if (!open.delete(textOf(id)))
        refuse(
          "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
          path,
        );
      continue;
    }
    if (open.size > 0)
      refuse(
        `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open].join(", ").slice(0, 200)}`,
        path,
      );
    open = new Set(objectsIn(calls).map((call) => textOf(call.id)));
  }
}

/** Signatures come back as they were given, on what they were given with. */
function checkThinking(message: JsonObject, path: string, { seal }: AskContext): void {
  for (const [i, detail] of objectsIn(message.reasoning_details).entries()) {
    const { type, thinking, signature, format } = detail;
    if (type !== "thinking" || typeof signature !== "string") continue;
    // A signature without its text is Google's way only, and redacted thinking is none that the sandbox ever gave.
    const isToken = format !== "anthropic-claude-v1" && seal.isToken(signature);
    if (!isToken && !seal.verifies(textOf(thinking), signature))
      refuse(`${path}.reasoning_details.${i}: Invalid \`signature\` in \`thinking\` block`);
  }
  for (const call of objectsIn(message.tool_calls)) {
    const signature = objectOf(objectOf(call.extra_content).google).thought_signature;
    if (typeof signature === "string" && !seal.isToken(signature)) refuse("Corrupted thought signature.");
  }
}

function checkImages(message: JsonObject, path: string, { model, seal }: AskContext): void {
  const isOwn = message.role === "assistant" && model.outputModalities.includes("image");
  const inContent = objectsIn(message.content).filter(({ type }) => type === "image_url");
  for (const image of [...objectsIn(message.images), ...inContent]) {
    const [head = ""] = textOf(objectOf(image.image_url).url).split(",", 1);
    const signature = /;\s*thought_signature=([^;,]*)/i.exec(head)?.[1];
    if (signature === undefined && isOwn) refuse(`${path}: Image part is missing a thought_signature.`);
    if (signature !== undefined && !seal.isToken(signature)) refuse("Corrupted thought signature.");
  }
}
