import { planText, type Plan } from "./plan.ts";
import { MODEL } from "./provider.ts";

/** A client of one streamed chat completion. */
export interface StreamClient {
  readonly status: number;
  readonly head: string;
  /** The words so far, each with the time at which the provider wrote it. */
  readonly words: readonly Word[];
  readonly keepAlives: number;
  /** The answer has an end, of its format and of HTTP, whatever that says. */
  readonly hasEnd: boolean;
  /** The end says that nothing is missing. */
  readonly isWhole: boolean;
  /** The type of the error at its end, or of the refusal. */
  readonly failure: string | undefined;
  readonly isOver: boolean;
  /** Resolves with the first word, a refusal or the end. */
  readonly begun: Promise<void>;
  /** Resolves when nothing more comes. */
  readonly ended: Promise<void>;
  pause(): void;
  resume(): void;
  leave(): void;
}

export interface Word {
  readonly n: number;
  /** How long it was on its way. */
  readonly ms: number;
}

export interface StreamAsked {
  readonly url: string;
  readonly key: string;
  readonly plan: Partial<Plan>;
  readonly path?: string;
  readonly model?: string;
}

/** Asks for a stream on a connection of its own. Its `begun` rejects where the connection is refused. */
export function openStream({ url, key, plan, path, model }: StreamAsked): StreamClient {
  const { hostname, port } = new URL(url);
  const body = JSON.stringify({
    model: model ?? MODEL,
    stream: true,
    max_tokens: 64,
    messages: [{ role: "user", content: planText(plan) }],
  });
  const head = [
    `POST ${path ?? "/api/v1/chat/completions"} HTTP/1.1`,
    "Host: x",
    `Authorization: Bearer ${key}`,
    "Content-Type: application/json",
    "Connection: close",
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  const client = new Client();
  Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      open(socket) {
        client.socket = socket;
        socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
      },
      data: (_socket, bytes) => client.take(bytes),
      close: () => client.end(),
      error: () => client.end(),
    },
  }).catch((error: Error) => client.refused(error));
  return client;
}

class Client implements StreamClient {
  socket: Bun.Socket | undefined;
  status = 0;
  head = "";
  readonly words: Word[] = [];
  keepAlives = 0;
  isOver = false;
  failure: string | undefined;
  readonly begun: Promise<void>;
  readonly ended: Promise<void>;
  #isDone = false;
  #isFramed = false;
  #text = "";
  readonly #begun = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();

  constructor() {
    this.begun = this.#begun.promise;
    this.ended = this.#ended.promise;
  }

  get hasEnd(): boolean {
    return this.#isDone && this.#isFramed;
  }

  get isWhole(): boolean {
    return this.hasEnd && this.failure === undefined;
  }

  take(bytes: Uint8Array): void {
    this.#text += Buffer.from(bytes).toString("latin1");
    if (this.status === 0) {
      const end = this.#text.indexOf("\r\n\r\n");
      if (end < 0) return;
      this.head = this.#text.slice(0, end);
      this.status = Number(this.head.slice(9, 12));
      this.#text = this.#text.slice(end + 4);
      if (this.status !== 200) this.#begun.resolve();
    }
    if (this.status === 200) this.#lines();
    else this.failure ??= /"type":\s*"(\w+)"/.exec(this.#text)?.[1];
  }

  /** Lines of events and of HTTP's chunks alike: the words have no line break. */
  #lines(): void {
    const lines = this.#text.split("\n");
    this.#text = lines.pop() ?? "";
    for (const line of lines) {
      if (line.startsWith("data: {")) this.#event(line.slice(6));
      else if (line.startsWith("data: [DONE]")) this.#isDone = true;
      else if (line.startsWith(": keep-alive")) this.keepAlives += 1;
      else if (line === "0\r") this.#isFramed = true;
    }
    // A server that keeps the connection does not end it.
    if (this.hasEnd) this.socket?.end();
  }

  #event(text: string): void {
    const found = /"content":"(\d+)@([\d.]+) "/.exec(text);
    if (found !== null) {
      const ms = performance.timeOrigin + performance.now() - Number(found[2]);
      this.words.push({ n: Number(found[1]), ms });
      if (this.words.length === 1) this.#begun.resolve();
    }
    if (text.includes('"error":'))
      this.failure ??= /"error":\{[^}]*"type":"(\w+)"/.exec(text)?.[1] ?? "unknown";
  }

  refused(error: Error): void {
    this.isOver = true;
    this.#begun.reject(error);
    this.#ended.resolve();
  }

  end(): void {
    this.isOver = true;
    this.#begun.resolve();
    this.#ended.resolve();
  }

  pause(): void {
    this.socket?.pause();
  }

  resume(): void {
    this.socket?.resume();
  }

  leave(): void {
    this.socket?.terminate();
  }
}

/** Opens that many, so many at a time; resolves once each has begun. */
export async function openStreams(count: number, asked: StreamAsked, atOnce = 100): Promise<StreamClient[]> {
  const clients: StreamClient[] = [];
  while (clients.length < count) {
    const some = Array.from({ length: Math.min(atOnce, count - clients.length) }, () => openStream(asked));
    clients.push(...some);
    await Promise.all(some.map(({ begun }) => begun));
  }
  return clients;
}

/** Whether the words are those of the plan, each once and in its place. */
export function hasAllWords(client: StreamClient, words: number): boolean {
  return client.words.length === words && client.words.every(({ n }, i) => n === i);
}
