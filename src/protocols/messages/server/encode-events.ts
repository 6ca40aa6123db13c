import { GatewayError } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json/json-value.ts";
import { creditsText } from "../../../core/money/credits.ts";
import type { AnswerContext } from "../../protocol.ts";
import type { EventEncoder } from "../../translate.ts";
import { brokenTail, creditEvent, PING, STOP_DATA } from "../tail.ts";
import { encodeUsage } from "../usage.ts";
import { answerId, stopMembers } from "./encode-answer.ts";
import { type BlockSink, DELTAS, openBlockWriter } from "./encode-blocks.ts";

/**
 * Writes an answer's events as those that the official clients join. One `message_start` comes first. Then come blocks,
 * of which one is open at a time, at indexes from 0. When the charge is known, `message_delta` with all usage, the
 * credit, and `message_stop` follow. An answer that ended in an error ends with the error instead.
 */
export function openEncoder(context: AnswerContext): EventEncoder {
  const sink = new EventSink();
  const writer = openBlockWriter(sink, context);
  let isBegun = false;
  const begin = (id: string | undefined): void => {
    if (isBegun) return;
    isBegun = true;
    sink.text += startEvent(answerId(id, context), context);
  };
  return {
    push(event) {
      begin(event.type === "start" ? event.id : undefined);
      writer.push(event);
      return sink.take();
    },
    tail(metered, credit) {
      begin(undefined);
      try {
        const stop = JSON.stringify(stopMembers(writer.stop()));
        const members = `"usage":${JSON.stringify(encodeUsage(metered.usage))},"credit":${creditsText(credit)}`;
        const end = `event: message_delta\ndata: {"type":"message_delta","delta":${stop},${members}}\n\n`;
        return `${sink.take()}${end}${creditEvent(credit)}event: message_stop\ndata: ${STOP_DATA}\n\n`;
      } catch (error) {
        if (error instanceof GatewayError) return sink.take() + brokenTail(error, credit);
        throw error;
      }
    },
    failureTail: (error, _metered, credit) => brokenTail(error, credit),
    keepAlive: PING,
  };
}

function startEvent(id: string, { model, expectedInput }: AnswerContext): string {
  const usage = {
    input_tokens: expectedInput,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    // Some clients add what the end says.
    output_tokens: 0,
  };
  const message = {
    id,
    type: "message",
    role: "assistant",
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  };
  return `event: message_start\ndata: ${JSON.stringify({ type: "message_start", message })}\n\n`;
}

/** Writes blocks as events. */
class EventSink implements BlockSink {
  text = "";
  #index = -1;

  begin(block: JsonObject): void {
    this.#index += 1;
    const data = `{"type":"content_block_start","index":${this.#index},"content_block":${JSON.stringify(block)}}`;
    this.text += `event: content_block_start\ndata: ${data}\n\n`;
  }

  add(member: keyof typeof DELTAS, text: string): void {
    const delta = `{"type":"${DELTAS[member]}","${member}":${JSON.stringify(text)}}`;
    this.text += `event: content_block_delta\ndata: {"type":"content_block_delta","index":${this.#index},"delta":${delta}}\n\n`;
  }

  end(): void {
    this.text += `event: content_block_stop\ndata: {"type":"content_block_stop","index":${this.#index}}\n\n`;
  }

  take(): string {
    const taken = this.text;
    this.text = "";
    return taken;
  }
}
