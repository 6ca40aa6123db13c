import type { ChatEvent } from "../../../core/chat.ts";
import type { JsonObject } from "../../../core/json/json-value.ts";
import type { AnswerContext, Metered } from "../../protocol.ts";
import { readEcho, responseObject } from "./echo.ts";
import { brokenOff, endOf } from "./encode-events.ts";
import { openItemWriter } from "./encode-items.ts";
import { encodeUsage } from "../usage.ts";
import type { ItemSink } from "./item-sink.ts";

/** A whole answer is its items alone. */
const SILENT: ItemSink = { write() {}, writeDelta() {} };

/**
 * A whole answer from its events, up to the charge: the response object of the stream's last event. Throws for an answer
 * that its model broke off, because clients take any response object for an answer.
 */
export function encodeAnswer(
  events: readonly ChatEvent[],
  { usage }: Metered,
  context: AnswerContext,
): JsonObject {
  const writer = openItemWriter(context, SILENT);
  for (const event of events) if (event.type !== "start") writer.push(event);
  const { reason = "error", items } = writer;
  if (reason === "error") throw brokenOff();
  const { asked } = readEcho(context);
  return responseObject(context, asked, { ...endOf(reason), output: items, usage: encodeUsage(usage) });
}
