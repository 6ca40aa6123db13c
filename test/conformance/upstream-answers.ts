import { type Answer, jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import type { SeenRequest } from "../upstream/seen-request.ts";

// Small good answers of the three formats, as their providers send them.

const CHAT_USAGE = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
const MESSAGES_USAGE = { input_tokens: 7, output_tokens: 3 };
const GENERATE_USAGE = { promptTokenCount: 7, candidatesTokenCount: 3, totalTokenCount: 10 };

/** Text that every answer has. */
export const SAID = "Hello.";

/** Tokens that every answer tells of. */
export const TOLD = { input: 7, output: 3 };

/** A good answer in the format that the request's path belongs to, streamed where it asks for it. */
export function goodAnswer(request: SeenRequest): Answer {
  if (request.target.startsWith("/v1/messages")) return messagesAnswer(isStreamed(request));
  if (request.target.includes(":")) return generateAnswer(request.target.includes(":stream"));
  return chatAnswer(isStreamed(request));
}

function isStreamed(request: SeenRequest): boolean {
  return (request.json() as { stream?: unknown }).stream === true;
}

function chatAnswer(stream: boolean): Answer {
  const head = { id: "chatcmpl-1", created: 1_700_000_000, model: "up" };
  if (!stream) {
    const message = { role: "assistant", content: SAID, refusal: null };
    const choices = [{ index: 0, message, logprobs: null, finish_reason: "stop" }];
    return jsonAnswer(200, { ...head, object: "chat.completion", choices, usage: CHAT_USAGE });
  }
  const chunk = (delta: object, finish_reason: string | null): object => ({
    ...head,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason }],
  });
  return dataOnly([
    chunk({ role: "assistant", content: "" }, null),
    chunk({ content: "Hel" }, null),
    chunk({ content: "lo." }, null),
    chunk({}, "stop"),
    { ...head, object: "chat.completion.chunk", choices: [], usage: CHAT_USAGE },
    "[DONE]",
  ]);
}

function messagesAnswer(stream: boolean): Answer {
  const message = { id: "msg_1", type: "message", role: "assistant", model: "up" };
  if (!stream) {
    const content = [{ type: "text", text: SAID }];
    const end = { stop_reason: "end_turn", stop_sequence: null, usage: MESSAGES_USAGE };
    return jsonAnswer(200, { ...message, content, ...end });
  }
  const events = [
    {
      type: "message_start",
      message: {
        ...message,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 7, output_tokens: 1 },
      },
    },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "ping" },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hel" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "lo." } },
    { type: "content_block_stop", index: 0 },
    {
      type: "message_delta",
      delta: { stop_reason: "end_turn", stop_sequence: null },
      usage: { output_tokens: 3 },
    },
    { type: "message_stop" },
  ];
  return sseAnswer(
    events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""),
  );
}

function generateAnswer(stream: boolean): Answer {
  const candidate = (text: string, end: object): object => ({
    candidates: [{ content: { role: "model", parts: [{ text }] }, index: 0, ...end }],
    modelVersion: "up",
    responseId: "r1",
  });
  const finished = { finishReason: "STOP" };
  if (!stream) return jsonAnswer(200, { ...candidate(SAID, finished), usageMetadata: GENERATE_USAGE });
  return dataOnly([candidate("Hel", {}), { ...candidate("lo.", finished), usageMetadata: GENERATE_USAGE }]);
}

function dataOnly(events: readonly (object | string)[]): Answer {
  return sseAnswer(
    events.map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`).join(""),
  );
}
