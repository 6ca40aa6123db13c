import { expect, test } from "bun:test";
import { createAnswerReader } from "./answer-reader.ts";
import type { AnswerForm, AnswerState } from "./answer-reader.ts";

const plain: AnswerForm = { endMark: "}", stream: false };
const stream: AnswerForm = { endMark: "data: [DONE]\n\n", stream: true };
const json = '{"a":{"b":1}}';
const chunked = (...pieces: readonly string[]) =>
  `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${[...pieces, ""]
    .map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`)
    .join("")}`;
const sized = (body: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

const whole = [
  { name: "a body of a known length", form: plain, wire: sized(json), events: 0 },
  { name: "a body in chunks", form: plain, wire: chunked('{"a":', '{"b":1}', "}"), events: 0 },
  { name: "a stream", form: stream, wire: chunked("data: 1\n\n", "data: 2\n\ndata: [DONE]\n\n"), events: 3 },
  {
    name: "a stream whose events are cut by chunks",
    form: stream,
    wire: chunked("data: 1\n", "\ndata", ": [DONE]\n", "\n"),
    events: 2,
  },
  { name: "a stream of a known length", form: stream, wire: sized("data: 1\n\ndata: [DONE]\n\n"), events: 2 },
];

for (const { name, form, wire, events } of whole) {
  test(`${name} is whole at its last byte, wherever it is cut, and so is the next one`, () => {
    const bytes = Buffer.from(wire);
    for (let at = 1; at < bytes.length; at++) {
      const reader = createAnswerReader(form);
      for (let answer = 1; answer <= 2; answer++) {
        expect(reader.push(bytes.subarray(0, at))).toBe("reading");
        expect(reader.push(bytes.subarray(at))).toBe("whole");
        expect(reader.events()).toBe(events * answer);
      }
    }
  });

  test(`${name} is whole when it comes byte by byte`, () => {
    const reader = createAnswerReader(form);
    const states = Array.from(Buffer.from(wire), (byte) => reader.push(Uint8Array.of(byte)));
    expect(states.pop()).toBe("whole");
    expect(states.every((state) => state === "reading")).toBe(true);
    expect(reader.events()).toBe(events);
  });
}

test("bytes of the runtime's read buffer are not kept", () => {
  const bytes = Buffer.from(chunked('{"a":1}'));
  const reader = createAnswerReader(plain);
  let state: AnswerState = "reading";
  const shared = new Uint8Array(1);
  for (const byte of bytes) {
    shared[0] = byte;
    state = reader.push(shared);
  }
  expect(state).toBe("whole");
});

const wrong = [
  {
    name: "another status",
    form: plain,
    wire: `HTTP/1.1 429 Too Many Requests\r\nContent-Length: 2\r\n\r\n{}`,
  },
  { name: "no length", form: plain, wire: `HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n${json}` },
  { name: "a body without its end mark", form: plain, wire: sized('{"a":1') },
  { name: "a stream without its end mark", form: stream, wire: chunked("data: 1\n\n", "data: [DONE]\n") },
  { name: "an end mark that only the answer before had", form: stream, wire: chunked("\n") },
  { name: "no body", form: plain, wire: sized("") },
  { name: "bytes after the end", form: plain, wire: `${sized(json)}x` },
  { name: "bytes after the last chunk", form: plain, wire: `${chunked(json)}x` },
  { name: "a chunk size that is none", form: plain, wire: chunked(json).replace("\r\n\r\nd", "\r\n\r\nq") },
  {
    name: "a chunk longer than its size",
    form: plain,
    wire: chunked(json).replace("\r\n\r\nd", "\r\n\r\n5"),
  },
];

for (const { name, form, wire } of wrong) {
  test(`${name} is wrong`, () => {
    const reader = createAnswerReader(form);
    if (form.stream) expect(reader.push(Buffer.from(chunked("data: [DONE]\n\n")))).toBe("whole");
    expect(reader.push(Buffer.from(wire))).toMatchObject({ wrong: expect.any(String) });
  });
}

test("a refusal is shown with the beginning of its body", () => {
  const refusal = `HTTP/1.1 401 Unauthorized\r\nContent-Length: 9\r\n\r\n{"no":1}\n`;
  expect(createAnswerReader(plain).push(Buffer.from(refusal))).toEqual({
    wrong: 'HTTP/1.1 401 Unauthorized {"no":1}\n',
  });
});
