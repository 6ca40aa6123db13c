import { describe, expect, test } from "bun:test";
import { createParser } from "eventsource-parser";
import * as fc from "fast-check";
import { runsOf } from "../../test/runs.ts";
import { createSseLines } from "./sse-lines.ts";

const RUNS = runsOf(1_500, 20_000);
const encoder = new TextEncoder();

/** What a reader makes of `bytes`, cut at `sizes`: events, and comments between them. */
function read(bytes: Uint8Array, sizes: readonly number[], end = false): string[] {
  const seen: string[] = [];
  let data: string[] = [];
  const text = (from: Uint8Array, start: number, to: number): string =>
    new TextDecoder().decode(from.slice(start, to));
  const lines = createSseLines(
    {
      data: (from, start, to) => data.push(text(from, start, to)),
      comment: (from, start, to) => seen.push(`:${text(from, start, to)}`),
      dispatch: () => {
        seen.push(`data ${data.join("\n")}`);
        data = [];
      },
    },
    1_000_000,
  );
  let at = 0;
  for (let i = 0; at < bytes.length; i += 1) {
    const size = sizes.length === 0 ? bytes.length : (sizes[i % sizes.length] as number);
    const piece = bytes.slice(at, at + size);
    expect(lines.push(piece)).toBe(true);
    // The runtime may use its buffer again.
    piece.fill(0x0a);
    at += size;
  }
  if (end) lines.end();
  return seen;
}

function reference(text: string): string[] {
  const seen: string[] = [];
  const parser = createParser({
    onEvent: ({ data }) => seen.push(`data ${data}`),
    onComment: (comment) => seen.push(`:${comment}`),
  });
  parser.feed(text);
  return seen;
}

const line = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.string({ maxLength: 8 }).map((text) => `data: ${text.replaceAll(/[\r\n]/g, "")}`),
  },
  fc.string({ unit: "grapheme", maxLength: 5 }).map((text) => `data:${text.replaceAll(/[\r\n]/g, "")}`),
  fc.constantFrom("data", "data:", "data: ", "data:  x", "database: y", "dat", " data: z", "Data: q"),
  fc.constantFrom("event: message", "id: 1", "retry: 10", "foo", "foo: bar", "event"),
  { weight: 3, arbitrary: fc.constant("") },
);
const eol = fc.constantFrom("\n", "\r\n", "\r");
const cuts = fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 6 });

test("any stream in any pieces gives the events of eventsource-parser", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(line, eol), { maxLength: 14 }),
      cuts,
      fc.boolean(),
      (parts, sizes, mark) => {
        const text = `${mark ? "\ufeff" : ""}${parts.map(([one, end]) => one + end).join("")}\n\n`;
        expect(read(encoder.encode(text), sizes)).toEqual(reference(text));
      },
    ),
    RUNS,
  );
});

test("any bytes at all in any pieces give what they give in one piece", () => {
  const byte = fc.constantFrom(0x0a, 0x0d, 0x3a, 0x20, 0x64, 0x61, 0x74, 0x00, 0xef, 0xbb, 0xbf, 0xff, 0x78);
  const bytes = fc
    .array(byte, { maxLength: 60 })
    .map((list) => new Uint8Array([...encoder.encode("data:"), ...list]));
  fc.assert(
    fc.property(bytes, cuts, (sent, sizes) => {
      expect(read(sent, sizes, true)).toEqual(read(sent, [], true));
    }),
    RUNS,
  );
});

describe("by hand", () => {
  const cases = [
    {
      name: "comments are handed over",
      text: ": a\n:b\n\ndata: x\n\n",
      want: [": a", ":b", "data x"],
    },
    { name: "many data lines are one event", text: "data: a\ndata: b\n\n", want: ["data a\nb"] },
    { name: "a bare data is an empty line", text: "data\ndata\n\n", want: ["data \n"] },
    { name: "one space only is taken off", text: "data:  x \n\n", want: ["data  x "] },
    { name: "blank lines alone are nothing", text: "\n\r\r\n\n", want: [] },
    { name: "the last line needs no line end", text: "data: x", want: ["data x"] },
    {
      name: "a mark in mid-stream is no mark",
      text: "data: a\n\n\ufeffdata: b\n\n",
      want: ["data a"],
    },
    { name: "a mark behind a blank line is no mark", text: "\n\ufeffdata: a\n\n", want: [] },
    { name: "a bare data before a line that begins with a space", text: "data\n x\n\n", want: ["data "] },
    { name: "an event that is no data is none", text: "event: x\n\n", want: [] },
  ];
  for (const { name, text, want } of cases) {
    test(name, () => {
      for (const sizes of [[], [1], [2, 3]]) expect(read(encoder.encode(text), sizes, true)).toEqual(want);
    });
  }

  test("a mark is skipped whole or not at all", () => {
    for (const broken of [
      [0xef, 0xbb, 0x78],
      [0xef, 0x78, 0xbf],
      [0x78, 0xbb, 0xbf],
      [0xef, 0x78, 0x78],
      [0x78, 0x78, 0xbf],
    ])
      expect(read(Uint8Array.of(...broken, ...encoder.encode("data: x\n\n")), [])).toEqual([]);
  });

  test("a line ended by CR alone is handed over at once", () => {
    expect(read(encoder.encode("data: a\r\rdata: b\r\rx"), [])).toEqual(["data a", "data b"]);
  });

  test("an LF belongs to the CR before it, with nothing in between", () => {
    let dispatched = 0;
    const lines = createSseLines({ data() {}, comment() {}, dispatch: () => (dispatched += 1) }, 100);
    for (const piece of ["data: a\r", "", "\ndata: b\n"]) lines.push(encoder.encode(piece));
    expect(dispatched).toBe(0);
    lines.end();
    expect(dispatched).toBe(1);
  });

  test("a line beyond the limit is told, a long stream of short ones is not", () => {
    const lines = createSseLines({ data() {}, comment() {}, dispatch() {} }, 10);
    for (let i = 0; i < 100; i += 1) expect(lines.push(encoder.encode("data: x\n\n"))).toBe(true);
    expect(lines.push(encoder.encode("data: 6789"))).toBe(true);
    expect(lines.push(encoder.encode("x"))).toBe(false);
    for (const [piece, isTaken] of [
      ["data: x\n\ndata: 6789", true],
      ["data: x\n\ndata: 67890", false],
    ] as const)
      expect(createSseLines({ data() {}, comment() {}, dispatch() {} }, 10).push(encoder.encode(piece))).toBe(
        isTaken,
      );
  });
});

// To copy the line anew with each piece would take minutes.
test("a line of megabytes comes in thousands of pieces, and each is copied a few times", () => {
  const pieces = 16 * 1024;
  let length = 0;
  const lines = createSseLines(
    { data: (_, start, end) => void (length = end - start), comment() {}, dispatch() {} },
    pieces * 1_024 + 6,
  );
  const piece = new Uint8Array(1_024).fill(0x61);
  lines.push(encoder.encode("data: "));
  for (let i = 0; i < pieces; i += 1) expect(lines.push(piece)).toBe(true);
  lines.push(encoder.encode("\n\n"));
  expect(length).toBe(pieces * 1_024);
}, 30_000);

test("whole lines are read where they are: bytes are joined only for a line that was cut", () => {
  const read: Uint8Array[] = [];
  const lines = createSseLines(
    { data: (bytes) => void read.push(bytes), comment: () => undefined, dispatch: () => undefined },
    100,
  );
  const pieces = ["data: 1\n\n", "data: 2\n\nda", "ta: 3\n\n", "data: 4\n\n"].map((text) =>
    encoder.encode(text),
  );
  for (const piece of pieces) lines.push(piece);
  expect(read.map((bytes) => pieces.findIndex((piece) => piece === bytes))).toEqual([0, 1, -1, 3]);
});

describe("an event that stands whole in the bytes comes as the place of its last data line", () => {
  /** The whole events of a stream in pieces, and `null` for each that does not stand there whole. */
  const wholeEvents = (pieces: readonly string[]): (string | null)[] => {
    const events: (string | null)[] = [];
    let last: Uint8Array = new Uint8Array(0);
    const lines = createSseLines(
      {
        data: (bytes) => void (last = bytes),
        comment: () => undefined,
        dispatch: (start, end) =>
          void events.push(
            start === -1
              ? null
              : new TextDecoder("utf-8", { ignoreBOM: true }).decode(last.slice(start, end)),
          ),
      },
      1_000,
    );
    for (const piece of pieces) lines.push(encoder.encode(piece));
    lines.end();
    return events;
  };
  const cases: readonly { name: string; pieces: readonly string[]; want: readonly (string | null)[] }[] = [
    {
      name: "one after the other",
      pieces: ["data: a\n\nid: 1\ndata: b\n\n"],
      want: ["data: a\n\n", "id: 1\ndata: b\n\n"],
    },
    { name: "with its mark", pieces: ["\ufeffdata: a\n\n"], want: ["\ufeffdata: a\n\n"] },
    {
      name: "in a piece of its own",
      pieces: ["data: a\n\n", "data: b\n\n"],
      want: ["data: a\n\n", "data: b\n\n"],
    },
    { name: "behind blank lines", pieces: ["\n\r\ndata: a\r\n\r\n"], want: ["data: a\r\n\r\n"] },
    { name: "behind a comment", pieces: [": x\ndata: a\n\n"], want: ["data: a\n\n"] },
    {
      name: "but not with a comment in it",
      pieces: ["data: a\n: x\n\ndata: b\n\n"],
      want: [null, "data: b\n\n"],
    },
    {
      name: "cut within a line",
      pieces: ["da", "ta: a\n\nda", "ta: b\n\ndata: c\n\n"],
      want: ["data: a\n\n", "data: b\n\n", "data: c\n\n"],
    },
    {
      name: "cut before lines of one letter",
      pieces: ["da", "ta: a\nx\n\ndata: b\n\nda", "ta: c\r\ny\n\ndata: d\n\n"],
      want: ["data: a\nx\n\n", "data: b\n\n", "data: c\r\ny\n\n", "data: d\n\n"],
    },
    {
      name: "but not cut between two lines",
      pieces: ["data: a\n", "data: b\n\n", "data: c\n\n"],
      want: [null, "data: c\n\n"],
    },
    {
      name: "nor cut before its blank line",
      pieces: ["data: a\n", "\ndata: b\n\n"],
      want: [null, "data: b\n\n"],
    },
    {
      name: "nor cut twice, between lines and within one",
      pieces: ["id: 1\nda", "ta: b\n\ndata: c\n\n"],
      want: [null, "data: c\n\n"],
    },
    {
      name: "nor where a line feed may still belong to it",
      pieces: ["data: a\r\n\r", "\ndata: b\n\n"],
      want: [null, "data: b\n\n"],
    },
    {
      name: "nor at the end of the stream without its blank line",
      pieces: ["data: a\n\ndata: b"],
      want: ["data: a\n\n", null],
    },
  ];
  for (const { name, pieces, want } of cases)
    test(name, () => expect(wholeEvents(pieces)).toEqual([...want]));
});

test("a visitor takes the events that it knows where none has begun, and the handler gets all others", () => {
  const seen: string[] = [];
  const known = "data: k\n\n";
  const lines = createSseLines(
    {
      data: (bytes, start, end) => void seen.push(Buffer.from(bytes.slice(start, end)).toString()),
      comment: () => undefined,
      dispatch: (start, end) => void seen.push(`${start}-${end}`),
      take(bytes, from) {
        let at = from;
        while (Buffer.from(bytes.slice(at)).toString().startsWith(known)) at += known.length;
        if (at > from) seen.push(`taken ${from}-${at}`);
        return at;
      },
    },
    100,
  );
  const pieces = [
    known + known,
    `data: a\n\n${known}id: 1\ndata: b\n\n${known}`,
    // It is an event's second line here.
    `data: c\n${known}`,
    `data: d\r\n\r\n${known}data: e\r\n\r\n`,
  ];
  const seenOf = (piece: string): string => {
    lines.push(encoder.encode(piece));
    return seen.splice(0).join(" ");
  };
  expect(pieces.map(seenOf)).toEqual([
    "taken 0-18",
    "a 0-9 taken 9-18 b 18-33 taken 33-42",
    "c k 0-17",
    "d 0-11 taken 11-20 e 20-31",
  ]);
});

test("an end that comes twice is one", () => {
  const read: number[] = [];
  const lines = createSseLines(
    {
      data: (_, start, end) => void read.push(end - start),
      comment: () => undefined,
      dispatch: () => void read.push(-1),
    },
    100,
  );
  lines.push(encoder.encode("data: abc"));
  for (let again = 0; again < 2; again += 1) lines.end();
  expect(read).toEqual([3, -1]);
});

test("only the event that was cut is copied, in streams of LF and of CRLF", () => {
  for (const eol of ["\n", "\r\n"]) {
    const read: Uint8Array[] = [];
    const lines = createSseLines(
      { data: (bytes) => void read.push(bytes), comment: () => undefined, dispatch: () => undefined },
      100,
    );
    const pieces = ["data: 1||da", "ta: 2||data: 3||data: 4||"].map((text) =>
      encoder.encode(text.replaceAll("|", eol)),
    );
    for (const piece of pieces) lines.push(piece);
    const buffers = pieces.map(({ buffer }) => buffer);
    expect(read.map(({ buffer }) => buffers.indexOf(buffer as ArrayBuffer))).toEqual([0, -1, 1, 1]);
  }
});
