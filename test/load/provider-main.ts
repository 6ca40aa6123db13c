// A provider for load, as a process of its own: chat completions on raw sockets, made as each request plans it.
import type { Socket } from "bun";
import { type Plan, readPlan } from "./plan.ts";

// How many requests it is asked for, and what became of them: GET /counts. POST /release ends the answers that are held. Between
// POST /bad and POST /well it fails what it is asked for below /moody.

interface Line {
  buffer: Buffer;
  /** What the kernel has not taken yet, and what comes after that. */
  waiting: Buffer[];
  goOn: (() => void) | undefined;
  open: boolean;
  /** An answer is under way. */
  busy: boolean;
}

type Line$ = Socket<Line>;

const counts = { requests: 0, finished: 0, left: 0, faults: 0, now: 0, most: 0 };
const held = new Set<() => void>();
let isBad = false;
const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: ";
// A gateway keeps connections that are not closed, and with them its descriptors, for minutes.
const STREAM_HEAD = `${HEAD}text/event-stream\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n`;
const ENVELOPE = `"id":"c","created":1,"model":"m"`;
const USAGE = `"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}`;

const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const event = (choices: string, more = ""): string =>
  chunk(`data: {${ENVELOPE},"object":"chat.completion.chunk","choices":[${choices}]${more}}\n\n`);
const word = (text: string): string =>
  event(`{"index":0,"delta":{"content":${JSON.stringify(text)}},"finish_reason":null}`);
const BEGIN = event(`{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}`);
const END = `${event(`{"index":0,"delta":{},"finish_reason":"stop"}`)}${event("", `,${USAGE}`)}${chunk("data: [DONE]\n\n")}0\r\n\r\n`;

function send(socket: Line$, text: string): void {
  const { data } = socket;
  if (!data.open) return;
  const bytes = Buffer.from(text);
  if (data.waiting.length > 0) return void data.waiting.push(bytes);
  const taken = Math.max(0, socket.write(bytes));
  if (taken < bytes.length) data.waiting.push(bytes.subarray(taken));
}

function drain(socket: Line$): void {
  const { waiting } = socket.data;
  for (let bytes = waiting[0]; bytes !== undefined; bytes = waiting[0]) {
    const taken = Math.max(0, socket.write(bytes));
    if (taken < bytes.length) return void (waiting[0] = bytes.subarray(taken));
    waiting.shift();
  }
  const { goOn } = socket.data;
  socket.data.goOn = undefined;
  goOn?.();
}

function json(socket: Line$, status: string, body: string): void {
  const head = `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
  send(socket, head + body);
}

function finish(socket: Line$): void {
  if (!socket.data.busy) return;
  socket.data.busy = false;
  counts.finished += 1;
  counts.now -= 1;
}

function answerPlain(socket: Line$, plan: Plan): void {
  const text = Array.from({ length: plan.words }, (_, i) => `${i} `).join("");
  const choice = `{"index":0,"message":{"role":"assistant","content":${JSON.stringify(text)}},"finish_reason":"stop"}`;
  const body = `{${ENVELOPE},"object":"chat.completion","choices":[${choice}],${USAGE}}`;
  const end = (): void => {
    json(socket, "200 OK", body);
    finish(socket);
  };
  if (plan.everyMs === 0) end();
  else setTimeout(end, plan.everyMs);
}

function answerStream(socket: Line$, plan: Plan): void {
  const at = (n: number): string => `${n}@${(performance.timeOrigin + performance.now()).toFixed(2)} `;
  send(socket, `${STREAM_HEAD}${BEGIN}${word(at(0))}`);
  const end = (): void => {
    held.delete(end);
    send(socket, END);
    finish(socket);
    socket.end();
  };
  if (plan.holds) return void held.add(end);
  let n = 1;
  const next = (): void => {
    const { data } = socket;
    if (!data.open) return;
    if (data.waiting.length > 0) return void (data.goOn = next);
    if (plan.fault === "cut" && n * 2 > plan.words) return void socket.end();
    if (n >= plan.words) return end();
    // Without a pause they come a hundred at a time.
    for (let left = plan.everyMs === 0 ? 100 : 1; left > 0 && n < plan.words; left -= 1, n += 1)
      send(socket, word(at(n)));
    setTimeout(next, plan.everyMs);
  };
  setTimeout(next, plan.everyMs);
}

function answer(socket: Line$, head: string, body: string): void {
  if (head.startsWith("GET /counts"))
    return json(socket, "200 OK", JSON.stringify({ ...counts, held: held.size }));
  if (head.startsWith("POST /release")) {
    for (const end of held) end();
    return json(socket, "200 OK", "{}");
  }
  if (head.startsWith("POST /bad") || head.startsWith("POST /well")) {
    isBad = head.startsWith("POST /bad");
    return json(socket, "200 OK", "{}");
  }
  counts.requests += 1;
  counts.now += 1;
  counts.most = Math.max(counts.most, counts.now);
  socket.data.busy = true;
  const plan = readPlan(body);
  if (plan.fault !== undefined) counts.faults += 1;
  if (plan.fault === "reset") return socket.terminate();
  if (plan.fault === "500" || (isBad && head.startsWith("POST /moody/"))) {
    json(socket, "500 Internal Server Error", `{"error":{"message":"made","type":"server_error"}}`);
    return finish(socket);
  }
  if (/"stream":\s*true/.test(body)) answerStream(socket, plan);
  else answerPlain(socket, plan);
}

const listener = Bun.listen<Line>({
  hostname: "127.0.0.1",
  port: 0,
  socket: {
    open: (socket) =>
      void (socket.data = { buffer: Buffer.alloc(0), waiting: [], goOn: undefined, open: true, busy: false }),
    data(socket, bytes) {
      const { data } = socket;
      data.buffer = data.buffer.length === 0 ? Buffer.from(bytes) : Buffer.concat([data.buffer, bytes]);
      for (;;) {
        const end = data.buffer.indexOf("\r\n\r\n");
        if (end < 0) return;
        const head = data.buffer.toString("latin1", 0, end + 2);
        const length = Number(/\r\ncontent-length: *(\d+)\r\n/i.exec(head)?.[1] ?? 0);
        if (data.buffer.length < end + 4 + length) return;
        const body = data.buffer.toString("utf8", end + 4, end + 4 + length);
        data.buffer = Buffer.from(data.buffer.subarray(end + 4 + length));
        answer(socket, head, body);
      }
    },
    drain,
    close(socket) {
      socket.data.open = false;
      if (!socket.data.busy) return;
      socket.data.busy = false;
      counts.left += 1;
      counts.now -= 1;
    },
    error: () => {},
  },
});
console.log(`listens at ${listener.port}`);
