import { createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import type { Admission } from "./admission.ts";
import { READ } from "./admission.ts";
import type { Answer } from "./answer.ts";
import { jsonAnswer } from "./answer.ts";
import { openConnection } from "./connection.ts";
import type { Connection, Host } from "./connection.ts";
import type { ReaderLimits } from "./http-reader.ts";
import { realSleep } from "./player.ts";
import type { Sleep } from "./player.ts";
import type { Outcome, SeenRequest } from "./seen-request.ts";
import { createWatch } from "./watch.ts";

/** Chooses the answer to a request; undefined leaves it to the default. */
export type Handler = (request: SeenRequest) => Answer | undefined | Promise<Answer | undefined>;

/** Options of a double; all may be left out. */
export interface UpstreamDoubleOptions {
  /** The clock of pauses: tests pass one that does not wait. */
  readonly sleep?: Sleep;
  /** The clock of timestamps. */
  readonly nowMs?: () => number;
  readonly limits?: Partial<ReaderLimits>;
  /** Whether answers go on after the client's FIN. Without it a FIN counts as the client gone. */
  readonly answersHalfClosed?: boolean;
}

/**
 * A test double of a provider. It speaks HTTP/1.1 on a raw socket of 127.0.0.1. It answers what the test has set,
 * breaks what the test wants broken, and keeps record of all that was asked and delivered. It is no provider.
 */
export interface UpstreamDouble {
  readonly url: string;
  readonly port: number;
  /** Requests the double is done reading, in that order. */
  readonly requests: readonly SeenRequest[];
  /** Where clients broke HTTP; empty when all is well. */
  readonly brokenRequests: readonly string[];
  /** Sets what answers requests when no answer is queued. */
  handle(handler: Handler): void;
  /** Queues answers: each is given once, before the handler is asked. */
  enqueue(...answers: readonly Answer[]): void;
  /** Sets what decides, by the head alone, how the body of a request is read. */
  admit(decide: (request: SeenRequest) => Admission): void;
  /** The n-th request since the last reset, from 1, as soon as the double is done reading it. */
  waitForRequest(nth: number): Promise<SeenRequest>;
  /** Resolves when the client leaves before the answer is finished; rejects when it was finished. */
  waitForClientGone(request: SeenRequest): Promise<SeenRequest>;
  /** Resolves when the answer has ended in whatever way; a stall counts as an end. */
  waitForOutcome(request: SeenRequest): Promise<Outcome>;
  /** Resolves when exactly so many connections are open. */
  waitForOpenSockets(count: number): Promise<void>;
  openSockets(): number;
  /** Forgets requests, answers and handlers, and destroys connections in use; idle ones stay. */
  reset(): void;
  /** Closes idle connections with a FIN, as a provider does whose keep-alive time is over. */
  closeIdle(): void;
  /** Destroys all connections and stops to listen. */
  close(): Promise<void>;
}

interface Settings {
  readonly requests: SeenRequest[];
  readonly broken: string[];
  readonly queue: Answer[];
  handler: Handler;
  admit: (request: SeenRequest) => Admission;
  lastId: number;
}

const NO_ANSWER = jsonAnswer(500, {
  error: { message: "upstream double: no answer was set for this request", type: "double" },
});

/** Starts a double on a free port of 127.0.0.1. Several may run in one process; they share nothing. */
export async function startUpstreamDouble(options: UpstreamDoubleOptions = {}): Promise<UpstreamDouble> {
  const settings = createSettings();
  const watch = createWatch();
  const connections = new Map<Socket, Connection>();
  const host = createHost(settings, options, () => watch.changed());
  let lastConnection = 0;
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    lastConnection += 1;
    connections.set(socket, openConnection(socket, lastConnection, host));
    socket.on("close", () => {
      connections.delete(socket);
      watch.changed();
    });
    watch.changed();
  });
  const port = await listen(server);

  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests: settings.requests,
    brokenRequests: settings.broken,
    handle: (handler) => void (settings.handler = handler),
    enqueue: (...answers) => void settings.queue.push(...answers),
    admit: (decide) => void (settings.admit = decide),
    waitForRequest: (nth) => watch.until(() => settings.requests[nth - 1]),
    waitForClientGone: (request) => watch.until(() => goneOrFail(request)),
    waitForOutcome: (request) => watch.until(() => ended(request)),
    waitForOpenSockets: async (count) =>
      void (await watch.until(() => connections.size === count || undefined)),
    openSockets: () => connections.size,
    reset() {
      for (const connection of connections.values()) if (connection.busy()) connection.destroy();
      Object.assign(settings, { ...createSettings(), requests: settings.requests, broken: settings.broken });
      settings.requests.length = 0;
      settings.broken.length = 0;
      watch.abandon("the upstream double was reset");
    },
    closeIdle() {
      for (const [socket, connection] of connections)
        if (!connection.busy()) socket.end(() => socket.destroy());
    },
    async close() {
      for (const connection of connections.values()) connection.destroy();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
      watch.abandon("the upstream double was closed");
    },
  };
}

function createSettings(): Settings {
  return { requests: [], broken: [], queue: [], handler: () => undefined, admit: () => READ, lastId: 0 };
}

function createHost(settings: Settings, options: UpstreamDoubleOptions, changed: () => void): Host {
  return {
    sleep: options.sleep ?? realSleep,
    limits: options.limits ?? {},
    answersHalfClosed: options.answersHalfClosed ?? false,
    nowMs: options.nowMs ?? (() => performance.now()),
    nextId: () => (settings.lastId += 1),
    admit: (request) => settings.admit(request),
    answer: (request) => chooseAnswer(settings, request),
    seen(request) {
      settings.requests.push(request);
      changed();
    },
    broken: (reason) => void settings.broken.push(reason),
    changed,
  };
}

/** A handler that throws must not look like a provider's failure, so the answer names it. */
async function chooseAnswer(settings: Settings, request: SeenRequest): Promise<Answer> {
  const queued = settings.queue.shift();
  if (queued !== undefined) return queued;
  try {
    return (await settings.handler(request)) ?? NO_ANSWER;
  } catch (error) {
    return jsonAnswer(500, { error: { message: `upstream double: ${String(error)}`, type: "double" } });
  }
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}

function goneOrFail(request: SeenRequest): SeenRequest | undefined {
  if (request.clientGone !== undefined) return request;
  if (request.outcome === "delivered" || (request.outcome === "cut" && !halfClosed(request))) {
    throw new Error(`the answer had ended (${request.outcome}) before the client was gone`);
  }
  return undefined;
}

function halfClosed(request: SeenRequest): boolean {
  return request.answered.answer?.end?.how === "half-close";
}

function ended(request: SeenRequest): Outcome | undefined {
  return request.outcome === "reading" || request.outcome === "answering" ? undefined : request.outcome;
}
