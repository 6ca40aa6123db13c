import type { Socket } from "bun";
import type { Answer } from "./answer.ts";
import { jsonAnswer } from "./answer.ts";
import { joinBytes, toBytes } from "./bytes.ts";
import { BENCHMARK_ANSWERS, type BenchmarkFormat } from "./benchmark-answers.ts";
import { eventEnds } from "./cuts.ts";
import { createRequestSkimmer } from "./request-skimmer.ts";
import type { RequestSkimmer, Skimmed } from "./request-skimmer.ts";
import { createTimerWheel } from "./timer-wheel.ts";
import { wireSteps } from "./wire.ts";

/** What a benchmark double serves. */
export interface BenchmarkForm {
  readonly format: BenchmarkFormat;
  /** The path that is answered, with its query. */
  readonly path: string;
  readonly mode: "plain" | "stream";
  /** Content events of a stream. */
  readonly chunks: number;
  /** How many events of a stream share a write; 1 when not given. */
  readonly eventsPerWrite?: number;
  /** Between two writes; 0 writes them one after the other without waiting. */
  readonly intervalMs: number;
  /** The size of the body, padded up to it: exact for plain answers, about for streams. */
  readonly bodyBytes: number;
}

/** What a benchmark double did, to compare with what the load client saw. */
export interface BenchmarkCounts {
  requests: number;
  /** Answers written to their last byte. */
  finished: number;
  /** SSE events written; 0 for plain answers. */
  events: number;
}

/** A running benchmark double. */
export interface BenchmarkDouble {
  readonly url: string;
  readonly counts: Readonly<BenchmarkCounts>;
  stop(): void;
}

interface Line {
  readonly skimmer: RequestSkimmer;
  /** Writes not yet taken by the kernel, the first perhaps in part. */
  readonly waiting: Uint8Array[];
  /** Answers asked for and not begun: only a pipelining client has more than one request open. */
  asked: number;
  /** The next write of the answer in hand. */
  next: number;
  open: boolean;
}

/** Serves POST to the form's path on 127.0.0.1 from bytes that are made before it listens. */
export function startBenchmarkDouble(form: BenchmarkForm, port = 0): BenchmarkDouble {
  const writes = benchmarkWrites(form);
  const events = writes.map((bytes) => (form.mode === "stream" ? bodyEvents(bytes) : 0));
  const notFound = wireBytes(jsonAnswer(404, { error: { message: "upstream double: no such path" } }));
  const wheel = createTimerWheel(form.intervalMs);
  const counts: BenchmarkCounts = { requests: 0, finished: 0, events: 0 };

  const writeNext = (socket: Socket<Line>): boolean => {
    const line = socket.data;
    if (!line.open) return false;
    send(socket, writes[line.next] ?? NOTHING);
    counts.events += events[line.next] ?? 0;
    line.next += 1;
    return line.next < writes.length || endAnswer(socket);
  };
  const endAnswer = (socket: Socket<Line>): false => {
    counts.finished += 1;
    socket.data.asked -= 1;
    if (socket.data.asked > 0) beginAnswer(socket);
    return false;
  };
  const beginAnswer = (socket: Socket<Line>): void => {
    socket.data.next = 0;
    let more = writeNext(socket);
    if (form.intervalMs > 0 && more) return wheel.add(() => writeNext(socket));
    while (more) more = writeNext(socket);
  };
  const answer = (socket: Socket<Line>, seen: Skimmed): void => {
    counts.requests += 1;
    if (seen === "unreadable") socket.end();
    if (seen === "other") send(socket, notFound);
    if (seen !== "asked") return;
    socket.data.asked += 1;
    if (socket.data.asked === 1) beginAnswer(socket);
  };

  const listener = Bun.listen<Line>({
    hostname: "127.0.0.1",
    port,
    socket: {
      open: (socket) => void (socket.data = createLine(form.path)),
      data(socket, bytes) {
        for (const seen of socket.data.skimmer.push(bytes)) answer(socket, seen);
      },
      drain: (socket) => sendWaiting(socket),
      close: (socket) => void (socket.data.open = false),
      error: (socket) => void (socket.data.open = false),
    },
  });
  const stop = () => {
    wheel.stop();
    listener.stop(true);
  };
  return { url: `http://127.0.0.1:${listener.port}`, counts, stop };
}

/** The writes of one answer: one for a plain answer, one for each event of a stream or for so many as share a write. */
export function benchmarkWrites(form: BenchmarkForm): Uint8Array[] {
  const { plain, stream } = BENCHMARK_ANSWERS[form.format];
  if (form.mode === "plain") {
    const padding = Math.max(1, form.bodyBytes - bodyLength(plain("")));
    return [wireBytes(plain("x".repeat(padding)))];
  }
  const empty = bodyLength(stream(Array.from({ length: form.chunks }, () => "")));
  const word = "x".repeat(Math.max(1, Math.floor((form.bodyBytes - empty) / form.chunks)));
  const answer = stream(Array.from({ length: form.chunks }, () => word));
  const ends = eventEnds(toBytes(answer.body ?? ""));
  const at = ends.filter((_, event) => (event + 1) % (form.eventsPerWrite ?? 1) === 0);
  return wireSteps({ ...answer, cut: { at }, glue: "both" }).flatMap((step) =>
    step.kind === "write" ? [step.bytes] : [],
  );
}

/** Events that end in a write; a blank line of the head or of a chunk's frame ends in CRLF. */
function bodyEvents(write: Uint8Array): number {
  return (
    Buffer.from(write.buffer, write.byteOffset, write.length).toString("latin1").split("\n\n").length - 1
  );
}

function bodyLength({ body = "" }: Answer): number {
  return typeof body === "string" ? Buffer.byteLength(body) : body.length;
}

const NOTHING = new Uint8Array();

function createLine(path: string): Line {
  return { skimmer: createRequestSkimmer(path), waiting: [], asked: 0, next: 0, open: true };
}

function wireBytes(answer: Answer): Uint8Array {
  return joinBytes(wireSteps(answer).flatMap((step) => (step.kind === "write" ? [step.bytes] : [])));
}

function send(socket: Socket<Line>, bytes: Uint8Array): void {
  const { waiting } = socket.data;
  if (waiting.length > 0) return void waiting.push(bytes);
  const taken = socket.write(bytes);
  if (taken < bytes.length) waiting.push(bytes.subarray(Math.max(0, taken)));
}

function sendWaiting(socket: Socket<Line>): void {
  const { waiting } = socket.data;
  for (let bytes = waiting[0]; bytes !== undefined; bytes = waiting[0]) {
    const taken = socket.write(bytes);
    if (taken < bytes.length) {
      waiting[0] = bytes.subarray(Math.max(0, taken));
      return;
    }
    waiting.shift();
  }
}
