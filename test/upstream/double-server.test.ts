import { expect, test } from "bun:test";
import { join } from "node:path";
import { benchmarkWrites, startBenchmarkDouble } from "./benchmark-double.ts";
import { toText } from "./bytes.ts";
import { openRawClient, postBytes } from "./raw-client.ts";
import { createRequestSkimmer } from "./request-skimmer.ts";
import { sseData } from "./sse-bytes.ts";

const CHAT = "/v1/chat/completions";
const form = { format: "chat", path: CHAT } as const;
const post = (url: string) => fetch(`${url}${CHAT}`, { method: "POST", body: '{"stream":true}' });

test("a plain answer has exactly the asked size and is a chat completion", async () => {
  const double = startBenchmarkDouble({ ...form, mode: "plain", chunks: 1, intervalMs: 0, bodyBytes: 2_000 });
  for (let round = 0; round < 3; round++) {
    const text = await (await post(double.url)).text();
    expect(text).toHaveLength(2_000);
    expect(JSON.parse(text)).toMatchObject({ object: "chat.completion" });
  }
  expect(double.counts).toEqual({ requests: 3, finished: 3, events: 0 });
  expect((await fetch(`${double.url}/other`)).status).toBe(404);
  double.stop();
});

for (const intervalMs of [0, 2]) {
  test(`a stream with interval ${intervalMs} has all its events, for many clients at once`, async () => {
    const double = startBenchmarkDouble({
      ...form,
      mode: "stream",
      chunks: 20,
      intervalMs,
      bodyBytes: 8_000,
    });
    const texts = await Promise.all(Array.from({ length: 20 }, async () => (await post(double.url)).text()));
    for (const text of texts) {
      const events = sseData(text);
      expect(events).toHaveLength(20 + 4);
      expect(events.at(-1)).toBe("[DONE]");
      expect(Math.abs(text.length - 8_000)).toBeLessThan(100);
    }
    expect(double.counts).toEqual({ requests: 20, finished: 20, events: 20 * 24 });
    double.stop();
  });
}

for (const [format, events, last] of [
  ["messages", 20 + 5, '{"type":"message_stop"}'],
  ["generate", 20, undefined],
] as const) {
  test(`a ${format} stream has an event for each chunk and those around them, and a plain answer its size`, async () => {
    const common = { format, path: "/p?alt=sse", chunks: 20, intervalMs: 0, bodyBytes: 9_000 };
    for (const mode of ["stream", "plain"] as const) {
      const double = startBenchmarkDouble({ ...common, mode });
      const answer = await fetch(`${double.url}/p?alt=sse`, { method: "POST", body: "{}" });
      const text = await answer.text();
      double.stop();
      if (mode === "plain") {
        expect(text).toHaveLength(9_000);
        continue;
      }
      expect(sseData(text)).toHaveLength(events);
      if (last !== undefined) expect(sseData(text).at(-1)).toBe(last);
      expect(Math.abs(text.length - 9_000)).toBeLessThan(100);
    }
  });
}

test("every event of a stream is a write of its own", () => {
  const writes = benchmarkWrites({ ...form, mode: "stream", chunks: 3, intervalMs: 0, bodyBytes: 0 }).map(
    toText,
  );
  expect(writes).toHaveLength(7);
  expect(writes[0]).toStartWith("HTTP/1.1 200");
  expect(writes.at(-1)).toEndWith("data: [DONE]\n\n\r\n0\r\n\r\n");
});

test("events of a stream share writes, and none is lost or counted twice", async () => {
  const several = {
    ...form,
    mode: "stream",
    chunks: 20,
    eventsPerWrite: 10,
    intervalMs: 0,
    bodyBytes: 0,
  } as const;
  expect(benchmarkWrites(several)).toHaveLength(3);
  const double = startBenchmarkDouble(several);
  expect(sseData(await (await post(double.url)).text())).toHaveLength(24);
  expect(double.counts.events).toBe(24);
  double.stop();
});

test("a client that reads late gets everything, and one that leaves is forgotten", async () => {
  const double = startBenchmarkDouble({
    ...form,
    mode: "stream",
    chunks: 500,
    intervalMs: 0,
    bodyBytes: 30_000_000,
  });
  const late = await openRawClient(double.url);
  const leaving = await openRawClient(double.url);
  late.pause();
  late.send(postBytes(CHAT, "{}"));
  leaving.send(postBytes(CHAT, "{}"));
  await leaving.waitForBytes(1_000);
  leaving.close();
  late.resume();
  await late.waitForBytes(30_000_000);
  late.close();
  double.stop();
});

test("requests are skimmed the same wherever their bytes are cut", () => {
  const bytes = Buffer.concat([postBytes(CHAT, "{}"), postBytes("/x", ""), postBytes(CHAT, "x".repeat(40))]);
  for (let at = 1; at < bytes.length; at++) {
    const skimmer = createRequestSkimmer(CHAT);
    const seen = [...skimmer.push(bytes.subarray(0, at)), ...skimmer.push(bytes.subarray(at))];
    expect(seen).toEqual(["asked", "other", "asked"]);
  }
});

test("a chunked request is not guessed at", () => {
  const text = `POST ${CHAT} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n`;
  expect(createRequestSkimmer(CHAT).push(Buffer.from(text))).toEqual(["unreadable"]);
});

test("as a process it says where it listens, serves, and ends cleanly on SIGTERM with its counts", async () => {
  const entry = join(import.meta.dir, "double-server.ts");
  const args = [
    "--port",
    "0",
    "--mode",
    "stream",
    "--chunks",
    "5",
    "--interval-ms",
    "1",
    "--body-bytes",
    "900",
  ];
  const server = Bun.spawn([process.execPath, entry, ...args], { stdout: "pipe", stderr: "inherit" });
  const lines = server.stdout.getReader();
  const first = JSON.parse(toText((await lines.read()).value ?? new Uint8Array())) as { url: string };
  expect(sseData(await (await post(first.url)).text())).toHaveLength(9);
  server.kill("SIGTERM");
  expect(await server.exited).toBe(0);
  expect(JSON.parse(toText((await lines.read()).value ?? new Uint8Array()))).toEqual({
    counts: { requests: 1, finished: 1, events: 9 },
  });
});
