import type { ChatEvent } from "../../../core/chat.ts";
import type { JsonObject } from "../../../core/json/json-value.ts";
import type { AnswerContext, Metered } from "../../protocol.ts";
import { encodeUsage } from "../usage.ts";
import { type BlockSink, inputIn, openBlockWriter, type Stop } from "./encode-blocks.ts";

/** The id that an answer is known by here, from its provider's where there is one. */
export function answerId(providerId: string | undefined, { requestId }: AnswerContext): string {
  if (providerId === undefined || providerId === "") return `msg_${requestId}`;
  return providerId.startsWith("msg_") ? providerId : `msg_${providerId}`;
}

/** What is said of the end of an answer, plain and streamed alike. */
export function stopMembers({ reason, details, sequence }: Stop): JsonObject {
  return {
    stop_reason: reason,
    stop_sequence: sequence ?? null,
    ...(details === undefined ? {} : { stop_details: details }),
  };
}

/**
 * A whole answer from its events, up to the charge. It is what a client makes of the same events in a stream, because it
 * is made of the same blocks. Throws the error that the answer ended in: the format has no word for one.
 */
export function encodeAnswer(
  events: readonly ChatEvent[],
  metered: Metered,
  context: AnswerContext,
): JsonObject {
  const sink = new ContentSink();
  const writer = openBlockWriter(sink, context);
  for (const event of events) writer.push(event);
  const stop = writer.stop();
  const start = events.find((event) => event.type === "start");
  return {
    id: answerId(start?.id, context),
    type: "message",
    role: "assistant",
    model: context.model,
    content: sink.content,
    ...stopMembers(stop),
    usage: encodeUsage(metered.usage),
  };
}

/** Joins the pieces of blocks, as clients do. */
class ContentSink implements BlockSink {
  readonly content: JsonObject[] = [];
  #block: JsonObject = {};
  #input = "";

  begin(block: JsonObject): void {
    this.#block = { ...block };
    this.#input = "";
    this.content.push(this.#block);
  }

  add(member: string, text: string): void {
    if (member === "partial_json") this.#input += text;
    else this.#block[member] = `${String(this.#block[member])}${text}`;
  }

  end(): void {
    // One that was cut by a bound on output is not run by any client.
    if (this.#input !== "") this.#block.input = inputIn(this.#input) ?? {};
  }
}
