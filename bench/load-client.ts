import { createAnswerReader } from "./answer-reader.ts";
import type { AnswerForm, AnswerReader } from "./answer-reader.ts";
import { SESSION_MARK } from "./figures/session-mark.ts";
import { percentile } from "./percentile.ts";

/** What is asked of a server, how often, and for how long. */
export interface LoadPlan {
  /** Absent: POST. */
  readonly method?: "GET" | "POST";
  readonly url: string;
  /** Headers of the requests: each takes the next set in turn. */
  readonly headers: readonly Readonly<Record<string, string>>[];
  /**
   * Bodies that each connection sends in turn. Where they have `SESSION_MARK`, each pass through them is a session with
   * a mark of its own.
   */
  readonly bodies: readonly Uint8Array[];
  readonly answer: AnswerForm;
  /** Connections, each with one request open … */
  readonly concurrency: number;
  /** … unless so many requests are to begin in a second: then as many connections as are free. */
  readonly perSecond?: number | undefined;
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
  /** Requests so far, and what marks the present session. */
  requests: number;
  mark: string;
}

type LineSocket = Bun.Socket<Line>;

const LONGEST_ANSWER_SECONDS = 30;
const TIMER_MS = 1;
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
    data: {
      reader: createAnswerReader(plan.answer),
      askedAt: 0,
      waiting: false,
      unsent: NOTHING,
      requests: 0,
      mark: "",
    },
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
  const nextRequest = createRequests(plan);
  const latencies: number[] = [];
  const failures: string[] = [];
  const ended = Promise.withResolvers<void>();
  const free: LineSocket[] = [];
  /** When those were due that found no connection free. */
  const overdue: number[] = [];
  let lastAskAt = 0;
  let asked = 0;
  let waiting = 0;

  const ask = (socket: LineSocket, at: number) => {
    waiting += 1;
    socket.data.waiting = true;
    socket.data.askedAt = at;
    write(socket, nextRequest(socket.data, asked));
    asked += 1;
  };
  const isOver = () => failures.length > 0 || asked >= plan.requests || performance.now() >= lastAskAt;
  const endIfIdle = () => {
    if (waiting === 0 && isOver()) ended.resolve();
  };
  const settle = (socket: LineSocket) => {
    socket.data.waiting = false;
    waiting -= 1;
  };
  const fail = (socket: LineSocket, message: string) => {
    if (!socket.data.waiting) return;
    failures.push(message);
    settle(socket);
    socket.end();
    endIfIdle();
  };
  const askDue = (perSecond: number) => {
    const everyMs = 1_000 / perSecond;
    let dueAt = performance.now();
    const timer = setInterval(() => {
      for (const now = performance.now(); dueAt <= now && !isOver(); dueAt += everyMs) {
        // In turn: the server closes a connection that rests, and a request on it has no answer.
        const socket = free.shift();
        if (socket === undefined) overdue.push(dueAt);
        else ask(socket, now);
      }
      if (!isOver()) return;
      clearInterval(timer);
      endIfIdle();
    }, TIMER_MS);
  };
  return {
    begin(lines) {
      lastAskAt = performance.now() + plan.seconds * 1_000;
      if (plan.perSecond === undefined) return lines.forEach((socket) => ask(socket, performance.now()));
      free.push(...lines);
      askDue(plan.perSecond);
    },
    take(socket, bytes) {
      if (!socket.data.waiting) return;
      const state = socket.data.reader.push(bytes);
      if (state === "reading") return;
      if (state !== "whole") return fail(socket, state.wrong);
      const now = performance.now();
      latencies.push(now - socket.data.askedAt);
      settle(socket);
      const nextAt = plan.perSecond === undefined ? now : overdue.shift();
      if (nextAt !== undefined && !isOver()) ask(socket, nextAt);
      else free.push(socket);
      endIfIdle();
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

/** The request of a connection that is the given one of all. */
function createRequests(plan: LoadPlan): (line: Line, number: number) => Uint8Array {
  const { method = "POST", url, headers, bodies } = plan;
  const { host, pathname, search } = new URL(url);
  const requests = headers.map((own) =>
    bodies.map((body) => {
      const all = { host, ...own, "content-type": "application/json", "content-length": body.length };
      const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
      const head = `${method} ${pathname}${search} HTTP/1.1\r\n${lines.join("")}\r\n`;
      const bytes = Buffer.concat([Buffer.from(head), body]);
      return { bytes, marks: marksIn(bytes) };
    }),
  );
  return (line, number) => {
    const place = line.requests % bodies.length;
    line.requests += 1;
    if (place === 0) line.mark = freshMark();
    const request = requests[number % requests.length]?.[place];
    if (request === undefined) return NOTHING;
    if (request.marks.length === 0) return request.bytes;
    // A copy: the kernel may not have taken all of the one before.
    const bytes = Buffer.from(request.bytes);
    for (const mark of request.marks) bytes.write(line.mark, mark, "latin1");
    return bytes;
  };
}

function marksIn(bytes: Buffer): number[] {
  const marks: number[] = [];
  for (let at = bytes.indexOf(SESSION_MARK); at >= 0; at = bytes.indexOf(SESSION_MARK, at + 1))
    marks.push(at);
  return marks;
}

/** Nothing that was sent before has it. */
function freshMark(): string {
  return crypto.randomUUID().slice(-SESSION_MARK.length);
}

function write(socket: LineSocket, bytes: Uint8Array): void {
  if (bytes.length === 0) return;
  const taken = Math.max(0, socket.write(bytes));
  socket.data.unsent = taken < bytes.length ? bytes.subarray(taken) : NOTHING;
}
