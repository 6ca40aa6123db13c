import { afterEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { shownKey, startProcess, temporaryFolder } from "../gateway/process.ts";
import { LONG } from "../runs.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const STREAMS = LONG ? 5_000 : 1_000;

/** With its threads started and paid calls rehearsed. The thread of the operator's reads is 14 of them. */
const AT_REST = 112 * MIB;
/** A proxy that reads each chunk and does nothing else takes 22 KiB. What the threads grow by meanwhile is in it. */
const OF_A_SILENT_STREAM = 56 * KIB;
const AFTERWARDS = 1.2;

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0).toReversed()) end();
});

const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const event = (delta: object, reason: string | null): string =>
  `data: ${JSON.stringify({
    id: "c",
    object: "chat.completion.chunk",
    created: 1,
    model: "gpt-5.6-luna",
    choices: [{ index: 0, delta, finish_reason: reason }],
  })}\n\n`;
const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const BEGIN = `${HEAD}${chunk(event({ role: "assistant", content: "Hello" }, null))}`;
const END = `${chunk(event({}, "stop") + "data: [DONE]\n\n")}0\r\n\r\n`;

/** A provider that begins each answer and says no more until it is told to end them all. */
async function serveSilence() {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    let text = "";
    socket.on("error", () => {});
    socket.on("close", () => open.delete(socket));
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
      const [head = "", body = ""] = text.split("\r\n\r\n", 2);
      if (body.length < Number(/content-length: (\d+)/i.exec(head)?.[1] ?? Infinity)) return;
      text = "";
      open.add(socket);
      socket.write(BEGIN);
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  ends.push(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const address = server.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    endAll() {
      for (const socket of open) socket.write(END);
    },
  };
}

/** Resolves with the connection of a stream once its answer has begun. */
function openStream(url: string, key: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const body = JSON.stringify({
    model: "openai/gpt-5.6-luna",
    stream: true,
    max_completion_tokens: 64,
    messages: [{ role: "user", content: "Hello? ".repeat(100) }],
  });
  const head = [
    "POST /api/v1/chat/completions HTTP/1.1",
    "Host: x",
    `Authorization: Bearer ${key}`,
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
  ];
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    ends.push(() => socket.destroy());
    let text = "";
    socket.on("error", reject);
    socket.on("data", (bytes) => {
      text += bytes.toString();
      if (text.includes("Hello")) resolve(socket);
      else if (!text.startsWith("HTTP/1.1 200")) reject(new Error(text));
    });
    socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
  });
}

async function openStreams(url: string, key: string, count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < count)
    sockets.push(...(await Promise.all(Array.from({ length: 50 }, () => openStream(url, key)))));
  return sockets;
}

/**
 * The process's own memory. Pages of the runtime's file are left out, as the kernel shares them between processes. How
 * many of them are mapped depends on when the process gave them up last.
 */
const memoryOf = (pid: number): number =>
  Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * KIB;
const mib = (bytes: number): string => `${(bytes / MIB).toFixed(1)} MiB`;

/** Waits until the process has no more than `most`; gives what it has then, or after `seconds`. */
async function fallsTo(pid: number, most: number, seconds: number): Promise<number> {
  for (let left = seconds * 2; left > 0 && memoryOf(pid) > most; left -= 1) await Bun.sleep(500);
  return memoryOf(pid);
}

test.skipIf(process.platform !== "linux")(
  "a process is small at rest and for each silent stream, and gives the memory of streams back",
  async () => {
    const folder = temporaryFolder();
    ends.push(folder.remove);
    const provider = await serveSilence();
    const { child, ready, output } = startProcess({
      SWITCHYARD_HOME: join(folder.path, "home"),
      SWITCHYARD_CONFIG: join(folder.path, "switchyard.yaml"),
      OPENAI_API_KEY: "sk-memory",
      OPENAI_BASE_URL: provider.url,
      SWITCHYARD_WARM_UP: "on",
    });
    ends.push(() => child.kill("SIGKILL"));
    const url = await ready();
    const pid = child.pid ?? 0;
    // It is warmed for ten seconds at most.
    await Bun.sleep(11_000);
    const atRest = await fallsTo(pid, AT_REST, 20);
    const key = shownKey(output()) ?? "";

    const first = await openStreams(url, key, 50);
    const before = memoryOf(pid);
    const streams = await openStreams(url, key, STREAMS);
    const each = (memoryOf(pid) - before) / STREAMS;
    provider.endAll();
    for (const socket of [...first, ...streams]) socket.end();
    const after = await fallsTo(pid, before * AFTERWARDS, 60);
    console.log(
      `at rest ${mib(atRest)}; ${STREAMS} silent streams: ${(each / KIB).toFixed(1)} KiB each; before them ${mib(before)}, after them ${mib(after)}`,
    );
    expect(atRest).toBeLessThan(AT_REST);
    expect(each).toBeLessThan(OF_A_SILENT_STREAM);
    expect(after).toBeLessThan(before * AFTERWARDS);
  },
  180_000,
);
