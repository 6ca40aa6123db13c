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
  const answer = openAnswer(say);
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
  const { read, finish } = openAnswer((event) => void events.push(event));
  read({ type: "message_start", message: answer });
  for (const [index, block] of blocks.entries()) {
    read({ type: "content_block_start", index, content_block: block });
    read({ type: "content_block_stop", index });
  }
  finish(answer);
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

interface Answer {
  /** Tells the events that one of the provider's stands for. */
  read(event: JsonObject): void;
  /** Tells the end of an answer, by the object that says why it stopped. */
  finish(told: JsonObject): void;
}

/** Reads one answer, streamed or whole: a whole one is blocks that begin with all they have. */
function openAnswer(say: (event: ChatEvent) => void): Answer {
  let parts = 0;
  let characters = 0;
  let isFinished = false;
  let answerId = "0";
  let open: OpenBlock | undefined;
  /** Events of blocks that began before the open one has ended, by the provider's index: parts never mix. */
  const waiting = new Map<unknown, JsonObject[]>();

  const delta = (block: OpenBlock, text: unknown): void => {
    if (typeof text !== "string" || text === "" || block.index === undefined) return;
    if (block.type === "text") characters += Array.from(text).length;
    say({ type: "delta", choice: 0, index: block.index, text });
  };

  const begin = (at: unknown, block: JsonObject): OpenBlock => {
    const part = begunPart(block, `call_${answerId}_${parts}`);
    const index = part === undefined ? undefined : parts;
    if (part !== undefined) parts += 1;
    const begun: OpenBlock = {
      at,
      ...(index === undefined ? {} : { index }),
      type: block.type,
      textStart: characters,
      input: block.input,
      citations: Array.isArray(block.citations) ? block.citations.filter((value) => isJsonObject(value)) : [],
      signature: typeof block.signature === "string" ? block.signature : "",
      hasInput: false,
    };
    open = begun;
    if (part !== undefined && index !== undefined) say({ type: "part_start", choice: 0, index, part });
    delta(begun, block.type === "text" ? block.text : block.type === "thinking" ? block.thinking : undefined);
    return begun;
  };

  const more = (block: OpenBlock, told: JsonObject): void => {
    switch (told.type) {
      case "text_delta":
        return delta(block, told.text);
      case "thinking_delta":
        return delta(block, told.thinking);
      case "input_json_delta":
        if (typeof told.partial_json === "string" && told.partial_json !== "") block.hasInput = true;
        return delta(block, told.partial_json);
      case "signature_delta":
        if (typeof told.signature === "string") block.signature += told.signature;
        return;
      case "citations_delta":
        if (isJsonObject(told.citation)) block.citations.push(told.citation);
    }
  };

  const close = (): void => {
    const block = open;
    open = undefined;
    if (block?.index === undefined) return;
    const { index } = block;
    if (block.type === "tool_use" && !block.hasInput)
      delta(block, JSON.stringify(isJsonObject(block.input) ? block.input : {}));
    if (block.type === "thinking" && block.signature !== "")
      say({ type: "signature", choice: 0, index, signature: block.signature });
    for (const told of block.type === "text" ? block.citations : []) {
      const citation = readCitation(told, block.textStart, characters);
      if (citation !== undefined) say({ type: "citation", choice: 0, index, citation });
    }
    say({ type: "part_end", choice: 0, index });
  };

  /** What has waited, block by block, as long as none is left open. */
  const catchUp = (): void => {
    while (open === undefined) {
      const [next] = waiting;
      if (next === undefined) break;
      waiting.delete(next[0]);
      for (const event of next[1]) readBlock(event);
    }
  };

  const readBlock = (event: JsonObject): void => {
    if (open !== undefined && open.at !== event.index) {
      const known = waiting.get(event.index);
      if (known === undefined) waiting.set(event.index, [event]);
      else known.push(event);
      return;
    }
    switch (event.type) {
      case "content_block_start":
        close();
        if (isJsonObject(event.content_block)) begin(event.index, event.content_block);
        return;
      case "content_block_delta":
        if (isJsonObject(event.delta))
          more(open ?? begin(event.index, unbegunBlock(event.delta)), event.delta);
        return;
      default:
        close();
    }
  };

  const finish = (told: JsonObject): void => {
    if (isFinished) return;
    isFinished = true;
    while (open !== undefined) {
      close();
      catchUp();
    }
    const { stop_reason: reason, stop_details: details } = told;
    const refusal = isJsonObject(details) && reason === "refusal" ? details.explanation : undefined;
    say({
      type: "finish",
      choice: 0,
      // A reason that is not known yet is one all the same; without any the answer is not whole.
      reason: FINISH.get(reason) ?? (typeof reason === "string" ? "stop" : "error"),
      ...(typeof refusal === "string" && refusal !== "" ? { refusal } : {}),
    });
  };

  return {
    read(event) {
      if (isFinished) return;
      switch (event.type) {
        case "message_start": {
          const told = idOf(event.message);
          // With other letters it could not go back as it came.
          answerId = told.id?.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) ?? answerId;
          return say({ type: "start", ...told });
        }
        case "content_block_start":
        case "content_block_delta":
        case "content_block_stop":
          readBlock(event);
          return catchUp();
        case "message_delta":
          if (isJsonObject(event.delta) && typeof event.delta.stop_reason === "string") finish(event.delta);
      }
    },
    finish,
  };
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
