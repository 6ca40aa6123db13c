// `uploads.ts <url> <bytes> <key> …` sends as many large chat requests at once as there are keys. It prints as JSON
// what each was answered with, and when the head of the answer came.
import { parseArgs } from "node:util";

const { positionals } = parseArgs({ allowPositionals: true });
const [url = "", bytes = "", ...keys] = positionals;
const { hostname, port, host } = new URL(url);

const body = Buffer.from(bodyOf(Number(bytes)));

/** A chat request with one image of so many bytes. */
function bodyOf(length: number): string {
  const text = (image: string): string =>
    JSON.stringify({
      model: "openai/gpt-5.6-luna",
      max_completion_tokens: 16,
      messages: [
        {
          role: "user",
          content: [{ type: "image_url", image_url: { url: `data:image/png;base64,${image}` } }],
        },
      ],
    });
  return text("A".repeat((length - text("").length) & ~3));
}

interface Upload {
  /** What the kernel has not taken of the head, then of the body, which all share. */
  left: Uint8Array;
  rest: Uint8Array;
  begunMs: number;
}

/** What a request was answered with, and how long after its head was sent. */
interface Answered {
  readonly status: string;
  readonly ms: number;
}

function upload(key: string): Promise<Answered> {
  const head = `POST /api/v1/chat/completions HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  const { promise, resolve } = Promise.withResolvers<Answered>();
  const end = ({ begunMs }: Upload, status: string): void =>
    resolve({ status, ms: performance.now() - begunMs });
  void Bun.connect<Upload>({
    hostname,
    port: Number(port),
    data: { left: Buffer.from(head), rest: body, begunMs: 0 },
    socket: {
      open(socket) {
        socket.data.begunMs = performance.now();
        push(socket);
      },
      drain: push,
      data(socket, answer) {
        end(socket.data, answer.subarray(9, 12).toString());
        // Who has been answered sends no more.
        socket.terminate();
      },
      close: ({ data }) => end(data, "closed"),
    },
  }).catch(() => resolve({ status: "not connected", ms: 0 }));
  return promise;
}

/** What is sent at a time, so that answers are read between. */
const PIECE_BYTES = 64 * 1024;

function push(socket: Bun.Socket<Upload>): void {
  const { data } = socket;
  if (data.left.length === 0) {
    data.left = data.rest.subarray(0, PIECE_BYTES);
    data.rest = data.rest.subarray(data.left.length);
  }
  if (data.left.length === 0 || socket.readyState !== 1) return;
  data.left = data.left.subarray(Math.max(0, socket.write(data.left)));
  // What the kernel does not take it asks for.
  if (data.left.length === 0) setImmediate(push, socket);
}

console.log(JSON.stringify(await Promise.all(keys.map(upload))));
process.exit();
