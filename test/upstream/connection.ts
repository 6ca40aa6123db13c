import type { Socket } from "node:net";
import type { Admission } from "./admission.ts";
import type { Answer, EndKind } from "./answer.ts";
import { jsonAnswer } from "./answer.ts";
import { createHttpReader } from "./http-reader.ts";
import type { Gate } from "./gate.ts";
import type { ReaderEvent, ReaderLimits } from "./http-reader.ts";
import type { RequestHead } from "./http-grammar.ts";
import { play } from "./player.ts";
import type { Played, Sleep } from "./player.ts";
import type { RequestRecord } from "./seen-request.ts";
import { createRecord } from "./seen-request.ts";
import { wireSteps } from "./wire.ts";

/** What a connection asks of the double it belongs to. */
export interface Host {
  readonly sleep: Sleep;
  readonly limits: Partial<ReaderLimits>;
  /** Whether an answer goes on after the client has closed its sending side. */
  readonly answersHalfClosed: boolean;
  nowMs(): number;
  nextId(): number;
  admit(request: RequestRecord): Admission;
  answer(request: RequestRecord): Promise<Answer>;
  /** The double is done reading this request. */
  seen(request: RequestRecord): void;
  /** The client broke HTTP. */
  broken(reason: string): void;
  changed(): void;
}

/** One TCP connection of the double. */
export interface Connection {
  /** True while a request is read or answered. */
  busy(): boolean;
  destroy(): void;
}

interface State {
  readonly socket: Socket;
  readonly host: Host;
  readonly number: number;
  readonly queue: ReaderEvent[];
  /** The request that is read or answered now. */
  current: RequestRecord | undefined;
  admission: Admission;
  /** True while the admission holds back the reading of the body. */
  waiting: boolean;
  /** True once the current request was reported as seen. */
  reported: boolean;
  clientHalfClosed: boolean;
  requests: number;
  bodyBytes: number;
  /** Aborted when the client is gone. */
  readonly gone: AbortController;
  errorCode: string | undefined;
}

/** Reads requests from a socket and answers them one after the other, until either side ends it. */
export function openConnection(socket: Socket, number: number, host: Host): Connection {
  const state: State = {
    socket,
    host,
    number,
    queue: [],
    current: undefined,
    admission: { kind: "read" },
    waiting: false,
    reported: false,
    clientHalfClosed: false,
    requests: 0,
    bodyBytes: 0,
    gone: new AbortController(),
    errorCode: undefined,
  };
  const reader = createHttpReader(host.limits);
  socket.on("data", (bytes: Uint8Array) => {
    state.queue.push(...reader.push(bytes));
    readOn(state);
  });
  socket.on("end", () => clientClosed(state));
  socket.on("error", (error: NodeJS.ErrnoException) => (state.errorCode = error.code));
  socket.on("close", () => clientGone(state, state.errorCode === undefined ? "closed" : "reset"));
  return { busy: () => state.current !== undefined, destroy: () => destroy(state) };
}

/** Events that come while an answer is written wait: a fast client may reuse the connection before we know it. */
function readOn(state: State): void {
  while (!state.waiting && (state.current === undefined || state.current.outcome === "reading")) {
    const event = state.queue.shift();
    if (event === undefined) return;
    if (event.kind === "head") beginRequest(state, event.head);
    if (event.kind === "body") takeBody(state, event.bytes);
    if (event.kind === "end") endRequest(state);
    if (event.kind === "bad") return refuse(state, event.reason);
  }
}

function beginRequest(state: State, head: RequestHead): void {
  const { host } = state;
  state.requests += 1;
  state.bodyBytes = 0;
  state.reported = false;
  const place = {
    id: host.nextId(),
    connection: state.number,
    nthOnConnection: state.requests,
    nowMs: host.nowMs(),
  };
  const request = createRecord(head, place);
  state.current = request;
  state.admission = host.admit(request);
  if (state.admission.kind === "wait") void waitAtGate(state, request, state.admission.until);
  if (state.admission.kind === "answer") void answerWith(state, request, state.admission.answer);
  cutUpload(state, request);
}

async function waitAtGate(state: State, request: RequestRecord, gate: Gate): Promise<void> {
  state.waiting = true;
  state.socket.pause();
  report(state, request);
  await gate.pass(state.gone.signal);
  state.waiting = false;
  state.socket.resume();
  readOn(state);
}

function report(state: State, request: RequestRecord): void {
  if (state.reported) return;
  state.reported = true;
  state.host.seen(request);
}

function takeBody(state: State, bytes: Uint8Array): void {
  state.bodyBytes += bytes.length;
  state.current?.take(bytes);
  if (state.current !== undefined) cutUpload(state, state.current);
}

function cutUpload(state: State, request: RequestRecord): void {
  const { admission } = state;
  if (admission.kind !== "cut" || state.bodyBytes < admission.afterBodyBytes) return;
  report(state, request);
  finish(state, request, { how: admission.how, finished: false });
}

function endRequest(state: State): void {
  const request = state.current;
  if (request === undefined || request.outcome !== "reading") return;
  request.bodyComplete = true;
  report(state, request);
  void answerWith(state, request, undefined);
}

async function answerWith(state: State, request: RequestRecord, given: Answer | undefined): Promise<void> {
  const { host, socket } = state;
  request.outcome = "answering";
  report(state, request);
  host.changed();
  const answer = given ?? (await host.answer(request));
  request.answered = { answer, bytes: 0, bodyBytes: 0 };
  const wrote = (bytes: number, bodyBytes: number) => {
    request.answered = { answer, bytes: request.answered.bytes + bytes, bodyBytes };
    host.changed();
  };
  const played = await play(stepsOf(answer), { socket, gone: state.gone.signal, sleep: host.sleep, wrote });
  finish(state, request, played);
}

/** A script that cannot be played is the test's own mistake: it is answered in a way that shows. */
function stepsOf(answer: Answer): ReturnType<typeof wireSteps> {
  try {
    return wireSteps(answer);
  } catch (error) {
    return wireSteps(
      jsonAnswer(500, { error: { message: `upstream double: ${String(error)}`, type: "double" } }),
    );
  }
}

function finish(state: State, request: RequestRecord, played: Played): void {
  if (played === "client-gone" || request.outcome === "client-gone") return;
  request.outcome = outcomeOf(played);
  // After a stall or a half-close the connection lives on, and so does the interest in when the client leaves it.
  const watched = played.how === "stall" || (played.how === "half-close" && !played.finished);
  if (!watched) state.current = undefined;
  carryOut(state.socket, played.how === "keep-alive" && state.clientHalfClosed ? "fin" : played.how);
  state.host.changed();
  if (played.how === "keep-alive") readOn(state);
}

function outcomeOf(played: { readonly how: EndKind; readonly finished: boolean }): RequestRecord["outcome"] {
  if (played.how === "stall") return "stalled";
  return played.finished ? "delivered" : "cut";
}

function carryOut(socket: Socket, how: EndKind): void {
  if (how === "reset") socket.resetAndDestroy();
  if (how === "half-close") socket.end();
  if (how === "fin") socket.end(() => socket.destroy());
}

function refuse(state: State, reason: string): void {
  state.host.broken(reason);
  state.queue.length = 0;
  if (state.current !== undefined) {
    report(state, state.current);
    state.current.outcome = "cut";
  }
  state.current = undefined;
  const answer = jsonAnswer(400, { error: { message: `upstream double: ${reason}`, type: "bad_http" } });
  for (const step of wireSteps(answer)) if (step.kind === "write") state.socket.write(step.bytes);
  carryOut(state.socket, "fin");
  state.host.changed();
}

/** The client's FIN: as a rule it has closed altogether, which TCP shows only when something is written. */
function clientClosed(state: State): void {
  const answering = state.current !== undefined && state.current.outcome !== "reading";
  if (answering && state.host.answersHalfClosed) {
    state.clientHalfClosed = true;
    return;
  }
  clientGone(state, "closed");
  state.socket.destroy();
}

function clientGone(state: State, how: "closed" | "reset"): void {
  const request = state.current;
  state.current = undefined;
  if (request !== undefined) {
    report(state, request);
    request.clientGone = { how, atMs: state.host.nowMs() };
    request.outcome = "client-gone";
  }
  state.gone.abort();
  state.host.changed();
}

/** The double's own end of a connection: nothing that follows is the client's doing. */
function destroy(state: State): void {
  state.current = undefined;
  state.queue.length = 0;
  state.gone.abort();
  state.socket.destroy();
}
