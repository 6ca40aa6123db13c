import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { memoryOf } from "./bodies.ts";
import { startGateway } from "./gateway.ts";
import { startServer } from "./processes.ts";
import type { StageForm } from "./stage.ts";

const MIB = 1024 * 1024;
const READERS = 50;
/** By then every buffer between us and the provider is full. */
const FILL_MS = 15_000;

/** The cost of a reader that takes nothing. */
export interface ReaderRow {
  readonly name: string;
  /** Resident memory of the gateway for each of them, in bytes. */
  readonly each: number;
}

interface Answers {
  readonly name: string;
  readonly stream: boolean;
  /** Arguments of the upstream double. */
  readonly upstream: readonly string[];
}

const BYTES = "40000000";

const ANSWERS: readonly Answers[] = [
  {
    name: "stream, 10 KB each ms",
    stream: true,
    upstream: ["--mode", "stream", "--chunks", "4000", "--interval-ms", "1", "--body-bytes", BYTES],
  },
  {
    name: "stream, as fast as it is taken",
    stream: true,
    upstream: ["--mode", "stream", "--chunks", "4000", "--interval-ms", "0", "--body-bytes", BYTES],
  },
  {
    name: "plain answer of 8 MiB",
    stream: false,
    upstream: ["--mode", "plain", "--body-bytes", String(8 * MIB)],
  },
];

/** Has 50 clients ask for a large answer each and read nothing of it. */
export async function measureReaders(
  form: StageForm,
  report: (line: string) => void,
): Promise<readonly ReaderRow[]> {
  const rows: ReaderRow[] = [];
  for (const [i, answers] of ANSWERS.entries()) {
    report(`readers: ${answers.name} …`);
    rows.push({ name: answers.name, each: await measureOnce(form, answers, `readers-${i}`) });
  }
  return rows;
}

async function measureOnce(form: StageForm, { stream, upstream }: Answers, name: string): Promise<number> {
  const folder = join(form.folder, name);
  mkdirSync(folder, { recursive: true });
  const double = await startServer({
    on: form.cores.others,
    args: [
      join(import.meta.dir, "../test/upstream/double-server.ts"),
      "--format",
      "chat",
      "--path",
      "/v1/chat/completions",
      ...upstream,
    ],
  });
  const gateway = await startGateway({
    folder,
    upstreamUrl: double.url,
    on: form.cores.subject,
  });
  const before = memoryOf(gateway.pid, "VmRSS");
  const sockets = await Promise.all(
    Array.from({ length: READERS }, () => askAndWait(gateway.url, gateway.key, stream)),
  );
  await Bun.sleep(FILL_MS);
  const after = memoryOf(gateway.pid, "VmRSS");
  for (const socket of sockets) socket.terminate();
  for (const child of [gateway, double]) await child.stop();
  return (after - before) / READERS;
}

/** Sends a request on a connection that is not read. */
function askAndWait(url: string, key: string, stream: boolean): Promise<Bun.Socket> {
  const { hostname, port, host } = new URL(url);
  const body = JSON.stringify({
    model: "openai/gpt-5.6-luna",
    stream,
    messages: [{ role: "user", content: "Hello." }],
  });
  return Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      open(socket) {
        socket.pause();
        socket.write(
          `POST /api/v1/chat/completions HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
        );
      },
      data: () => undefined,
    },
  });
}

/** The rows as a table in Markdown. */
export function readersTable(rows: readonly ReaderRow[]): string {
  return [
    `${READERS} clients at once that read nothing for ${FILL_MS / 1_000} s.`,
    "",
    "| answer | resident KiB for each |",
    "|---|---|",
    ...rows.map(({ name, each }) => `| ${name} | ${(each / 1024).toFixed(0)} |`),
  ].join("\n");
}
