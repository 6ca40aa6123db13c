import { toBytes } from "./bytes.ts";

/** How server-sent events are written down. */
export interface SseOptions {
  /** `\n` when not given. */
  readonly lineEnding?: "\n" | "\r\n" | "\r";
  /** Whether a space follows the colon of a field; true when not given. */
  readonly space?: boolean;
  /** A comment put before every event. */
  readonly comment?: string;
  /** Whether the body begins with a byte order mark. */
  readonly byteOrderMark?: boolean;
  /** The name of each event, for protocols that name them. */
  readonly eventName?: (event: SseData) => string | undefined;
  /** False leaves out the blank line after the last event. */
  readonly lastBlankLine?: boolean;
}

/** The data of one event: text as it is, one `data:` line for each of its lines, or an object as compact JSON. */
export type SseData = string | Readonly<Record<string, unknown>>;

/** The bytes of a stream of server-sent events. */
export function sse(events: readonly SseData[], options: SseOptions = {}): Uint8Array {
  const eol = options.lineEnding ?? "\n";
  const text = events.map((event) => eventLines(event, options).join(eol) + eol).join(eol);
  const end = options.lastBlankLine === false || events.length === 0 ? "" : eol;
  return toBytes(`${options.byteOrderMark === true ? "\uFEFF" : ""}${text}${end}`);
}

function eventLines(event: SseData, options: SseOptions): string[] {
  const colon = options.space === false ? ":" : ": ";
  const data = typeof event === "string" ? event : JSON.stringify(event);
  const lines = data.split("\n").map((line) => `data${colon}${line}`);
  const name = options.eventName?.(event);
  if (name !== undefined) lines.unshift(`event${colon}${name}`);
  if (options.comment !== undefined) lines.unshift(`:${options.comment}`);
  return lines;
}

/** The data of every whole event of an SSE body: what a correct client gets, whatever the line endings. */
export function sseData(bodyText: string): string[] {
  const lines = bodyText.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/);
  const events: string[] = [];
  let data: string[] = [];
  // What follows the last line ending is an unfinished line, so it is no line yet.
  for (const line of lines.slice(0, -1)) {
    if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
    if (line !== "" || data.length === 0) continue;
    events.push(data.join("\n"));
    data = [];
  }
  return events;
}
