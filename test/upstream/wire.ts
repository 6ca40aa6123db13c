import type { Answer, EndKind, HeaderPairs, Mark, Place } from "./answer.ts";
import { joinBytes, latin1Bytes, toBytes } from "./bytes.ts";
import { cutOffsets } from "./cuts.ts";
import type { Gate } from "./gate.ts";

/** One thing the double does on the socket. `bodyBytes` says how much of the body is out after a write. */
export type Step =
  | { readonly kind: "write"; readonly bytes: Uint8Array; readonly bodyBytes: number }
  | { readonly kind: "pause"; readonly ms: number }
  | { readonly kind: "gate"; readonly gate: Gate }
  | { readonly kind: "repeat"; readonly bytes: Uint8Array; readonly pauseMs: number }
  | { readonly kind: "end"; readonly how: EndKind; readonly finished: boolean };

interface Piece {
  readonly bodyStart: number;
  readonly bodyEnd: number;
  readonly wireStart: number;
  readonly wireEnd: number;
}

interface Layout {
  readonly wire: Uint8Array;
  readonly body: Uint8Array;
  readonly headStart: number;
  readonly headEnd: number;
  readonly bodyEnd: number;
  readonly pieces: readonly Piece[];
}

const REASONS: Readonly<Record<number, string>> = {
  200: "OK",
  302: "Found",
  400: "Bad Request",
  401: "Unauthorized",
  404: "Not Found",
  429: "Too Many Requests",
  500: "Internal Server Error",
  503: "Service Unavailable",
};

/** The steps that play an answer: the same answer gives the same steps, and the last one is always the end. */
export function wireSteps(answer: Answer): Step[] {
  const layout = layOut(answer);
  const end = answer.end ?? { at: "last-byte", how: answer.framing === "close" ? "fin" : "keep-alive" };
  const endAt = wireOffset(layout, end.at);
  const steps: Step[] = [];
  let written = 0;
  for (const boundary of boundaries(answer, layout, endAt)) {
    if (boundary > written) {
      if (needsPause(answer, layout, written)) steps.push({ kind: "pause", ms: answer.pauseMs ?? 0 });
      steps.push(...writes(answer, layout, written, boundary));
      written = boundary;
    }
    steps.push(...marksAt(answer, layout, boundary));
    if (boundary === endAt && !(answer.endless !== undefined && endAt >= layout.bodyEnd)) break;
    if (boundary === layout.bodyEnd && answer.endless !== undefined) {
      steps.push(repeatStep(answer, answer.endless));
      break;
    }
  }
  const finished = written === layout.wire.length && isHonest(answer, layout);
  return [...steps, { kind: "end", how: end.how, finished }];
}

/** Whether a client that reads all bytes can take the answer for complete. */
function isHonest(answer: Answer, layout: Layout): boolean {
  const declared = answer.declaredLength ?? layout.body.length;
  return (
    answer.brokenChunk === undefined && (declared === "absent" || Number(declared) === layout.body.length)
  );
}

/** How many bytes of the body are out once this many bytes of the wire are. */
function bodyBytesAt(layout: Layout, wireBytes: number): number {
  const piece = layout.pieces.findLast((piece) => wireBytes >= piece.wireStart);
  if (piece === undefined) return 0;
  return Math.min(piece.bodyStart + wireBytes - piece.wireStart, piece.bodyEnd);
}

function layOut(answer: Answer): Layout {
  const body = toBytes(answer.body ?? "");
  const interim = latin1Bytes(interimHeads(answer));
  const head = latin1Bytes(headText(answer, body.length));
  const headEnd = interim.length + head.length;
  const parts = [interim, head];
  const pieces: Piece[] = [];
  let at = headEnd;
  for (const [index, [bodyStart, bodyEnd]] of pieceRanges(answer, body).entries()) {
    const data = body.subarray(bodyStart, bodyEnd);
    const [before, after] = pieceFrame(answer, index, data.length);
    parts.push(before, data, after);
    const wireStart = at + before.length;
    at = wireStart + data.length + after.length;
    pieces.push({ bodyStart, bodyEnd, wireStart, wireEnd: at });
  }
  if (answer.framing === "chunked") parts.push(latin1Bytes(`0\r\n${headerLines(answer.trailers ?? [])}\r\n`));
  return { wire: joinBytes(parts), body, headStart: interim.length, headEnd, bodyEnd: at, pieces };
}

function interimHeads(answer: Answer): string {
  const head = (status: number, headers: HeaderPairs) =>
    `HTTP/1.1 ${status} Interim\r\n${headerLines(headers)}\r\n`;
  return (answer.interim ?? []).map(({ status, headers }) => head(status, headers ?? [])).join("");
}

function headText(answer: Answer, bodyLength: number): string {
  const status = answer.status ?? 200;
  const statusLine = answer.statusLine ?? `HTTP/1.1 ${status} ${REASONS[status] ?? "Status"}`;
  return `${statusLine}\r\n${headerLines([...(answer.headers ?? []), ...framingHeaders(answer, bodyLength)])}\r\n`;
}

function framingHeaders(answer: Answer, bodyLength: number): HeaderPairs {
  if (answer.framing === "chunked") return [["transfer-encoding", "chunked"]];
  if (answer.framing === "close") return [["connection", "close"]];
  if (answer.declaredLength === "absent") return [];
  return [["content-length", `${answer.declaredLength ?? bodyLength}`]];
}

function headerLines(headers: HeaderPairs): string {
  return headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
}

/** A place inside the body forces a cut there, so that with chunked framing the chunk before it is whole. */
function pieceRanges(answer: Answer, body: Uint8Array): [number, number][] {
  const places = [answer.end?.at, ...(answer.marks ?? []).map((mark) => mark.at)];
  const forced = places.filter((place) => typeof place === "number");
  const cuts = new Set([...cutOffsets(body, answer.cut ?? "whole"), ...cutOffsets(body, { at: forced })]);
  const starts = [0, ...[...cuts].sort((a, b) => a - b)];
  if (body.length === 0) return [];
  return starts.map((start, index) => [start, starts[index + 1] ?? body.length]);
}

const NOTHING = new Uint8Array();

function pieceFrame(answer: Answer, index: number, length: number): [before: Uint8Array, after: Uint8Array] {
  if (answer.framing !== "chunked") return [NOTHING, NOTHING];
  const broken = answer.brokenChunk?.index === index ? answer.brokenChunk.sizeLine : undefined;
  return [latin1Bytes(`${broken ?? length.toString(16)}\r\n`), latin1Bytes("\r\n")];
}

function wireOffset(layout: Layout, place: Place): number {
  if (place === "start") return 0;
  if (place === "mid-head") return Math.floor((layout.headStart + layout.headEnd) / 2);
  if (place === "head-end") return layout.headEnd;
  if (place === "body-end") return layout.bodyEnd;
  if (place === "last-byte") return layout.wire.length;
  if (typeof place === "object") return counted(layout, place.wire);
  if (place === 0) return layout.headEnd;
  const piece = layout.pieces.find((piece) => piece.bodyEnd === place);
  if (piece === undefined) {
    throw new Error(`place ${place} is not inside the body of ${layout.body.length} bytes`);
  }
  return piece.wireEnd;
}

function counted(layout: Layout, wire: number): number {
  const offset = wire < 0 ? layout.wire.length + wire : wire;
  if (offset < 0 || offset > layout.wire.length) {
    throw new Error(`place ${wire} is not inside the ${layout.wire.length} bytes of the answer`);
  }
  return offset;
}

/** Every offset at which a write ends, ascending, up to the end; 0 is always among them. */
function boundaries(answer: Answer, layout: Layout, endAt: number): number[] {
  const glue = answer.glue ?? ((answer.cut ?? "whole") === "whole" ? "both" : "none");
  const cuts = layout.pieces.slice(0, -1).map((piece) => piece.wireEnd);
  if (glue === "none" || glue === "tail") cuts.push(layout.headEnd);
  if (glue === "none" || glue === "head" || answer.endless !== undefined) cuts.push(layout.bodyEnd);
  const marks = (answer.marks ?? []).map((mark) => wireOffset(layout, mark.at));
  const all = new Set([0, ...cuts, ...marks, endAt]);
  return [...all].filter((offset) => offset <= endAt).sort((a, b) => a - b);
}

function needsPause(answer: Answer, layout: Layout, from: number): boolean {
  const isPieceEnd = layout.pieces.some((piece) => piece.wireEnd === from);
  return answer.pauseMs !== undefined && isPieceEnd && from < layout.bodyEnd;
}

function writes(answer: Answer, layout: Layout, from: number, to: number): Step[] {
  const every = answer.drip?.everyBytes ?? to - from;
  const steps: Step[] = [];
  for (let start = from; start < to; start += every) {
    const end = Math.min(start + every, to);
    if (answer.drip?.pauseMs !== undefined && start > 0)
      steps.push({ kind: "pause", ms: answer.drip.pauseMs });
    steps.push({
      kind: "write",
      bytes: layout.wire.subarray(start, end),
      bodyBytes: bodyBytesAt(layout, end),
    });
  }
  return steps;
}

function marksAt(answer: Answer, layout: Layout, offset: number): Step[] {
  const here = (answer.marks ?? []).filter((mark) => wireOffset(layout, mark.at) === offset);
  return here.map((mark: Mark) =>
    "gate" in mark ? { kind: "gate", gate: mark.gate } : { kind: "pause", ms: mark.pauseMs },
  );
}

function repeatStep(answer: Answer, endless: NonNullable<Answer["endless"]>): Step {
  const bytes = toBytes(endless.bytes);
  const [before, after] = pieceFrame(answer, -1, bytes.length);
  return { kind: "repeat", bytes: joinBytes([before, bytes, after]), pauseMs: endless.pauseMs ?? 0 };
}
