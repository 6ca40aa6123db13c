import type { Json } from "../wire-json.ts";
import { LAST, responsesEvents } from "./events.ts";

/** What official clients need of a whole stream; every breach, named. */
export function breachesOf(text: string): string[] {
  const breaches: string[] = [];
  const events = responsesEvents(text);
  const open = new Map<number, Json>();
  let number = -1;
  events.forEach(({ name, value }, at) => {
    const say = (fault: string): void => void breaches.push(`event ${at}: ${fault}`);
    const { type, sequence_number: counted, output_index: index, item } = value;
    if (name !== type) say(`${name} carries a ${type}`);
    if (counted !== undefined && counted <= number) say(`number ${counted} comes after ${number}`);
    number = counted ?? number;
    if (type === "response.output_item.added") open.set(index, item);
    if (type === "response.output_item.done") open.delete(index);
    if (type.endsWith(".delta") && !open.has(index) && value.item_id !== undefined)
      say(`a delta of closed item ${index}`);
    if (LAST.test(type) && at !== events.length - 1) say(`${type} is not the last event`);
  });
  const [first] = events;
  if (first?.value.type !== "response.created") breaches.push("the first event is no response.created");
  const last: Json = events.at(-1)?.value;
  if (!/^response\.(completed|incomplete)$/.test(last?.type)) breaches.push("the last event ends nothing");
  if (typeof last?.response?.credit !== "number") breaches.push("the last event has no credit");
  if (open.size > 0) breaches.push("an item is not ended");
  if (
    events.filter(({ value }) => value.credit !== undefined || value.response?.credit !== undefined)
      .length !== 1
  )
    breaches.push("the credit is not there once");
  return breaches;
}

/** Whether a stream says that it broke: an error, then the failed response with its charge, and nothing that ended well. */
export function looksBroken(text: string): boolean {
  const events = responsesEvents(text).map(({ value }) => value);
  const [error, failed] = events.slice(-2);
  return (
    error?.type === "error" &&
    typeof error.message === "string" &&
    typeof error.error?.message === "string" &&
    failed?.type === "response.failed" &&
    failed.response.status === "failed" &&
    typeof failed.response.credit === "number" &&
    events.filter(({ type }) => LAST.test(type)).length === 1
  );
}
