import type { ChatEvent, Citation, FinishReason } from "../../core/chat.ts";
import { GatewayError } from "../../core/errors.ts";
import { isJsonObject, type JsonObject } from "../../core/json-value.ts";
import { createEventReader } from "../event-reader.ts";
import type { EventDecoder } from "../translate.ts";

/** The relay puts a few bytes to the lines that it lets through. */
const MAX_LINE_BYTES = 2 * 1024 * 1024;

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

/** A relayed stream as events. */
export function openDecoder(): EventDecoder {
  const answer = openAnswer();
  let events: ChatEvent[] = [];
  const decoder = new TextDecoder();
  const reader = createEventReader(
    (bytes, start, end) => {
      const event: unknown = JSON.parse(decoder.decode(bytes.subarray(start, end)));
      if (isJsonObject(event)) events.push(...answer.read(event));
    },
    () => {},
    MAX_LINE_BYTES,
  );
  return {
    push(bytes) {
      if (!reader.push(bytes))
        throw new GatewayError("upstream_error", "The provider sent an event that is too long.");
      const told = events;
      events = [];
      return told;
    },
  };
}

/** A whole answer as the events that its stream would have been. */
export function decodeAnswer(answer: JsonObject): readonly ChatEvent[] {
  const blocks: readonly unknown[] = Array.isArray(answer.content) ? answer.content : [];
  const stream: readonly JsonObject[] = [
    { type: "message_start", message: answer },
    ...blocks.flatMap((block, index) => [
      { type: "content_block_start", index, content_block: block },
      { type: "content_block_stop", index },
    ]),
  ];
  const { read, finish } = openAnswer();
  return [...stream.flatMap((event) => read(event)), ...finish(answer)];
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
  /** The events that one of the provider's stands for. */
  read(event: JsonObject): readonly ChatEvent[];
  /** The end of an answer, by the object that says why it stopped. */
  finish(told: JsonObject): readonly ChatEvent[];
}

/** Reads one answer, streamed or whole: a whole one is blocks that begin with all they have. */
function openAnswer(): Answer {
  let parts = 0;
  let characters = 0;
  let isFinished = false;
  let answerId = "0";
  let open: OpenBlock | undefined;
  /** Events of blocks that began before the open one has ended, by the provider's index: parts never mix. */
  const waiting = new Map<unknown, JsonObject[]>();

  const delta = (block: OpenBlock, text: unknown): ChatEvent[] => {
    if (typeof text !== "string" || text === "" || block.index === undefined) return [];
    if (block.type === "text") characters += Array.from(text).length;
    return [{ type: "delta", choice: 0, index: block.index, text }];
  };

  const begin = (at: unknown, block: JsonObject): ChatEvent[] => {
    const part = begunPart(block, `call_${answerId}_${parts}`);
    const index = part === undefined ? undefined : parts;
    if (part !== undefined) parts += 1;
    open = {
      at,
      ...(index === undefined ? {} : { index }),
      type: block.type,
      textStart: characters,
      input: block.input,
      citations: Array.isArray(block.citations) ? block.citations.filter((value) => isJsonObject(value)) : [],
      signature: typeof block.signature === "string" ? block.signature : "",
      hasInput: false,
    };
    if (part === undefined || index === undefined) return [];
    const text = block.type === "text" ? block.text : block.type === "thinking" ? block.thinking : undefined;
    return [{ type: "part_start", choice: 0, index, part }, ...delta(open, text)];
  };

  const more = (block: OpenBlock, told: JsonObject): ChatEvent[] => {
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
        return [];
      case "citations_delta":
        if (isJsonObject(told.citation)) block.citations.push(told.citation);
        return [];
      default:
        return [];
    }
  };

  const close = (): ChatEvent[] => {
    const block = open;
    open = undefined;
    if (block?.index === undefined) return [];
    const { index } = block;
    const events: ChatEvent[] = [];
    if (block.type === "tool_use" && !block.hasInput)
      events.push(...delta(block, JSON.stringify(isJsonObject(block.input) ? block.input : {})));
    if (block.type === "thinking" && block.signature !== "")
      events.push({ type: "signature", choice: 0, index, signature: block.signature });
    for (const told of block.type === "text" ? block.citations : []) {
      const citation = readCitation(told, block.textStart, characters);
      if (citation !== undefined) events.push({ type: "citation", choice: 0, index, citation });
    }
    return [...events, { type: "part_end", choice: 0, index }];
  };

  /** What has waited, block by block, as long as none is left open. */
  const catchUp = (): ChatEvent[] => {
    const events: ChatEvent[] = [];
    while (open === undefined) {
      const [next] = waiting;
      if (next === undefined) break;
      waiting.delete(next[0]);
      for (const event of next[1]) events.push(...readBlock(event));
    }
    return events;
  };

  const readBlock = (event: JsonObject): ChatEvent[] => {
    if (open !== undefined && open.at !== event.index) {
      const known = waiting.get(event.index);
      if (known === undefined) waiting.set(event.index, [event]);
      else known.push(event);
      return [];
    }
    switch (event.type) {
      case "content_block_start": {
        const ended = open === undefined ? [] : close();
        return [
          ...ended,
          ...(isJsonObject(event.content_block) ? begin(event.index, event.content_block) : []),
        ];
      }
      case "content_block_delta": {
        if (!isJsonObject(event.delta)) return [];
        const begun = open === undefined ? begin(event.index, unbegunBlock(event.delta)) : [];
        return open === undefined ? begun : [...begun, ...more(open, event.delta)];
      }
      default:
        return open === undefined ? [] : close();
    }
  };

  const finish = (told: JsonObject): readonly ChatEvent[] => {
    if (isFinished) return [];
    isFinished = true;
    const events: ChatEvent[] = [];
    while (open !== undefined) events.push(...close(), ...catchUp());
    const { stop_reason: reason, stop_details: details } = told;
    const refusal = isJsonObject(details) && reason === "refusal" ? details.explanation : undefined;
    return [
      ...events,
      {
        type: "finish",
        choice: 0,
        // A reason that is not known yet is one all the same; without any the answer is not whole.
        reason: FINISH.get(reason) ?? (typeof reason === "string" ? "stop" : "error"),
        ...(typeof refusal === "string" && refusal !== "" ? { refusal } : {}),
      },
    ];
  };

  return {
    read(event) {
      if (isFinished) return [];
      switch (event.type) {
        case "message_start": {
          const told = idOf(event.message);
          // With other letters it could not go back as it came.
          answerId = told.id?.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) ?? answerId;
          return [{ type: "start", ...told }];
        }
        case "content_block_start":
        case "content_block_delta":
        case "content_block_stop":
          return [...readBlock(event), ...catchUp()];
        case "message_delta":
          return isJsonObject(event.delta) && typeof event.delta.stop_reason === "string"
            ? finish(event.delta)
            : [];
        default:
          return [];
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
