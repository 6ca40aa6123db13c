import type { Json } from "../wire-json.ts";
import type { MessagesEvent } from "./events.ts";

/** What official clients need of a messages stream; every breach, named. */
export function breachesOf(events: readonly MessagesEvent[]): string[] {
  const breaches: string[] = [];
  const open = new Set<number>();
  let blocks = 0;
  const order: string[] = [];
  events.forEach(({ name, value }, at) => {
    const say = (text: string): void => void breaches.push(`event ${at}: ${text}`);
    const type: string = value.type;
    if (name !== type && !(name === "credit" && type === "ping")) say(`${name} carries a ${type}`);
    if (type === "message_start") checkStart(value.message, say);
    if (type === "content_block_start") {
      if (value.index !== blocks) say(`block ${value.index} begins, ${blocks} is next`);
      blocks += 1;
      open.add(value.index);
    }
    if (type === "content_block_delta" && !open.has(value.index))
      say(`a delta of closed block ${value.index}`);
    if (type === "content_block_stop" && !open.delete(value.index)) say(`block ${value.index} ends twice`);
    if (type === "message_delta") checkDelta(value, say);
    if (type !== "ping" || name === "credit") order.push(name);
  });
  if (open.size > 0) breaches.push("a block is not ended");
  if (order[0] !== "message_start") breaches.push("the first event is no message_start");
  const end = order.slice(-3).join(" ");
  if (end !== "message_delta credit message_stop") breaches.push(`the stream ends in ${end}`);
  for (const once of ["message_start", "credit", "message_stop"]) {
    if (order.filter((name) => name === once).length !== 1) breaches.push(`${once} is not there once`);
  }
  return breaches;
}

type Say = (text: string) => void;

function checkStart(message: Json, say: Say): void {
  if (!Number.isInteger(message.usage?.input_tokens)) say("message_start without usage.input_tokens");
  if (!Number.isInteger(message.usage?.output_tokens)) say("message_start without usage.output_tokens");
  if (typeof message.model !== "string") say("message_start without model");
  if (message.stop_reason !== null || message.stop_sequence !== null) say("message_start with a stop");
}

function checkDelta(value: Json, say: Say): void {
  if (!Number.isInteger(value.usage?.output_tokens)) say("message_delta without usage.output_tokens");
  if (typeof value.delta?.stop_reason !== "string") say("message_delta without stop_reason");
}

/** Whether a stream says that it broke: an error is its last word, the credit came before, and it never stopped. */
export function looksBroken(events: readonly MessagesEvent[]): boolean {
  const error = events.at(-1);
  return (
    error?.name === "error" &&
    error.value.type === "error" &&
    typeof error.value.error?.message === "string" &&
    events.some(({ name, value }) => name === "credit" && typeof value.credit === "number") &&
    !events.some(({ value }) => value.type === "message_stop")
  );
}
