import type { BegunPart, ChatEvent, FinishReason } from "../../../core/chat.ts";
import {
  filledText,
  isJsonObject,
  type JsonObject,
  objectsIn,
  present,
} from "../../../core/json/json-value.ts";
import { openPartWriter, type PartWriter } from "../../part-writer.ts";
import type { EventDecoder } from "../../translate.ts";

const FINISH: ReadonlyMap<unknown, FinishReason> = new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["tool_use", "tool_calls"],
  ["refusal", "content_filter"],
  // The provider wants to be asked to go on, which a client of another format cannot do.
  ["pause_turn", "error"],
]);

/** The member with the text of a block, or of a piece of one, by its type. */
const TEXT_IN: ReadonlyMap<unknown, string> = new Map([
  ["text", "text"],
  ["text_delta", "text"],
  ["thinking", "thinking"],
  ["thinking_delta", "thinking"],
  ["input_json_delta", "partial_json"],
]);

/** A decoder of a stream. */
export function openDecoder(say: (event: ChatEvent) => void): EventDecoder {
  return new AnswerReader(say);
}

/** A whole answer as the events that its stream would have been: its blocks begin with all they have. */
export function decodeAnswer(answer: JsonObject): readonly ChatEvent[] {
  const events: ChatEvent[] = [];
  const reader = new AnswerReader((event) => void events.push(event));
  reader.read({ type: "message_start", message: answer });
  for (const [index, block] of objectsIn(answer.content).entries()) {
    reader.read({ type: "content_block_start", index, content_block: block });
    reader.read({ type: "content_block_stop", index });
  }
  reader.read({ type: "message_delta", delta: answer });
  reader.end();
  return events;
}

/** The block that is open. */
interface OpenBlock {
  /** The provider's index of it. */
  readonly at: unknown;
  readonly type: unknown;
  /** A whole input that came with the beginning of a call. */
  readonly input: unknown;
  readonly citations: JsonObject[];
}

/** Reads one answer, event by event. */
class AnswerReader implements EventDecoder {
  readonly #say: (event: ChatEvent) => void;
  readonly #parts: PartWriter;
  /** Events of blocks that began before the open one has ended, by the provider's index: parts never mix. */
  readonly #waiting = new Map<unknown, JsonObject[]>();
  #open: OpenBlock | undefined;
  #answerId = "0";
  /** Says why the answer stopped. */
  #stop: JsonObject | undefined;
  /** The last event added a text to the open block, and did nothing else. */
  #addedText = false;

  constructor(say: (event: ChatEvent) => void) {
    this.#say = say;
    this.#parts = openPartWriter(0, say);
  }

  get more(): ((text: string) => void) | undefined {
    return this.#addedText ? this.#addText : undefined;
  }

  read(event: JsonObject): void {
    this.#addedText = false;
    if (this.#stop !== undefined) return;
    switch (event.type) {
      case "message_start": {
        const id = isJsonObject(event.message) ? filledText(event.message.id) : undefined;
        // With other letters it could not go back as it came.
        this.#answerId = id?.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) ?? this.#answerId;
        return this.#say({ type: "start", ...present({ id }) });
      }
      case "content_block_start":
      case "content_block_delta":
      case "content_block_stop":
        this.#readBlock(event);
        this.#addedText = this.#open?.at === event.index && addsText(event);
        return this.#catchUp();
      case "message_delta":
        if (isJsonObject(event.delta) && typeof event.delta.stop_reason === "string")
          this.#stop = event.delta;
    }
  }

  end(): void {
    while (this.#open !== undefined) {
      this.#close();
      this.#catchUp();
    }
    const { stop_reason: told, stop_details: details } = this.#stop ?? {};
    const refusal = isJsonObject(details) && told === "refusal" ? filledText(details.explanation) : undefined;
    // A reason that is not known yet is one all the same; without any the answer is not whole.
    const reason = FINISH.get(told) ?? (told === undefined ? "error" : "stop");
    this.#say({ type: "finish", choice: 0, reason, ...present({ refusal }) });
  }

  readonly #addText = (text: string): void => this.#parts.add(text);

  #readBlock(event: JsonObject): void {
    const { type, index: at, content_block: block, delta } = event;
    if (this.#open !== undefined && this.#open.at !== at)
      this.#waiting.getOrInsertComputed(at, () => []).push(event);
    else if (type === "content_block_stop") this.#close();
    else if (type === "content_block_start") {
      this.#close();
      if (isJsonObject(block)) this.#begin(at, block);
    } else if (isJsonObject(delta)) {
      // Compatible servers leave out how a block begins.
      if (this.#open === undefined) this.#begin(at, { type: textOf(delta.type).replace("_delta", "") });
      this.#add(delta);
    }
  }

  /** What has waited, block by block, as long as none is left open. */
  #catchUp(): void {
    while (this.#open === undefined) {
      const [next] = this.#waiting;
      if (next === undefined) break;
      this.#waiting.delete(next[0]);
      for (const event of next[1]) this.#readBlock(event);
    }
  }

  #begin(at: unknown, block: JsonObject): void {
    const part = begunPart(block, `call_${this.#answerId}_${this.#parts.count}`);
    if (part !== undefined) this.#parts.begin(part);
    const { type, input, citations } = block;
    this.#open = { at, type, input, citations: [...objectsIn(citations)] };
    this.#add(block);
  }

  /** What a block begins with, or what comes of it later. What is of no known kind says nothing. */
  #add(told: JsonObject): void {
    const { type, signature, citation } = told;
    this.#parts.add(textOf(told[TEXT_IN.get(type) ?? ""]));
    if (this.#parts.open === "thinking") this.#parts.sign(textOf(signature));
    if (isJsonObject(citation)) this.#open?.citations.push(citation);
  }

  #close(): void {
    const { type, input, citations = [] } = this.#open ?? {};
    this.#open = undefined;
    if (type === "tool_use" && this.#parts.isEmpty)
      this.#parts.add(JSON.stringify(isJsonObject(input) ? input : {}));
    for (const { url, title } of type === "text" ? citations : []) {
      // Of a page on the web; it stands for the whole text of its block.
      if (typeof url === "string" && url !== "")
        this.#parts.cite({ url, ...(typeof title === "string" ? { title } : {}) });
    }
    this.#parts.end();
  }
}

/** Whether a piece of a block is a text and nothing else. An index that is no plain value is never the same again. */
function addsText({ type, index, delta }: JsonObject): boolean {
  if (type !== "content_block_delta" || typeof index === "object" || !isJsonObject(delta)) return false;
  const name = TEXT_IN.get(delta.type) ?? "";
  return (
    filledText(delta[name]) !== undefined && Object.keys(delta).every((key) => key === "type" || key === name)
  );
}

/** The part that a block begins; `undefined` for what the provider's own tools did. `callId` names a call without an id. */
function begunPart({ type, id, name, data }: JsonObject, callId: string): BegunPart | undefined {
  switch (type) {
    case "text":
      return { type };
    case "thinking":
      return { type, issuer: "anthropic" };
    case "redacted_thinking":
      return { type, data: textOf(data), issuer: "anthropic" };
    case "tool_use":
      return { type: "tool_call", id: textOf(id) || callId, name: textOf(name) };
    default:
      return undefined;
  }
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
