import { expect, test } from "bun:test";
import { joinBytes, latin1Bytes, toText } from "./bytes.ts";
import { createHttpReader } from "./http-reader.ts";
import type { ReaderEvent, ReaderLimits } from "./http-reader.ts";

/** Events with body pieces joined, so that readings of differently cut bytes can be compared. */
function read(pieces: readonly Uint8Array[], limits: Partial<ReaderLimits> = {}): string[] {
  const reader = createHttpReader(limits);
  const told: string[] = [];
  let body: Uint8Array[] = [];
  const tell = (event: ReaderEvent) => {
    if (event.kind === "head") told.push(JSON.stringify(event.head));
    if (event.kind === "body") body.push(event.bytes);
    if (event.kind === "bad") told.push(`bad: ${event.reason}`);
    if (event.kind !== "end") return;
    told.push(`body: ${toText(joinBytes(body))}`);
    body = [];
  };
  for (const piece of pieces) for (const event of reader.push(piece)) tell(event);
  return told;
}

const SIZED =
  "POST /v1/x?y=1 HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nx-a:  two \r\nContent-Length: 11\r\n\r\nhällo\r\n\r\nx";
const CHUNKED =
  "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\nA;ext=1\r\n0123456789\r\n0\r\nX-T: 1\r\n\r\n";
const EMPTY = "GET /models HTTP/1.1\r\nHost: h\r\n\r\n";

const requests = [
  { name: "a sized body", text: SIZED },
  { name: "a chunked body with extension and trailer", text: CHUNKED },
  { name: "no body", text: EMPTY },
  { name: "three requests one after the other", text: SIZED + CHUNKED + EMPTY },
];
for (const { name, text } of requests) {
  const bytes = Buffer.from(text);
  const whole = read([bytes]);

  test(`${name}: cut at any one byte it reads the same`, () => {
    for (let at = 1; at < bytes.length; at++) {
      expect(read([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(whole);
    }
  });

  test(`${name}: byte by byte it reads the same`, () => {
    expect(read([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(whole);
  });
}

test("header lines keep their order, case and repetitions", () => {
  const [head] = read([Buffer.from(SIZED)]);
  expect(JSON.parse(head ?? "")).toEqual({
    method: "POST",
    target: "/v1/x?y=1",
    headers: [
      ["Host", "h"],
      ["X-A", "1"],
      ["x-a", "two"],
      ["Content-Length", "11"],
    ],
  });
});

test("a chunked body is read without its framing", () => {
  expect(read([Buffer.from(CHUNKED)])[1]).toBe("body: hello0123456789");
});

const H = "Host: h\r\n";
const broken = [
  { name: "a request line without a version", text: "GET /\r\n\r\n" },
  { name: "HTTP/1.0", text: `GET / HTTP/1.0\r\n${H}\r\n` },
  { name: "two spaces in the request line", text: `GET  / HTTP/1.1\r\n${H}\r\n` },
  { name: "no Host", text: "GET / HTTP/1.1\r\n\r\n" },
  { name: "two Hosts", text: `GET / HTTP/1.1\r\n${H}${H}\r\n` },
  { name: "a space before the colon", text: `GET / HTTP/1.1\r\n${H}A : b\r\n\r\n` },
  { name: "a folded line", text: `GET / HTTP/1.1\r\n${H}A: b\r\n c\r\n\r\n` },
  { name: "a bare LF in a header", text: `GET / HTTP/1.1\r\n${H}A: b\nC: d\r\n\r\n` },
  { name: "a NUL in a header", text: `GET / HTTP/1.1\r\n${H}A: b\0\r\n\r\n` },
  { name: "two lengths", text: `POST / HTTP/1.1\r\n${H}Content-Length: 1\r\nContent-Length: 1\r\n\r\na` },
  { name: "a negative length", text: `POST / HTTP/1.1\r\n${H}Content-Length: -1\r\n\r\n` },
  { name: "a length with a sign", text: `POST / HTTP/1.1\r\n${H}Content-Length: +1\r\n\r\n` },
  {
    name: "a length and chunked",
    text: `POST / HTTP/1.1\r\n${H}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`,
  },
  { name: "gzip as transfer encoding", text: `POST / HTTP/1.1\r\n${H}Transfer-Encoding: gzip\r\n\r\n` },
  {
    name: "a chunk size that is none",
    text: `POST / HTTP/1.1\r\n${H}Transfer-Encoding: chunked\r\n\r\n0x1\r\n`,
  },
  {
    name: "a huge chunk size",
    text: `POST / HTTP/1.1\r\n${H}Transfer-Encoding: chunked\r\n\r\nfffffffff\r\n`,
  },
  {
    name: "a chunk longer than its size",
    text: `POST / HTTP/1.1\r\n${H}Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n`,
  },
];
for (const { name, text } of broken) {
  test(`${name} is refused, and nothing after it is read`, () => {
    const told = read([latin1Bytes(text), latin1Bytes(EMPTY)]);
    expect(told.at(-1)).toStartWith("bad: ");
    expect(told.filter((line) => line.startsWith("bad"))).toHaveLength(1);
  });
}

test("heads, lines and bodies past their bounds are refused", () => {
  const limits = { maxHeadBytes: 100, maxBodyBytes: 10 };
  expect(read([latin1Bytes("G".repeat(101))], limits)).toEqual(["bad: the head is too large"]);
  expect(read([Buffer.from(SIZED)], limits).at(-1)).toBe("bad: the body is too large");
  expect(read([Buffer.from(CHUNKED)], limits).at(-1)).toBe("bad: the body is too large");
  const longLine = `POST / HTTP/1.1\r\n${H}Transfer-Encoding: chunked\r\n\r\n1;${"e".repeat(200)}`;
  expect(read([latin1Bytes(longLine)], limits).at(-1)).toBe("bad: a line is too long");
});
