import { GatewayError } from "../../core/errors.ts";
import type { AnswerContext } from "../protocol.ts";
import type { EventEncoder } from "../translate.ts";
import { type ChoiceDelta, openDeltaWriter } from "./encode-deltas.ts";
import {
  type ChunkHead,
  DONE_EVENT,
  errorEvent,
  finishChunks,
  KEEP_ALIVE,
  openChunk,
  usageChunk,
} from "./tail.ts";
import { encodeUsage } from "./usage.ts";

const encoder = new TextEncoder();

/** The id that an answer is known by here, from its provider's where there is one. */
export function answerId(providerId: string | undefined, { requestId }: AnswerContext): string {
  return `chatcmpl-${providerId === undefined || providerId === "" ? requestId : providerId}`;
}

/**
 * Writes an answer's events as the chunks that the official clients join: `id`, `created` and `model` alike in all, the
 * role in the first of each choice, one finish for each, then usage, usage with credit, and the end mark.
 */
export function openEncoder(context: AnswerContext): EventEncoder {
  const writer = openDeltaWriter();
  let head = headOf(undefined, context);

  const chunks = (deltas: readonly ChoiceDelta[]): string =>
    deltas
      .map(({ choice, delta, finish }) => {
        const choices = [{ index: choice, delta, finish_reason: finish }];
        return `data: ${openChunk(head)},"choices":${JSON.stringify(choices)}}\n\n`;
      })
      .join("");

  return {
    push(event) {
      if (event.type === "start") head = headOf(event.id, context);
      const text = chunks(writer.push(event));
      return text === "" ? undefined : encoder.encode(text);
    },
    tail(metered, credit) {
      const usage = JSON.stringify(encodeUsage(metered.usage));
      return encoder.encode(
        usageChunk(head, usage) +
          usageChunk(head, usage, credit) +
          // No client takes a finish reason alone for a failure.
          (writer.failed ? errorEvent(brokenOff()) : "") +
          DONE_EVENT,
      );
    },
    failureTail(error, metered, credit) {
      const usage = JSON.stringify(encodeUsage(metered.usage));
      return encoder.encode(
        chunks(writer.flush()) +
          finishChunks(head, writer.choices, "error") +
          usageChunk(head, usage) +
          (credit === undefined ? "" : usageChunk(head, usage, credit)) +
          errorEvent(error) +
          DONE_EVENT,
      );
    },
    keepAlive: KEEP_ALIVE,
  };
}

function headOf(id: string | undefined, context: AnswerContext): ChunkHead {
  return { id: JSON.stringify(answerId(id, context)), created: context.nowSec, model: context.model };
}

function brokenOff(): GatewayError {
  return new GatewayError("upstream_error", "The model broke off its answer with an error of its own.");
}
