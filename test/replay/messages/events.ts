import type { Json } from "../wire-json.ts";

/** One event of a messages stream: its name, its data as it is spelled, and what that says. */
export interface MessagesEvent {
  readonly name: string;
  readonly data: string;
  readonly value: Json;
}

/** The whole events of a stream, read as a client does: a name and data, ended by a blank line. */
export function messagesEvents(text: string): MessagesEvent[] {
  const events: MessagesEvent[] = [];
  let name = "";
  let data: string[] = [];
  // What follows the last line ending is an unfinished line, so it is no line yet.
  for (const line of text
    .replace(/^\uFEFF/, "")
    .split(/\r\n|\n|\r/)
    .slice(0, -1)) {
    if (line.startsWith("event:")) name = line.slice(line[6] === " " ? 7 : 6);
    if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
    if (line !== "") continue;
    if (data.length > 0) events.push({ name, data: data.join("\n"), value: JSON.parse(data.join("\n")) });
    name = "";
    data = [];
  }
  return events;
}

/** The stream that a client must get for a recorded one, when the charge came to `credit`. */
export function wantedEvents(recorded: string, modelId: string, credit: string): string[] {
  const events = messagesEvents(recorded);
  const last = events.findLastIndex(({ value }) => value.type === "message_delta");
  return events.flatMap(({ name, data, value }, at) => {
    if (value.type === "message_start") {
      // The first member of this name in a recorded start is the message's own.
      return [eventText(name, data.replace(/"model":\s*"[^"]*"/, `"model":${JSON.stringify(modelId)}`))];
    }
    if (at !== last) return [eventText(name, data)];
    return [
      eventText(name, data.replace(/(\s*)\}(\s*)$/, `,"credit":${credit}$1}$2`)),
      eventText("credit", `{"type":"ping","credit":${credit}}`),
    ];
  });
}

/** An event as it is written. */
export function eventText(name: string, data: string): string {
  return `event: ${name}\ndata: ${data}\n\n`;
}

/** Usage as a stream tells it: what the start says, with each later count in place of the earlier one. */
export function streamedUsage(events: readonly MessagesEvent[]): Json {
  let usage: Json;
  for (const { value } of events) {
    if (value.type === "message_start") usage = { ...value.message.usage };
    if (value.type === "message_delta") usage = { ...usage, ...value.usage };
  }
  return usage;
}
