import type { Answer } from "./answer.ts";
import { jsonAnswer, sseAnswer } from "./answer.ts";
import { sse } from "./sse-bytes.ts";
import type { SseData } from "./sse-bytes.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** A content block as it stands in a plain answer; a stream gives it in pieces. */
export type MessageBlock = JsonObject & { readonly type: string };

/** What a made-up message says; everything has a default. */
export interface MessageForm {
  readonly id?: string;
  readonly model?: string;
  readonly blocks?: readonly MessageBlock[];
  /** `end_turn`, or `tool_use` where there is one, when not given. */
  readonly stopReason?: string | null;
  /** Null leaves the usage out. */
  readonly usage?: JsonObject | null;
}

/** What only the streamed form has. */
export interface MessageStreamForm extends MessageForm {
  /** The usage of the start; the input of `usage` when not given. */
  readonly startUsage?: JsonObject | null;
  /** False leaves out the `event` lines. */
  readonly named?: boolean;
  /** A ping after the start, as Anthropic sends it. */
  readonly ping?: boolean;
}

const DEFAULT_BLOCKS: readonly MessageBlock[] = [{ type: "text", text: "Hello!" }];
const DEFAULT_USAGE = { input_tokens: 5, output_tokens: 2 };

/** A plain message as Anthropic would send it. */
export function message(form: MessageForm = {}): JsonObject {
  return {
    ...envelope(form),
    content: form.blocks ?? DEFAULT_BLOCKS,
    stop_reason: stopReason(form),
    stop_sequence: null,
    ...usageOf(form.usage),
  };
}

/** The events of a streamed message, for tests that change some of them. */
export function messageEvents(form: MessageStreamForm = {}): SseData[] {
  const { usage = DEFAULT_USAGE } = form;
  const start =
    form.startUsage === undefined && usage !== null ? { ...usage, output_tokens: 1 } : form.startUsage;
  return [
    {
      type: "message_start",
      message: {
        ...envelope(form),
        content: [],
        stop_reason: null,
        stop_sequence: null,
        ...(start === null || start === undefined ? {} : { usage: start }),
      },
    },
    ...(form.ping === true ? [{ type: "ping" }] : []),
    ...(form.blocks ?? DEFAULT_BLOCKS).flatMap((block, index) => blockEvents(block, index)),
    {
      type: "message_delta",
      delta: { stop_reason: stopReason(form), stop_sequence: null },
      ...usageOf(form.usage),
    },
    { type: "message_stop" },
  ];
}

/** The bytes of a streamed message as Anthropic would send it. */
export function messageStream(form: MessageStreamForm = {}): Uint8Array {
  return namedEvents(messageEvents(form), form.named);
}

/** Events written down with their types as names, unless `named` is false. */
export function namedEvents(events: readonly SseData[], named = true): Uint8Array {
  return sse(events, {
    eventName: (event) => (named && typeof event === "object" ? String(event["type"]) : undefined),
  });
}

/** A plain message as an answer. */
export function messageAnswer(form: MessageForm = {}, more: Partial<Answer> = {}): Answer {
  return jsonAnswer(200, message(form), more);
}

/** A streamed message as an answer, each event its own write. */
export function messageStreamAnswer(form: MessageStreamForm = {}, more: Partial<Answer> = {}): Answer {
  return sseAnswer(messageStream(form), more);
}

function envelope(form: MessageForm): JsonObject {
  return {
    id: form.id ?? "msg_double",
    type: "message",
    role: "assistant",
    model: form.model ?? "claude-double-1",
  };
}

function stopReason(form: MessageForm): string | null {
  if (form.stopReason !== undefined) return form.stopReason;
  return form.blocks?.some(({ type }) => type === "tool_use") === true ? "tool_use" : "end_turn";
}

function usageOf(usage: JsonObject | null | undefined): JsonObject {
  return usage === null ? {} : { usage: usage ?? DEFAULT_USAGE };
}

function blockEvents(block: MessageBlock, index: number): SseData[] {
  const begin = (content_block: JsonObject): JsonObject => ({
    type: "content_block_start",
    index,
    content_block,
  });
  const delta = (fields: JsonObject): JsonObject => ({ type: "content_block_delta", index, delta: fields });
  const stop = { type: "content_block_stop", index };
  const pieces = (text: unknown): string[] => String(text).match(/.{1,4}/gsu) ?? [];
  switch (block.type) {
    case "text":
      return [
        begin({ type: "text", text: "" }),
        ...pieces(block["text"]).map((text) => delta({ type: "text_delta", text })),
        ...((block["citations"] ?? []) as readonly unknown[]).map((citation) =>
          delta({ type: "citations_delta", citation }),
        ),
        stop,
      ];
    case "thinking":
      return [
        begin({ type: "thinking", thinking: "", signature: "" }),
        ...pieces(block["thinking"]).map((thinking) => delta({ type: "thinking_delta", thinking })),
        delta({ type: "signature_delta", signature: block["signature"] }),
        stop,
      ];
    case "tool_use":
    case "server_tool_use":
      return [
        begin({ ...block, input: {} }),
        delta({ type: "input_json_delta", partial_json: "" }),
        ...pieces(JSON.stringify(block["input"])).map((partial_json) =>
          delta({ type: "input_json_delta", partial_json }),
        ),
        stop,
      ];
    default:
      return [begin(block), stop];
  }
}
