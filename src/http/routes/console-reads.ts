import { Type } from "typebox";
import { GatewayError } from "../../core/errors.ts";
import { roomWithin } from "../../core/time/stall.ts";
import { DEFAULT_TIMEOUTS } from "../../gateway/timeouts.ts";
import { type BodySink, streamBody } from "../../runtime/stream-body.ts";
import { UNATTENDED_HEADER } from "../console/guard.ts";
import { CONSOLE, PLAY } from "../console/table.ts";
import type { Route, RouteContext } from "../route.ts";
import { decoded } from "../router.ts";
import { bodyOf } from "./admin/body.ts";

/** A page has half as many. */
const MOST_READS = 32;

/** The longest path and query of the console have a few hundred characters. */
const MAX_ADDRESS = 4_096;

const ReadsSchema = Type.Object(
  {
    reads: Type.Array(Type.String({ maxLength: MAX_ADDRESS }), {
      minItems: 1,
      maxItems: MOST_READS,
      description: `Paths below ${CONSOLE}, each with its query, as a GET would have them`,
    }),
  },
  { additionalProperties: false },
);

const readReads = bodyOf(ReadsSchema);

/** The reads of a page as one request: a browser sends six at a time, and each costs it a way there and back. */
export const consoleReadsRoute: Route = {
  method: "post",
  path: `${CONSOLE}/reads`,
  access: "session",
  summary: "Answers to several reads, each as to a GET with this session's cookie",
  tag: "console",
  body: ReadsSchema,
  answers: {
    200: {
      description:
        "Lines of JSON in the order in which they are ready: `index`, `status`, `request_id`, `retry_after` where the answer has it, and `body`",
      text: "application/x-ndjson",
    },
  },
  errors: [400, 403],
  async handle(context) {
    const { reads } = await readReads(context);
    const requests = requestsOf(context.request, reads);
    context.keepOpen();
    return new Response(streamBody({ pipe: (sink) => answerAll(context, requests, sink), cancel: nothing }), {
      headers: { "content-type": "application/x-ndjson" },
    });
  },
};

function nothing(): void {}

/** The reads as requests of the same session. What may be read is decided by the route that each path leads to. */
function requestsOf({ url, headers, signal }: Request, reads: readonly string[]): readonly Request[] {
  const { origin } = new URL(url);
  const kept = [...headers].filter(([name]) => KEPT.has(name));
  return reads.map((address, i) => {
    const read = URL.parse(address, url);
    const isOfConsole = read !== null && read.origin === origin && isBelow(read.pathname, CONSOLE);
    if (isOfConsole && !isBelow(asRouted(read.pathname), PLAY))
      return new Request(read.href, { headers: kept, signal });
    const param = `reads[${i}]`;
    const message = `${param} must be a path below ${CONSOLE}/, and not ${PLAY}/.`;
    throw new GatewayError("invalid_request_error", message, { param });
  });
}

const KEPT: ReadonlySet<string> = new Set([
  "cookie",
  "host",
  "user-agent",
  "x-forwarded-for",
  UNATTENDED_HEADER,
]);

/** The path as the router compares it. A path that cannot be decoded leads nowhere. */
function asRouted(path: string): string {
  try {
    return decoded(path);
  } catch {
    return path;
  }
}

function isBelow(path: string, base: string): boolean {
  return path.startsWith(`${base}/`);
}

/** An answer as a line: what stands before the body, the body, and what ends it. */
type Line = readonly [head: Uint8Array, body: Uint8Array, end: Uint8Array];

const encoder = new TextEncoder();
const LINE_END = encoder.encode("}\n");
const [SPACE, LINE_BREAK] = [0x20, 0x0a];

/** The answer as one line. All that a session reads is JSON; its bytes stay bytes, since a year of usage has millions. */
async function lineOf(index: number, answer: Response): Promise<Line> {
  const body = new Uint8Array(await answer.arrayBuffer());
  // Between the tokens of JSON a line break is as good as a space; a string has none.
  for (let at = body.indexOf(LINE_BREAK); at !== -1; at = body.indexOf(LINE_BREAK, at)) body[at] = SPACE;
  const head = JSON.stringify({
    index,
    status: answer.status,
    request_id: answer.headers.get("x-request-id"),
    retry_after: answer.headers.get("retry-after") ?? undefined,
  });
  return [encoder.encode(`${head.slice(0, -1)},"body":`), body, LINE_END];
}

/** As much as is written in one turn. */
const PIECE_BYTES = 64 * 1024;

/** Answers all reads at once and sends each line once it is there, those of a turn together, at the client's pace. */
async function answerAll(context: RouteContext, requests: readonly Request[], sink: BodySink): Promise<void> {
  const { clock, memory } = context;
  let ready: Line[] = [];
  let failure: Error | undefined;
  let woken = Promise.withResolvers<void>();
  for (const [index, request] of requests.entries())
    context
      .answer(request)
      .then((answer) => lineOf(index, answer))
      .then((parts) => void ready.push(parts))
      .catch((cause: unknown) => void (failure = new Error("A read was not answered.", { cause })))
      .finally(() => woken.resolve());
  const flush = (): Promise<void> => roomWithin(sink.flush(), clock, DEFAULT_TIMEOUTS.stalledClientMs);
  try {
    for (let sent = 0; sent < requests.length;) {
      await woken.promise;
      woken = Promise.withResolvers();
      if (failure !== undefined) throw failure;
      const parts = ready.flat();
      sent += ready.length;
      ready = [];
      memory.hold(parts.reduce((sum, { length }) => sum + length, 0));
      for (const part of parts)
        for (let at = 0; at < part.length; at += PIECE_BYTES) {
          sink.write(part.subarray(at, at + PIECE_BYTES));
          if (part.length - at > PIECE_BYTES) await flush();
        }
      await flush();
    }
  } finally {
    memory.hold(0);
  }
}
