import type { FinishReason } from "../../../core/chat.ts";
import { GatewayError } from "../../../core/errors.ts";
import type { AnswerContext } from "../../protocol.ts";
import type { EventEncoder } from "../../translate.ts";
import { openDeltaWriter } from "./encode-deltas.ts";
import {
  brokenTail,
  type ChunkHead,
  DONE_EVENT,
  errorEvent,
  KEEP_ALIVE,
  openChunk,
  usageChunk,
} from "../tail.ts";
import { encodeUsage } from "../usage.ts";

/** The id that an answer is known by here, from its provider's where there is one. */
export function answerId(providerId: string | undefined, { requestId }: AnswerContext): string {
  return `chatcmpl-${providerId === undefined || providerId === "" ? requestId : providerId}`;
}

/**
 * Writes an answer's events as the chunks that the official clients join. `id`, `created` and `model` are alike in all.
 * The first chunk of each choice has the role, and each choice has one finish. Then come usage, usage with credit, and
 * the end mark.
 */
export function openEncoder(context: AnswerContext): EventEncoder {
  let head = headOf(undefined, context);
  let chunkStart = openChunk(head);
  let text = "";
  /** Why each choice has ended, by index. */
  const ends = new Map<number, FinishReason | null>();
  const writer = openDeltaWriter({
    write(index, delta, finish) {
      ends.set(index, finish);
      const choices = JSON.stringify([{ index, delta, finish_reason: finish }]);
      text += `data: ${chunkStart},"choices":${choices}}\n\n`;
    },
    writeLogprobs(index, content) {
      const choice = { index, delta: {}, logprobs: { content, refusal: null }, finish_reason: null };
      text += `data: ${chunkStart},"choices":${JSON.stringify([choice])}}\n\n`;
    },
    writeText(index, member, said) {
      ends.set(index, null);
      const delta = `{"${member}":${JSON.stringify(said)}}`;
      text += `data: ${chunkStart},"choices":[{"index":${index},"delta":${delta},"finish_reason":null}]}\n\n`;
    },
  });
  const take = (): string => {
    const taken = text;
    text = "";
    return taken;
  };
  return {
    push(event) {
      if (event.type === "start") {
        head = headOf(event.id, context);
        chunkStart = openChunk(head);
      }
      writer.push(event);
      return take();
    },
    tail(metered, credit) {
      const usage = JSON.stringify(encodeUsage(metered.usage));
      // No client takes a finish reason alone for a failure.
      const hasFailed = ends.size > 0 && [...ends.values()].every((reason) => reason === "error");
      const broken = hasFailed ? errorEvent(new GatewayError("upstream_error", BROKEN_OFF)) : "";
      return usageChunk(head, usage) + usageChunk(head, usage, credit) + broken + DONE_EVENT;
    },
    failureTail(error, metered, credit) {
      writer.flush();
      const choices = new Map([...ends].map(([index, reason]) => [index, reason !== null]));
      return take() + brokenTail(head, choices, error, metered, credit);
    },
    keepAlive: KEEP_ALIVE,
  };
}

function headOf(id: string | undefined, context: AnswerContext): ChunkHead {
  return { id: JSON.stringify(answerId(id, context)), created: context.nowSec, model: context.model };
}

const BROKEN_OFF = "The model broke off its answer with an error of its own.";
