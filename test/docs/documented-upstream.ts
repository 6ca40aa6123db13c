import { type Answer, jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import { chatCompletion, chatStream } from "../upstream/chat-bytes.ts";
import type { SeenRequest } from "../upstream/seen-request.ts";
import { sse } from "../upstream/sse-bytes.ts";
import { RED_SQUARE } from "../../src/catalog/examples/example.ts";
import type { Json } from "../gateway/gateway.ts";

/** What must come back unchanged in the turn after the one that it was given in. */
const SIGNATURE = "c2lnbmF0dXJlIG9mIHRoZSBkb3VibGU=";
const IMAGE = `data:image/png;base64,${RED_SQUARE}`;
const CALL = { id: "call_1", name: "temperature_in", input: { city: "Oslo" } };

/** Answers the examples of the pages as all providers together; a request that lacks what must come back is a 400. */
export function documentedAnswer(request: SeenRequest): Answer {
  const body: Json = request.json();
  const path = request.target.split("?")[0] ?? "";
  if (path.endsWith("/chat/completions")) return chatAnswer(body);
  if (path.endsWith("/messages")) return messagesAnswer(body);
  if (/:(generate|streamGenerate)Content$/.test(path)) return contentAnswer(body, path.includes(":stream"));
  return jsonAnswer(404, { error: { message: `Nobody answers ${path}.` } });
}

function refusal(message: string): Answer {
  return jsonAnswer(400, { error: { message, type: "invalid_request_error", code: 400 } });
}

function chatAnswer(body: Json): Answer {
  const { messages, tools, modalities = [], stream = false } = body;
  const last = messages.at(-1);
  if (modalities.includes("image")) {
    const before = messages.find((message: Json) => message.role === "assistant");
    if (before !== undefined && before.images?.[0]?.image_url?.url !== IMAGE)
      return refusal("The image did not come back as it was.");
    const completion: Json = chatCompletion({ words: ["Here it is."] });
    completion.choices[0].message.images = [{ type: "image_url", image_url: { url: IMAGE } }];
    return jsonAnswer(200, completion);
  }
  if (tools !== undefined && last.role === "user") {
    const calls = [{ id: CALL.id, name: CALL.name, arguments: [JSON.stringify(CALL.input)] }];
    return jsonAnswer(200, chatCompletion({ toolCalls: calls }));
  }
  if (last.role === "tool" && last.tool_call_id !== CALL.id) return refusal("The call is not known.");
  const words = last.role === "tool" ? ["3 degrees."] : ["Hel", "lo."];
  return stream ? sseAnswer(chatStream({ words })) : jsonAnswer(200, chatCompletion({ words }));
}

const THINKING = { type: "thinking", thinking: "I have a tool.", signature: SIGNATURE };

function messagesAnswer(body: Json): Answer {
  const { messages, tools, stream = false } = body;
  const usage = { input_tokens: 9, output_tokens: 4 };
  const answer = (content: unknown, stop: string): Answer =>
    jsonAnswer(200, {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: body.model,
      content,
      stop_reason: stop,
      stop_sequence: null,
      usage,
    });
  if (tools !== undefined && messages.length === 1)
    return answer([THINKING, { type: "tool_use", ...CALL }], "tool_use");
  if (tools !== undefined) {
    const [, turn, results] = messages;
    if (JSON.stringify(turn.content[0]) !== JSON.stringify(THINKING))
      return refusal("The thinking block did not come back as it was.");
    if (results.content[0].tool_use_id !== CALL.id) return refusal("The call is not known.");
    return answer([{ type: "text", text: "3 degrees." }], "end_turn");
  }
  if (stream !== true) return answer([{ type: "text", text: "Hello." }], "end_turn");
  const start = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: body.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...usage, output_tokens: 1 },
  };
  const text = (words: string): object => ({
    type: "content_block_delta",
    index: 0,
    delta: { type: "text_delta", text: words },
  });
  const events: Json[] = [
    { type: "message_start", message: start },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    text("Hel"),
    text("lo."),
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage },
    { type: "message_stop" },
  ];
  return sseAnswer(sse(events, { eventName: (event: Json) => event.type }));
}

function contentAnswer(body: Json, stream: boolean): Answer {
  const { contents, tools, generationConfig = {} } = body;
  const usageMetadata = { promptTokenCount: 9, candidatesTokenCount: 4, totalTokenCount: 13 };
  const chunk = (parts: unknown, finishReason?: string): Json => ({
    candidates: [
      {
        content: { role: "model", parts },
        index: 0,
        ...(finishReason === undefined ? {} : { finishReason }),
      },
    ],
    usageMetadata,
    modelVersion: "double-1",
    responseId: "r1",
  });
  const before = contents.length > 1 ? contents[1].parts[0] : undefined;
  if (before !== undefined && before.thoughtSignature !== SIGNATURE)
    return refusal("The signature did not come back.");
  if ((generationConfig.responseModalities ?? []).includes("IMAGE")) {
    const inlineData = { mimeType: "image/png", data: RED_SQUARE };
    return jsonAnswer(200, chunk([{ inlineData, thoughtSignature: SIGNATURE }], "STOP"));
  }
  if (tools !== undefined && before === undefined) {
    const functionCall = { id: CALL.id, name: CALL.name, args: CALL.input };
    return jsonAnswer(200, chunk([{ functionCall, thoughtSignature: SIGNATURE }], "STOP"));
  }
  if (stream) return sseAnswer(sse([chunk([{ text: "Hel" }]), chunk([{ text: "lo." }], "STOP")]));
  return jsonAnswer(200, chunk([{ text: before === undefined ? "Hello." : "3 degrees." }], "STOP"));
}
