/** The head of an answer; its body is thrown away. */
export interface AnswerHead {
  readonly status: number;
  /** The header's value as it came; `undefined` where there is none. The name is given in lower case. */
  header(name: string): string | undefined;
}

/**
 * Sends one and the same request over connections that are kept, one at a time on each. It takes far less of the machine
 * than `fetch`, so that what is measured is the gateway.
 */
export interface KeptClient {
  /** Rejects where the connection ends without a whole answer. */
  send(): Promise<AnswerHead>;
  close(): void;
}

/** What a request asks for, beside its method. */
export interface KeptRequest {
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as JSON by POST; absent: a GET. */
  readonly json?: unknown;
}

type Socket = Bun.Socket<Connection>;

/** A connection, and who waits for its answer. */
interface Connection {
  received: Buffer | undefined;
  waiting: PromiseWithResolvers<AnswerHead> | undefined;
}

/** Answers must have a `Content-Length`, or no body. */
export function openKeptClient(url: string, request: KeptRequest): KeptClient {
  const { hostname, port } = new URL(url);
  const bytes = bytesOf(url, request);
  const open = new Set<Socket>();
  const idle: Socket[] = [];

  const take = (socket: Socket, more: Buffer): void => {
    const { data } = socket;
    const received = data.received === undefined ? more : Buffer.concat([data.received, more]);
    const answer = wholeAnswer(received);
    data.received = answer === undefined ? received : undefined;
    if (answer === undefined) return;
    data.waiting?.resolve(answer);
    data.waiting = undefined;
    if (answer.header("connection") === "close") socket.terminate();
    else idle.push(socket);
  };
  const ended = (socket: Socket): void => {
    open.delete(socket);
    const place = idle.indexOf(socket);
    if (place >= 0) idle.splice(place, 1);
    socket.data.waiting?.reject(new Error("The connection ended without a whole answer."));
  };
  const connect = async (): Promise<Socket> => {
    const socket = await Bun.connect<Connection>({
      hostname,
      port: Number(port),
      data: { received: undefined, waiting: undefined },
      socket: { data: take, close: ended, error: ended },
    });
    open.add(socket);
    return socket;
  };

  return {
    async send() {
      const socket = idle.pop() ?? (await connect());
      const waiting = Promise.withResolvers<AnswerHead>();
      socket.data.waiting = waiting;
      socket.write(bytes);
      return waiting.promise;
    },
    close() {
      for (const socket of open) socket.end();
    },
  };
}

function bytesOf(url: string, { headers, json }: KeptRequest): string {
  const { pathname } = new URL(url);
  const body = json === undefined ? "" : JSON.stringify(json);
  const all: Readonly<Record<string, string>> = {
    host: "x",
    ...headers,
    ...(json === undefined
      ? {}
      : { "content-type": "application/json", "content-length": `${Buffer.byteLength(body)}` }),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${json === undefined ? "GET" : "POST"} ${pathname} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}

/** The head of what was received, once all of the answer has come. */
function wholeAnswer(received: Buffer): AnswerHead | undefined {
  const end = received.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const head = received.toString("latin1", 0, end + 2);
  const header = (name: string): string | undefined =>
    new RegExp(`\r\n${name}: ([^\r]*)\r\n`, "i").exec(head)?.[1];
  if (received.length < end + 4 + Number(header("content-length") ?? 0)) return undefined;
  return { status: Number(head.slice(9, 12)), header };
}
