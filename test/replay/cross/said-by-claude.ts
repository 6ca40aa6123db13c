import { messagesEvents, streamedUsage } from "../messages/events.ts";
import type { Json } from "../wire-json.ts";
import type { Piece, Said } from "./said.ts";

/** Source: "Handling stop reasons" of the messages reference; a pause is no end of a chat completion. */
const FINISH: Readonly<Record<string, string>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  refusal: "content_filter",
  pause_turn: "error",
};

/** Reads an answer in the messages format, whole or streamed. */
export function saidByClaude(body: Json): Said {
  return typeof body === "string" ? readStream(body) : readMessage(body, false);
}

function readStream(text: string): Said {
  const events = messagesEvents(text);
  const blocks: Json[] = [];
  let stop: Json;
  for (const { value } of events) {
    const block = blocks[value.index];
    if (value.type === "content_block_start") blocks[value.index] = structuredClone(value.content_block);
    if (value.type === "content_block_delta") join(block, value.delta);
    if (value.type === "content_block_stop" && block.json) block.input = JSON.parse(block.json);
    if (value.type === "message_delta") stop = value.delta.stop_reason ?? stop;
  }
  const broke = events.some(({ value }) => value.type === "error");
  return readMessage({ content: blocks, stop_reason: stop, usage: streamedUsage(events) }, broke);
}

function join(block: Json, delta: Json): void {
  const add = (name: string, more: string): void => void (block[name] = (block[name] ?? "") + more);
  if (delta.type === "text_delta") add("text", delta.text);
  if (delta.type === "thinking_delta") add("thinking", delta.thinking);
  if (delta.type === "signature_delta") block.signature = delta.signature;
  if (delta.type === "input_json_delta") add("json", delta.partial_json);
  if (delta.type === "citations_delta") block.citations = [...(block.citations ?? []), delta.citation];
}

function readMessage({ content, stop_reason: stop, usage }: Json, broke: boolean): Said {
  const blocks: Json[] = content.filter((block: Json) => block !== undefined);
  const pieces = blocks.flatMap(pieceOf);
  const finish = FINISH[stop] ?? (broke ? "error" : `unknown ${stop}`);
  const cited = blocks.flatMap(({ citations }) => citations ?? []).flatMap(({ url }: Json) => url ?? []);
  return {
    format: "anthropic-claude-v1",
    choices: [
      {
        pieces,
        finish: finish === "stop" && pieces.some(({ kind }) => kind === "call") ? "tool_calls" : finish,
        cited,
      },
    ],
    usage,
    blocked: false,
    broke,
  };
}

/** What the provider's own tools did is no part of a chat. */
function pieceOf(block: Json): Piece[] {
  const { type, signature = "" } = block;
  if (type === "text") return block.text === "" ? [] : [{ kind: "text", text: block.text }];
  if (type === "thinking")
    return block.thinking + signature === "" ? [] : [{ kind: "thinking", text: block.thinking, signature }];
  if (type === "redacted_thinking") return [{ kind: "redacted", data: block.data }];
  if (type !== "tool_use") return [];
  return [{ kind: "call", id: block.id, name: block.name, args: block.input, signature: "" }];
}
