import type { JsonObject } from "../../core/json-value.ts";
import { Refusal } from "./ask.ts";
import type { AskContext } from "./format.ts";
import { base64In, canBeFollowed, isBase64 } from "./given-media.ts";
import { objectOf, objectsOf, textOf } from "./members.ts";

/**
 * Refuses what the vendors' servers refuse of chat completions and the gateway lets up to them, in OpenAI's words; and
 * signatures that are not the sandbox's or were changed. Sources: recorded errors and
 * https://platform.openai.com/docs/api-reference/chat.
 */
export function checkChat(body: JsonObject, context: AskContext): void {
  const messages = objectsOf(body.messages);
  messages.forEach((message, i) => {
    const path = `messages[${i}]`;
    checkMedia(message, path);
    checkThinking(message, path, context);
    checkImages(message, path, context);
  });
  if (PAIRS_CALLS.has(context.model.vendor)) checkCalls(messages);
  if (WANTS_JSON_NAMED.has(context.model.vendor)) checkJsonIsNamed(body, messages);
  const { top_logprobs: likeliest } = body;
  if (typeof likeliest === "number" && !(Number.isInteger(likeliest) && likeliest >= 0 && likeliest <= 20))
    throw invalid("Invalid 'top_logprobs': expected an integer from 0 to 20.", "top_logprobs");
}

function invalid(message: string, param?: string): Refusal {
  return new Refusal(400, "invalid", message, param);
}

function checkMedia({ content }: JsonObject, path: string): void {
  objectsOf(content).forEach((part, i) => {
    const at = `${path}.content[${i}]`;
    for (const name of ["image_url", "video_url", "audio_url"] as const) {
      const { url } = objectOf(part[name]);
      if (url !== undefined) checkUrl(textOf(url), name, `${at}.${name}.url`);
    }
    const { file_data: file } = objectOf(part.file);
    const { data } = objectOf(part.input_audio);
    if (file !== undefined && !isBase64(base64In(textOf(file)) ?? textOf(file)))
      throw invalid("Invalid file data: expected base64-encoded data.", `${at}.file.file_data`);
    if (data !== undefined && !isBase64(textOf(data)))
      throw invalid("Invalid base64 input_audio.", `${at}.input_audio.data`);
  });
}

function checkUrl(url: string, name: string, path: string): void {
  if (!/^data:/i.test(url)) {
    if (!canBeFollowed(url)) throw invalid(`Error while downloading the ${name}.`, path);
    return;
  }
  if (!isBase64(base64In(url) ?? "")) throw invalid(`Invalid base64 ${name}.`, path);
}

/** Vendors that want every call answered, and every answer called for; the others were not seen to. */
const PAIRS_CALLS: ReadonlySet<string> = new Set(["openai", "deepseek", "alibaba", "moonshotai"]);

function checkCalls(messages: readonly JsonObject[]): void {
  let open = new Set<string>();
  messages.forEach((message, i) => {
    if (message.role === "tool") {
      if (open.delete(textOf(message.tool_call_id))) return;
      throw invalid(
        "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
        `messages[${i}].role`,
      );
    }
    refuseOpen(open, `messages[${i}].role`);
    open = new Set(objectsOf(message.tool_calls).map(({ id }) => textOf(id)));
  });
  refuseOpen(open, "messages");
}

function refuseOpen(open: ReadonlySet<string>, path: string): void {
  if (open.size === 0) return;
  const ids = [...open].join(", ").slice(0, 200);
  throw invalid(
    `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${ids}`,
    path,
  );
}

/** Vendors that take JSON without a schema only where the prompt has the word. */
const WANTS_JSON_NAMED: ReadonlySet<string> = new Set(["openai", "deepseek", "alibaba"]);

function checkJsonIsNamed({ response_format: format }: JsonObject, messages: readonly JsonObject[]): void {
  if (objectOf(format).type !== "json_object") return;
  const isNamed = ({ content }: JsonObject): boolean =>
    [content, ...objectsOf(content).map(({ text }) => text)].some((text) => /json/i.test(textOf(text)));
  if (messages.some(isNamed)) return;
  throw invalid(
    "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
    "messages",
  );
}

/** Signatures come back as they were given, on what they were given with. */
function checkThinking(message: JsonObject, path: string, { seal }: AskContext): void {
  objectsOf(message.reasoning_details).forEach(({ type, thinking, signature, format }, i) => {
    if (type !== "thinking" || typeof signature !== "string") return;
    // A signature without its text is Google's way only, and redacted thinking is none that the sandbox ever gave.
    const mayBeToken = format !== "anthropic-claude-v1";
    if (seal.verifies(textOf(thinking), signature) || (mayBeToken && seal.isToken(signature))) return;
    throw invalid(`${path}.reasoning_details.${i}: Invalid \`signature\` in \`thinking\` block`);
  });
  for (const call of objectsOf(message.tool_calls)) {
    const signature = objectOf(objectOf(call.extra_content).google).thought_signature;
    if (typeof signature === "string" && !seal.isToken(signature)) throw invalid(CORRUPTED);
  }
}

const CORRUPTED = "Corrupted thought signature.";

function checkImages(message: JsonObject, path: string, { model, seal }: AskContext): void {
  const images = [
    ...objectsOf(message.images),
    ...objectsOf(message.content).filter(({ type }) => type === "image_url"),
  ];
  for (const image of images) {
    const url = textOf(objectOf(image.image_url).url);
    const comma = url.indexOf(",");
    const signature = /;\s*thought_signature=([^;,]*)/i.exec(url.slice(0, Math.max(0, comma)))?.[1];
    if (signature !== undefined && !seal.isToken(signature)) throw invalid(CORRUPTED);
    const isOwn = message.role === "assistant" && model.outputModalities.includes("image");
    if (signature === undefined && isOwn)
      throw invalid(`${path}: Image part is missing a thought_signature.`);
  }
}
