import { createAnswerReader } from "./answer-reader.ts";
import type { AnswerForm, AnswerReader } from "./answer-reader.ts";
import { percentile } from "./percentile.ts";

/** What is asked of a server, how often, and for how long. */
export interface LoadPlan {
  /** Absent: POST. */
  readonly method?: "GET" | "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly answer: AnswerForm;
  /** Connections, each with one request open. */
  readonly concurrency: number;
  /** The load ends after this many requests … */
  readonly requests: number;
  /** … or after this time, whichever comes first. */
  readonly seconds: number;
}

/** The result of a load; latencies are of whole answers, streams included. */
export interface LoadResult {
  readonly requests: number;
  readonly errors: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Server-sent events received. */
  readonly events: number;
  readonly firstError?: string;
}

interface Line {
  readonly reader: AnswerReader;
  askedAt: number;
  waiting: boolean;
  /** What the kernel has not taken of the request in hand. */
  unsent: Uint8Array;
}

type LineSocket = Bun.Socket<Line>;

const LONGEST_ANSWER_SECONDS = 30;
const NOTHING = new Uint8Array();

/** Opens all connections, then runs the plan over them. An error ends the load: no request is begun after it. */
export async function runLoad(plan: LoadPlan): Promise<LoadResult> {
  const run = createRun(plan);
  const lines: LineSocket[] = [];
  const wanted = Math.min(plan.concurrency, plan.requests);
  for (let count = 0; count < wanted; count++) lines.push(await connect(plan, run));

  const startedAt = performance.now();
  const patience = (plan.seconds + LONGEST_ANSWER_SECONDS) * 1_000;
  const giveUp = setTimeout(() => {
    for (const socket of lines) run.fail(socket, `no whole answer within ${LONGEST_ANSWER_SECONDS} s`);
  }, patience);
  run.begin(lines);
  await run.ended;
  const seconds = (performance.now() - startedAt) / 1_000;
  clearTimeout(giveUp);
  for (const socket of lines) socket.terminate();
  const events = lines.reduce((sum, socket) => sum + socket.data.reader.events(), 0);
  return { ...run.outcome(), seconds, events };
}

function connect(plan: LoadPlan, run: Run): Promise<LineSocket> {
  const { hostname, port } = new URL(plan.url);
  return Bun.connect<Line>({
    hostname,
    port: Number(port),
    data: { reader: createAnswerReader(plan.answer), askedAt: 0, waiting: false, unsent: NOTHING },
    socket: {
      data: run.take,
      drain: (socket) => write(socket, socket.data.unsent),
      close: (socket) => run.fail(socket, "the server closed the connection within an answer"),
      error: (socket, error) => run.fail(socket, error.message),
    },
  });
}

/** The course of one load over all of its connections. */
interface Run {
  begin(lines: readonly LineSocket[]): void;
  readonly take: (socket: LineSocket, bytes: Uint8Array) => void;
  fail(socket: LineSocket, message: string): void;
  /** Resolves when no request is open any more. */
  readonly ended: Promise<void>;
  outcome(): Omit<LoadResult, "seconds" | "events">;
}

function createRun(plan: LoadPlan): Run {
  const request = requestBytes(plan);
  const latencies: number[] = [];
  const failures: string[] = [];
  const ended = Promise.withResolvers<void>();
  let lastAskAt = 0;
  let asked = 0;
  let waiting = 0;

  const ask = (socket: LineSocket) => {
    asked += 1;
    waiting += 1;
    socket.data.waiting = true;
    socket.data.askedAt = performance.now();
    write(socket, request);
  };
  const settle = (socket: LineSocket) => {
    socket.data.waiting = false;
    waiting -= 1;
  };
  const endIfIdle = () => {
    if (waiting === 0) ended.resolve();
  };
  const fail = (socket: LineSocket, message: string) => {
    if (!socket.data.waiting) return;
    failures.push(message);
    settle(socket);
    socket.end();
    endIfIdle();
  };
  return {
    begin(lines) {
      lastAskAt = performance.now() + plan.seconds * 1_000;
      for (const socket of lines) ask(socket);
    },
    take(socket, bytes) {
      if (!socket.data.waiting) return;
      const state = socket.data.reader.push(bytes);
      if (state === "reading") return;
      if (state !== "whole") return fail(socket, state.wrong);
      const now = performance.now();
      latencies.push(now - socket.data.askedAt);
      settle(socket);
      if (failures.length === 0 && asked < plan.requests && now < lastAskAt) ask(socket);
      else endIfIdle();
    },
    fail,
    ended: ended.promise,
    outcome() {
      const sorted = latencies.toSorted((a, b) => a - b);
      const spread = { p50Ms: percentile(sorted, 0.5), p99Ms: percentile(sorted, 0.99) };
      const [firstError] = failures;
      const result = { requests: latencies.length, errors: failures.length, ...spread };
      return firstError === undefined ? result : { ...result, firstError };
    },
  };
}

function requestBytes({ method = "POST", url, headers, body }: LoadPlan): Uint8Array {
  const { host, pathname, search } = new URL(url);
  const all = { host, ...headers, "content-type": "application/json", "content-length": body.length };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([
    Buffer.from(`${method} ${pathname}${search} HTTP/1.1\r\n${lines.join("")}\r\n`),
    body,
  ]);
}

function write(socket: LineSocket, bytes: Uint8Array): void {
  if (bytes.length === 0) return;
  const taken = Math.max(0, socket.write(bytes));
  socket.data.unsent = taken < bytes.length ? bytes.subarray(taken) : NOTHING;
}
