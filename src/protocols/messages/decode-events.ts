import type { ChatEvent, Citation, FinishReason } from "../../core/chat.ts";
import { isJsonObject, type JsonObject } from "../../core/json-value.ts";
import type { EventDecoder } from "../translate.ts";

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

/** A decoder of a stream. The reason to stop is told at the end, whatever comes after it. */
export function openDecoder(say: (event: ChatEvent) => void): EventDecoder {
  const answer = new AnswerReader(say);
  const held: JsonObject[] = [];
  return {
    read(data, isHeld) {
      const event: unknown = JSON.parse(data);
      if (!isJsonObject(event)) return;
      if (isHeld) held.push(event);
      else answer.read(event);
    },
    end: () => held.forEach((event) => answer.read(event)),
  };
}

/** A whole answer as the events that its stream would have been. */
export function decodeAnswer(answer: JsonObject): readonly ChatEvent[] {
  const events: ChatEvent[] = [];
  const blocks: readonly unknown[] = Array.isArray(answer.content) ? answer.content : [];
  const reader = new AnswerReader((event) => void events.push(event));
  reader.read({ type: "message_start", message: answer });
  for (const [index, block] of blocks.entries()) {
    reader.read({ type: "content_block_start", index, content_block: block });
    reader.read({ type: "content_block_stop", index });
  }
  reader.finish(answer);
  return events;
}

/** The block that is open: what its end needs. */
interface OpenBlock {
  /** The provider's index of it. */
  readonly at: unknown;
  /** Ours; absent for a block that has no place in the internal form. */
  readonly index?: number;
  readonly type: unknown;
  /** Characters of the answer's text before it. */
  readonly textStart: number;
  /** A whole input that came with the beginning of a call. */
  readonly input?: unknown;
  readonly citations: JsonObject[];
  signature: string;
  hasInput: boolean;
}

/** Reads one answer, streamed or whole: a whole one is blocks that begin with all they have. */
class AnswerReader {
  readonly #say: (event: ChatEvent) => void;
  /** Events of blocks that began before the open one has ended, by the provider's index: parts never mix. */
  readonly #waiting = new Map<unknown, JsonObject[]>();
  #open: OpenBlock | undefined;
  #parts = 0;
  #characters = 0;
  #isFinished = false;
  #answerId = "0";

  constructor(say: (event: ChatEvent) => void) {
    this.#say = say;
  }

  /** Tells the events that one of the provider's stands for. */
  read(event: JsonObject): void {
    if (this.#isFinished) return;
    switch (event.type) {
      case "message_start": {
        const told = idOf(event.message);
        // With other letters it could not go back as it came.
        this.#answerId = told.id?.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) ?? this.#answerId;
        return this.#say({ type: "start", ...told });
      }
      case "content_block_start":
      case "content_block_delta":
      case "content_block_stop":
        this.#readBlock(event);
        return this.#catchUp();
      case "message_delta":
        if (isJsonObject(event.delta) && typeof event.delta.stop_reason === "string")
          this.finish(event.delta);
    }
  }

  /** Tells the end of an answer, by the object that says why it stopped. */
  finish(told: JsonObject): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    while (this.#open !== undefined) {
      this.#close();
      this.#catchUp();
    }
    const { stop_reason: reason, stop_details: details } = told;
    const refusal = isJsonObject(details) && reason === "refusal" ? details.explanation : undefined;
    this.#say({
      type: "finish",
      choice: 0,
      // A reason that is not known yet is one all the same; without any the answer is not whole.
      reason: FINISH.get(reason) ?? (typeof reason === "string" ? "stop" : "error"),
      ...(typeof refusal === "string" && refusal !== "" ? { refusal } : {}),
    });
  }

  #readBlock(event: JsonObject): void {
    if (this.#open !== undefined && this.#open.at !== event.index) {
      const known = this.#waiting.get(event.index);
      if (known === undefined) this.#waiting.set(event.index, [event]);
      else known.push(event);
      return;
    }
    switch (event.type) {
      case "content_block_start":
        this.#close();
        if (isJsonObject(event.content_block)) this.#begin(event.index, event.content_block);
        return;
      case "content_block_delta":
        if (isJsonObject(event.delta))
          this.#more(this.#open ?? this.#begin(event.index, unbegunBlock(event.delta)), event.delta);
        return;
      default:
        this.#close();
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

  #begin(at: unknown, block: JsonObject): OpenBlock {
    const part = begunPart(block, `call_${this.#answerId}_${this.#parts}`);
    const index = part === undefined ? undefined : this.#parts;
    if (part !== undefined) this.#parts += 1;
    const begun: OpenBlock = {
      at,
      ...(index === undefined ? {} : { index }),
      type: block.type,
      textStart: this.#characters,
      input: block.input,
      citations: Array.isArray(block.citations) ? block.citations.filter((value) => isJsonObject(value)) : [],
      signature: typeof block.signature === "string" ? block.signature : "",
      hasInput: false,
    };
    this.#open = begun;
    if (part !== undefined && index !== undefined) this.#say({ type: "part_start", choice: 0, index, part });
    const text = block.type === "text" ? block.text : block.type === "thinking" ? block.thinking : undefined;
    this.#delta(begun, text);
    return begun;
  }

  #more(block: OpenBlock, told: JsonObject): void {
    switch (told.type) {
      case "text_delta":
        return this.#delta(block, told.text);
      case "thinking_delta":
        return this.#delta(block, told.thinking);
      case "input_json_delta":
        if (typeof told.partial_json === "string" && told.partial_json !== "") block.hasInput = true;
        return this.#delta(block, told.partial_json);
      case "signature_delta":
        if (typeof told.signature === "string") block.signature += told.signature;
        return;
      case "citations_delta":
        if (isJsonObject(told.citation)) block.citations.push(told.citation);
    }
  }

  #delta(block: OpenBlock, text: unknown): void {
    if (typeof text !== "string" || text === "" || block.index === undefined) return;
    if (block.type === "text") this.#characters += Array.from(text).length;
    this.#say({ type: "delta", choice: 0, index: block.index, text });
  }

  #close(): void {
    const block = this.#open;
    this.#open = undefined;
    if (block?.index === undefined) return;
    const { index } = block;
    if (block.type === "tool_use" && !block.hasInput)
      this.#delta(block, JSON.stringify(isJsonObject(block.input) ? block.input : {}));
    if (block.type === "thinking" && block.signature !== "")
      this.#say({ type: "signature", choice: 0, index, signature: block.signature });
    for (const told of block.type === "text" ? block.citations : []) {
      const citation = readCitation(told, block.textStart, this.#characters);
      if (citation !== undefined) this.#say({ type: "citation", choice: 0, index, citation });
    }
    this.#say({ type: "part_end", choice: 0, index });
  }
}

function idOf(message: unknown): { readonly id?: string } {
  return isJsonObject(message) && typeof message.id === "string" ? { id: message.id } : {};
}

/** The part that a block begins; `undefined` for what the provider's own tools did. `callId` names a call without an id. */
function begunPart(
  block: JsonObject,
  callId: string,
): Extract<ChatEvent, { type: "part_start" }>["part"] | undefined {
  switch (block.type) {
    case "text":
      return { type: "text" };
    case "thinking":
      return { type: "thinking", issuer: "anthropic" };
    case "redacted_thinking":
      return { type: "redacted_thinking", data: textOf(block.data), issuer: "anthropic" };
    case "tool_use":
      return { type: "tool_call", id: textOf(block.id) || callId, name: textOf(block.name) };
    default:
      return undefined;
  }
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The block that a delta belongs to whose beginning never came: compatible servers leave it out. */
function unbegunBlock({ type }: JsonObject): JsonObject {
  if (type === "text_delta") return { type: "text" };
  return type === "thinking_delta" ? { type: "thinking" } : {};
}

/** A citation of a page on the web; it stands for the whole text of its block. */
function readCitation(told: JsonObject, start: number, end: number): Citation | undefined {
  if (typeof told.url !== "string" || told.url === "") return undefined;
  return {
    url: told.url,
    ...(typeof told.title === "string" ? { title: told.title } : {}),
    start,
    end,
  };
}
