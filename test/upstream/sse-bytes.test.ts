import { expect, test } from "bun:test";
import { createParser } from "eventsource-parser";
import { toText } from "./bytes.ts";
import { chatStream } from "./chat-bytes.ts";
import { sse, sseData } from "./sse-bytes.ts";
import type { SseOptions } from "./sse-bytes.ts";

const cases: { name: string; options: SseOptions; want: string }[] = [
  { name: "LF", options: {}, want: 'data: {"a":1}\n\ndata: b\n\n' },
  { name: "CRLF", options: { lineEnding: "\r\n" }, want: 'data: {"a":1}\r\n\r\ndata: b\r\n\r\n' },
  { name: "CR", options: { lineEnding: "\r" }, want: 'data: {"a":1}\r\rdata: b\r\r' },
  { name: "no space", options: { space: false }, want: 'data:{"a":1}\n\ndata:b\n\n' },
  { name: "comments", options: { comment: " hi" }, want: ': hi\ndata: {"a":1}\n\n: hi\ndata: b\n\n' },
  { name: "a byte order mark", options: { byteOrderMark: true }, want: '\uFEFFdata: {"a":1}\n\ndata: b\n\n' },
  { name: "no last blank line", options: { lastBlankLine: false }, want: 'data: {"a":1}\n\ndata: b\n' },
  {
    name: "names",
    options: { eventName: (event) => (typeof event === "string" ? undefined : "ping") },
    want: 'event: ping\ndata: {"a":1}\n\ndata: b\n\n',
  },
];
for (const { name, options, want } of cases) {
  test(`events are written with ${name}`, () => {
    expect(toText(sse([{ a: 1 }, "b"], options))).toBe(want);
  });

  test(`another parser and ours read the same from events with ${name}`, () => {
    const text = toText(chatStream(options));
    const events: string[] = [];
    const parser = createParser({ onEvent: (event) => void events.push(event.data) });
    parser.feed(text);
    // A last CR may be half of a CRLF: that parser waits for what follows, so it is told.
    if (options.lineEnding === "\r") parser.feed("\n");
    expect(sseData(text)).toEqual(events);
    expect(events.length).toBeGreaterThan(4);
  });
}

test("data of several lines becomes several data lines and is read as one", () => {
  const bytes = sse(["a\nb"]);
  expect(toText(bytes)).toBe("data: a\ndata: b\n\n");
  expect(sseData(toText(bytes))).toEqual(["a\nb"]);
});

test("an event without its blank line is not counted as read", () => {
  expect(sseData("data: a\n\ndata: b\n")).toEqual(["a"]);
  expect(sseData("data: a\n\ndata: b")).toEqual(["a"]);
  expect(sseData(": comment\n\n")).toEqual([]);
});

test("no events are no bytes", () => {
  expect(sse([])).toHaveLength(0);
});
