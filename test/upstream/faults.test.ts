import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import type { Answer } from "./answer.ts";
import { toText } from "./bytes.ts";
import { chatAnswer, chatStreamAnswer } from "./chat-bytes.ts";
import { startUpstreamDouble } from "./double.ts";
import type { UpstreamDouble } from "./double.ts";
import * as faults from "./faults.ts";
import { failureOf } from "./failure.ts";
import { createGate } from "./gate.ts";
import type { RawClient, ServerEnd } from "./raw-client.ts";
import { openRawClient, postBytes } from "./raw-client.ts";
import type { Outcome } from "./seen-request.ts";

let double: UpstreamDouble;

beforeAll(async () => {
  double = await startUpstreamDouble({ sleep: async () => undefined });
});
afterEach(() => double.reset());
afterAll(() => double.close());

async function ask(answer: Answer): Promise<RawClient> {
  double.enqueue(answer);
  const client = await openRawClient(double.url);
  client.send(postBytes("/v1/chat/completions", "{}"));
  return client;
}

const fetched = (answer: Answer) => {
  double.enqueue(answer);
  return fetch(double.url, { method: "POST", body: "{}", redirect: "manual", decompress: true });
};

const BODY = "0123456789";
const PLAIN: Answer = { body: BODY };
const HEAD = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n";

const FIN_CASES: { name: string; answer: Answer; want: string }[] = [
  { name: "before any byte", answer: faults.finAt(PLAIN, "start"), want: "" },
  { name: "in mid-header", answer: faults.finAt(PLAIN, "mid-head"), want: HEAD.slice(0, HEAD.length / 2) },
  { name: "after the head", answer: faults.finAt(PLAIN, "head-end"), want: HEAD },
  { name: "after 4 bytes of the body", answer: faults.finAt(PLAIN, 4), want: `${HEAD}0123` },
  { name: "after the last byte", answer: faults.finAt(PLAIN, "last-byte"), want: HEAD + BODY },
  {
    name: "with a Content-Length that is too long",
    answer: faults.longContentLength(PLAIN, 5),
    want: HEAD.replace("10", "15") + BODY,
  },
  {
    name: "without the last chunk",
    answer: faults.withoutLastChunk(PLAIN),
    want: `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\na\r\n${BODY}\r\n`,
  },
];
for (const { name, answer, want } of FIN_CASES) {
  test(`a FIN ${name} follows exactly the bytes before it`, async () => {
    const client = await ask(answer);
    expect(await client.ended()).toBe("fin");
    expect(toText(client.received())).toBe(want);
    expect(double.requests[0]?.outcome).toBe(name === "after the last byte" ? "delivered" : "cut");
    client.close();
  });
}

const RESET_CASES = [
  { name: "before any byte", at: "start", want: "" },
  { name: "in mid-header", at: "mid-head", want: HEAD.slice(0, HEAD.length / 2) },
  { name: "after the head", at: "head-end", want: HEAD },
  { name: "after 4 bytes of the body", at: 4, want: `${HEAD}0123` },
  { name: "after the last byte", at: "last-byte", want: HEAD + BODY },
] as const;
for (const { name, at, want } of RESET_CASES) {
  test(`a reset ${name} is a RST, not a FIN`, async () => {
    // The gate lets the client read first: a RST may overtake bytes that lie unread in its buffer.
    const gate = createGate();
    const client = await ask(faults.resetAt(faults.gateAt(PLAIN, at, gate), at));
    await gate.reached;
    if (want !== "") expect(await client.waitFor(want)).toBe(want);
    gate.release();
    expect(await client.ended()).toBe("reset");
    expect(toText(client.received())).toBe(want);
  });
}

test("a stall sends what is before it and leaves the connection open", async () => {
  const client = await ask(faults.stallAt(PLAIN, 4));
  expect(await client.waitFor("0123")).toBe(`${HEAD}0123`);
  expect(await double.waitForOutcome(await double.waitForRequest(1))).toBe("stalled");
  expect(double.openSockets()).toBe(1);
  client.close();
});

test("a half-close is a FIN after which the double still reads", async () => {
  const client = await ask(faults.halfCloseAt(PLAIN, 4));
  expect(await client.ended()).toBe("fin");
  client.send("more");
  expect(double.openSockets()).toBe(1);
  client.close();
  await double.waitForClientGone(double.requests[0]!);
});

test("a bad chunk size stands where the size of that chunk belongs", async () => {
  const client = await ask(faults.badChunkSize({ ...PLAIN, cut: { at: [5] } }, 1, "-5"));
  expect(await client.waitFor("56789")).toContain("5\r\n01234\r\n-5\r\n56789\r\n");
  client.close();
  await failureOf(fetched(faults.badChunkSize(PLAIN)).then((response) => response.text()));
});

test("a length and chunked framing come both", async () => {
  const client = await ask(faults.lengthAndChunked(PLAIN));
  expect(await client.waitFor("0\r\n\r\n")).toContain("content-length: 10\r\ntransfer-encoding: chunked\r\n");
  client.close();
});

test("a garbage status line is the first line", async () => {
  const client = await ask(faults.garbageStatusLine(PLAIN));
  expect(await client.waitFor(BODY)).toStartWith("SSH-2.0");
  client.close();
});

test("a huge header and many headers arrive whole", async () => {
  const huge = await ask(faults.hugeHeader(PLAIN, 300_000));
  expect((await huge.waitFor(BODY)).length).toBeGreaterThan(300_000);
  const many = await ask(faults.manyHeaders(PLAIN, 5_000));
  expect((await many.waitFor(BODY)).match(/x-many-/g)).toHaveLength(5_000);
  huge.close();
  many.close();
});

test("a header value is written as it is, line breaks included", async () => {
  const client = await ask(faults.withHeader(PLAIN, "x-a", "b\r\nx-injected: c"));
  expect(await client.waitFor(BODY)).toContain("\r\nx-injected: c\r\n");
  client.close();
});

test("interim heads come as many as asked, before the answer", async () => {
  const client = await ask(faults.interimStorm(PLAIN, 20));
  const text = await client.waitFor(BODY);
  expect(text.match(/HTTP\/1\.1 103/g)).toHaveLength(20);
  expect(text).toEndWith(HEAD + BODY);
  client.close();
});

test("gzip is decoded by a client, truncated gzip cannot be, and a bomb grows", async () => {
  const answer = chatAnswer();
  expect(await (await fetched(faults.gzipped(answer))).text()).toBe(String(answer.body));
  await failureOf(fetched(faults.truncatedGzip(answer)).then((response) => response.text()));
  const bomb = faults.gzipBomb({}, 5_000_000).body as Uint8Array;
  expect(bomb.length).toBeLessThan(10_000);
  expect(gunzipSync(bomb).length).toBe(5_000_000);
});

test("a redirect names the other place", async () => {
  const response = await fetched(faults.redirectTo("http://169.254.169.254/latest"));
  expect(response.status).toBe(302);
  expect(response.headers.get("location")).toBe("http://169.254.169.254/latest");
});

test("an endless body goes on until the client leaves, and stops then", async () => {
  const client = await ask(faults.endlessBody({ body: "begin" }));
  await client.waitForBytes(200_000);
  const request = double.requests[0]!;
  client.close();
  await double.waitForClientGone(request);
  const written = request.answered.bytes;
  expect(written).toBeGreaterThan(200_000);
  double.closeIdle();
  await double.waitForOpenSockets(0);
  expect(request.answered.bytes).toBe(written);
});

test("comments only go on for ever after what came before", async () => {
  const stream = chatStreamAnswer({ done: false, usage: null, finishReason: null });
  const client = await ask(faults.commentsForEver(stream, 15_000));
  const text = await client.waitFor(": keep-alive\n\n\r\ne\r\n: keep-alive\n\n");
  expect(text).toContain('"content":"Hello"');
  client.close();
  await double.waitForClientGone(double.requests[0]!);
});

const OUTCOMES: Readonly<Record<faults.FaultName, { outcome: Outcome; end?: ServerEnd }>> = {
  "reset before any byte": { outcome: "cut", end: "reset" },
  "reset in mid-header": { outcome: "cut", end: "reset" },
  "reset after the head": { outcome: "cut", end: "reset" },
  "reset in mid-body": { outcome: "cut", end: "reset" },
  "FIN before any byte": { outcome: "cut", end: "fin" },
  "FIN in mid-header": { outcome: "cut", end: "fin" },
  "FIN after the head": { outcome: "cut", end: "fin" },
  "FIN in mid-body": { outcome: "cut", end: "fin" },
  "half-close in mid-body": { outcome: "cut", end: "fin" },
  "stall before any byte": { outcome: "stalled" },
  "stall in mid-body": { outcome: "stalled" },
  "content-length too long": { outcome: "cut", end: "fin" },
  "no last chunk": { outcome: "cut", end: "fin" },
  "bad chunk size": { outcome: "cut" },
  "garbage status line": { outcome: "delivered" },
  "truncated gzip": { outcome: "delivered" },
};
for (const [name, fault] of Object.entries(faults.FAULTS)) {
  const want = OUTCOMES[name as faults.FaultName];
  for (const answer of [chatAnswer(), chatStreamAnswer()]) {
    test(`${name}: a ${answer.framing ?? "plain"} answer ends as ${want.outcome}`, async () => {
      const client = await ask(fault(answer));
      expect(await double.waitForOutcome(await double.waitForRequest(1))).toBe(want.outcome);
      if (want.end !== undefined) expect(await client.ended()).toBe(want.end);
      client.close();
    });
  }
}

test("faults compose: a dripped, gated, slow answer that ends in a reset", async () => {
  const gate = createGate();
  const slow: Answer = { ...PLAIN, cut: { every: 2 }, pauseMs: 1_000, drip: { everyBytes: 1, pauseMs: 500 } };
  const client = await ask(faults.resetAt(faults.gateAt(faults.pauseAt(slow, 2, 9_000), 6, gate), 8));
  await gate.reached;
  expect(await client.waitFor("012345")).toBe(`${HEAD}012345`);
  gate.release();
  expect(await client.ended()).toBe("reset");
  expect(double.requests[0]?.answered.bodyBytes).toBe(8);
});
