/** What the bytes that were pushed came to: the answer goes on, is whole, or is wrong in the way of the text. */
export type AnswerState = "reading" | "whole" | { readonly wrong: string };

/** Reads the answers of one keep-alive connection, one after the other, and keeps nothing of them but counts. */
export interface AnswerReader {
  /** Takes bytes of the answer in hand. After `whole` the next byte begins the next answer. */
  push(bytes: Uint8Array): AnswerState;
  /** Server-sent events of all answers so far. */
  events(): number;
}

/** What makes an answer a right one. */
export interface AnswerForm {
  /** The last bytes of a body. */
  readonly endMark: string;
  /** Whether the body is a stream of server-sent events, each ended by an empty line. */
  readonly stream: boolean;
}

const CRLFCRLF = "\r\n\r\n";
const EVENT_END = "\n\n";
const LF = 10;
const LONGEST_HEAD = 16_384;
const LONGEST_LINE = 64;
const SHOWN_BYTES = 300;
const NOTHING = Buffer.alloc(0);

interface Body {
  /** Bytes left of the body or of its chunk in hand. */
  left: number;
  readonly chunked: boolean;
  /** Where a chunked body is: at a size line, in data, at the line end after data, in the trailer. */
  at: "size" | "data" | "data-end" | "trailer";
}

/** Makes a reader for one connection. */
export function createAnswerReader(form: AnswerForm): AnswerReader {
  const content = createContentCheck(form);
  let kept: Buffer = NOTHING;
  let body: Body | undefined;

  const push = (bytes: Uint8Array): AnswerState => {
    let rest = asBuffer(bytes);
    if (kept.length > 0) rest = Buffer.concat([kept, rest]);
    if (body === undefined) {
      const end = rest.indexOf(CRLFCRLF);
      if (end < 0) return keep(rest, LONGEST_HEAD);
      const head = readHead(rest.toString("latin1", 0, end + 2));
      rest = rest.subarray(end + CRLFCRLF.length);
      if ("wrong" in head) return { wrong: `${head.wrong} ${rest.toString("utf8", 0, SHOWN_BYTES)}` };
      body = head;
    }
    return body.chunked ? pushChunked(body, rest) : pushPlain(body, rest);
  };

  const keep = (rest: Buffer, most: number): AnswerState => {
    if (rest.length > most) return { wrong: `a head or chunk size of more than ${most} bytes` };
    // The runtime may use its read buffer again.
    kept = rest.length === 0 ? NOTHING : Buffer.from(rest);
    return "reading";
  };

  const pushPlain = (body: Body, rest: Buffer): AnswerState => {
    kept = NOTHING;
    if (rest.length > body.left) return { wrong: "more bytes than Content-Length says" };
    content.push(rest);
    body.left -= rest.length;
    return body.left > 0 ? "reading" : finish();
  };

  const pushChunked = (body: Body, bytes: Buffer): AnswerState => {
    let rest = bytes;
    for (;;) {
      if (body.at === "data") {
        content.push(rest.length <= body.left ? rest : rest.subarray(0, body.left));
        const taken = Math.min(body.left, rest.length);
        body.left -= taken;
        rest = rest.subarray(taken);
        if (body.left === 0) body.at = "data-end";
      }
      const end = rest.indexOf(LF);
      if (end < 0) return keep(rest, LONGEST_LINE);
      const line = rest.toString("latin1", 0, end).trimEnd();
      rest = rest.subarray(end + 1);
      if (body.at === "trailer") return endChunked(line, rest);
      if (body.at === "data-end" && line !== "") return { wrong: "a chunk longer than its size" };
      if (body.at === "size" && !HEX.test(line)) return { wrong: `no chunk size: ${line}` };
      if (body.at === "size") body.left = Number.parseInt(line, 16);
      body.at = body.at === "data-end" ? "size" : body.left === 0 ? "trailer" : "data";
    }
  };

  const endChunked = (line: string, rest: Buffer): AnswerState => {
    kept = NOTHING;
    if (line !== "" || rest.length > 0) return { wrong: "bytes after the end of a chunked body" };
    return finish();
  };

  const finish = (): AnswerState => {
    body = undefined;
    return content.finish() ? "whole" : { wrong: `a body that does not end with ${form.endMark}` };
  };

  return { push, events: () => content.events() };
}

const HEX = /^[0-9a-f]+$/i;
const STATUS_OK = /^HTTP\/1\.1 200 /;
const CONTENT_LENGTH = /\r\ncontent-length:[ \t]*(\d+)[ \t]*\r\n/i;
const CHUNKED = /\r\ntransfer-encoding:[ \t]*chunked[ \t]*\r\n/i;

function readHead(head: string): Body | { readonly wrong: string } {
  if (!STATUS_OK.test(head)) return { wrong: head.slice(0, head.indexOf("\r\n")) };
  if (CHUNKED.test(head)) return { left: 0, chunked: true, at: "size" };
  const length = CONTENT_LENGTH.exec(head)?.[1];
  if (length === undefined) return { wrong: "neither Content-Length nor chunks" };
  return { left: Number(length), chunked: false, at: "data" };
}

interface ContentCheck {
  push(piece: Buffer): void;
  /** Whether the body ended with its mark; begins anew. */
  finish(): boolean;
  events(): number;
}

function createContentCheck({ endMark, stream }: AnswerForm): ContentCheck {
  const mark = Buffer.from(endMark);
  const tail = Buffer.alloc(Math.max(mark.length, EVENT_END.length));
  let events = 0;

  const countEvents = (piece: Buffer) => {
    const split = tail[tail.length - 1] === LF && piece[0] === LF;
    if (split) events += 1;
    let at = piece.indexOf(EVENT_END, split ? 1 : 0);
    for (; at >= 0; at = piece.indexOf(EVENT_END, at + EVENT_END.length)) events += 1;
  };

  return {
    push(piece) {
      if (piece.length === 0) return;
      if (stream) countEvents(piece);
      const fresh = Math.min(piece.length, tail.length);
      tail.copyWithin(0, fresh);
      piece.copy(tail, tail.length - fresh, piece.length - fresh);
    },
    finish() {
      const ended = tail.subarray(tail.length - mark.length).equals(mark);
      tail.fill(0);
      return ended;
    },
    events: () => events,
  };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
