import { afterEach, beforeEach, expect, test } from "bun:test";
import { answerAtOnce, neverRead, READ, resetUpload } from "./admission.ts";
import { jsonAnswer, sseAnswer } from "./answer.ts";
import { toText } from "./bytes.ts";
import { chatAnswer, chatStreamAnswer } from "./chat-bytes.ts";
import { startUpstreamDouble } from "./double.ts";
import type { UpstreamDouble } from "./double.ts";
import { failureOf } from "./failure.ts";
import { gateAt, halfCloseAt, resetAt, stallAt } from "./faults.ts";
import { createGate } from "./gate.ts";
import type { RawClient } from "./raw-client.ts";
import { openRawClient, postBytes } from "./raw-client.ts";

let double: UpstreamDouble;
let slept: number[];

beforeEach(async () => {
  slept = [];
  double = await startUpstreamDouble({
    sleep: async (ms) => void slept.push(ms),
    nowMs: () => 42,
  });
});
afterEach(() => double.close());

const post = (body: string, path = "/v1/x") => fetch(`${double.url}${path}`, { method: "POST", body });

async function ask(body = "{}"): Promise<RawClient> {
  const client = await openRawClient(double.url);
  client.send(postBytes("/v1/x", body));
  return client;
}

test("without an answer set it says so with a 500", async () => {
  const response = await post("{}");
  expect(response.status).toBe(500);
  expect(await response.json()).toMatchObject({ error: { type: "double" } });
});

test("queued answers come first, each once, then the handler is asked", async () => {
  double.enqueue(jsonAnswer(201, { n: 1 }), jsonAnswer(202, { n: 2 }));
  double.handle((request) => jsonAnswer(203, { path: request.target }));
  expect((await post("{}")).status).toBe(201);
  expect((await post("{}")).status).toBe(202);
  expect(await (await post("{}", "/a?b=c")).json()).toEqual({ path: "/a?b=c" });
});

test("a handler that throws is named in a 500, and so is a script that cannot be played", async () => {
  double.handle(() => {
    throw new Error("oh no");
  });
  expect(await (await post("{}")).text()).toContain("oh no");
  double.handle(() => resetAt({ body: "abc" }, 99));
  expect(await (await post("{}")).text()).toContain("place 99");
});

test("a request is kept with its exact bytes, header lines and connection", async () => {
  double.handle(() => chatAnswer());
  const client = await openRawClient(double.url);
  client.send(postBytes("/v1/x", Uint8Array.of(0xff, 0x00, 0x7b), ["X-Two: a", "x-two: b"]));
  const request = await double.waitForRequest(1);
  expect(request).toMatchObject({
    id: 1,
    connection: 1,
    nthOnConnection: 1,
    method: "POST",
    target: "/v1/x",
  });
  expect(request.receivedAtMs).toBe(42);
  expect([...request.body]).toEqual([0xff, 0x00, 0x7b]);
  expect(request.bodyText).toBe("\uFFFD\0{");
  expect(() => request.json()).toThrow();
  expect(request.headers.at(-1)).toEqual(["x-two", "b"]);
  expect(request.header("X-TWO")).toBe("a, b");
  expect(request.header("x-three")).toBeUndefined();
  client.close();
});

test("connections are kept alive and counted", async () => {
  double.handle(() => chatAnswer());
  const client = await ask();
  await double.waitForOutcome(await double.waitForRequest(1));
  client.send(postBytes("/v1/x", "{}"));
  const second = await double.waitForRequest(2);
  expect(second).toMatchObject({ connection: 1, nthOnConnection: 2 });
  expect(double.openSockets()).toBe(1);
  client.close();
  await double.waitForOpenSockets(0);
  expect(double.openSockets()).toBe(0);
});

test("requests sent at once on one connection are answered in order", async () => {
  double.handle((request) => jsonAnswer(200, request.json()));
  const client = await openRawClient(double.url);
  client.send(postBytes("/", `{"n":1}`));
  client.send(postBytes("/", `{"n":2}`));
  const text = await client.waitFor(`{"n":2}`);
  expect(text.indexOf(`{"n":1}`)).toBeGreaterThan(0);
  client.close();
});

test("an SSE answer arrives in fetch byte for byte", async () => {
  const answer = chatStreamAnswer({ words: ["a", "b", "ü"] });
  double.handle(() => answer);
  const response = await post("{}");
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  expect(new Uint8Array(await response.arrayBuffer())).toEqual(new Uint8Array(answer.body as Uint8Array));
  expect(double.requests[0]?.outcome).toBe("delivered");
});

test("pauses go through the clock of the test", async () => {
  double.handle(() => sseAnswer("data: 1\n\ndata: 2\n\ndata: 3\n\n", { pauseMs: 60_000 }));
  await (await post("{}")).text();
  expect(slept).toEqual([60_000, 60_000]);
});

test("a gate is reached only when all before it is out, and nothing after it is before its release", async () => {
  const gate = createGate();
  double.handle(() => gateAt({ body: "abcdef" }, 3, gate));
  const client = await ask();
  await gate.reached;
  expect(await client.waitFor("abc")).not.toContain("def");
  expect(double.requests[0]?.answered.bodyBytes).toBe(3);
  gate.release();
  expect(await client.waitFor("def")).toContain("abcdef");
  client.close();
});

const leavings = [
  { name: "closes", leave: (client: RawClient) => client.close(), how: "closed" },
  { name: "resets", leave: (client: RawClient) => client.reset(), how: "reset" },
] as const;
for (const { name, leave, how } of leavings) {
  test(`a client that ${name} while an answer is awaited is seen`, async () => {
    double.handle(() => stallAt(chatAnswer(), "start"));
    const client = await ask();
    const request = await double.waitForRequest(1);
    expect(await double.waitForOutcome(request)).toBe("stalled");
    leave(client);
    expect((await double.waitForClientGone(request)).clientGone).toEqual({ how, atMs: 42 });
    expect(request.outcome).toBe("client-gone");
    await double.waitForOpenSockets(0);
  });

  test(`a client that ${name} in the middle of a stream is seen, and what it got is counted`, async () => {
    const gate = createGate();
    double.handle(() => gateAt({ body: "abcdef" }, 3, gate));
    const client = await ask();
    await client.waitFor("abc");
    leave(client);
    const request = await double.waitForClientGone(double.requests[0]!);
    expect(request.answered.bodyBytes).toBe(3);
    gate.release();
  });

  test(`a client that ${name} in the middle of its body is seen with what it sent`, async () => {
    const headRead = Promise.withResolvers<void>();
    double.admit(() => {
      headRead.resolve();
      return READ;
    });
    const client = await openRawClient(double.url);
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc");
    await headRead.promise;
    leave(client);
    const request = await double.waitForRequest(1);
    expect(request).toMatchObject({ bodyComplete: false, outcome: "client-gone" });
  });
}

test("waiting for a client to leave fails when its answer was finished", async () => {
  double.handle(() => chatAnswer());
  await (await post("{}")).text();
  const request = await double.waitForRequest(1);
  await double.waitForOutcome(request);
  expect(await failureOf(double.waitForClientGone(request))).toContain("delivered");
});

test("fetch that is aborted before the head counts as a client gone", async () => {
  double.handle(() => stallAt(chatAnswer(), "start"));
  const abort = new AbortController();
  const response = fetch(double.url, { method: "POST", body: "{}", signal: abort.signal });
  const request = await double.waitForRequest(1);
  abort.abort();
  await failureOf(response);
  await double.waitForClientGone(request);
});

test("a client that half-closes is answered to the end only when the double was told so", async () => {
  const patient = await startUpstreamDouble({ answersHalfClosed: true });
  const gate = createGate();
  patient.handle(() => gateAt({ body: "abcdef" }, 3, gate));
  const client = await openRawClient(patient.url);
  client.send(postBytes("/", "{}"));
  await client.waitFor("abc");
  client.halfClose();
  gate.release();
  await client.waitFor("abcdef");
  expect(await client.ended()).toBe("fin");
  expect(patient.requests[0]?.outcome).toBe("delivered");
  await patient.close();

  const other = createGate();
  double.handle(() => gateAt({ body: "abcdef" }, 3, other));
  const second = await ask();
  await second.waitFor("abc");
  second.halfClose();
  await double.waitForClientGone(double.requests[0]!);
});

test("a body that is never read pushes back, and is read after the gate", async () => {
  const gate = createGate();
  double.admit(() => neverRead(gate));
  double.handle((request) => jsonAnswer(200, { read: request.body.length }));
  const client = await openRawClient(double.url);
  client.send(postBytes("/", new Uint8Array(20_000_000)));
  const request = await double.waitForRequest(1);
  expect(request.bodyComplete).toBe(false);
  expect(client.unsentBytes()).toBeGreaterThan(0);
  gate.release();
  expect(await client.waitFor("read")).toContain("20000000");
  expect(request.bodyComplete).toBe(true);
  expect(double.requests).toHaveLength(1);
  client.close();
});

test("a small body that came with the head waits at the gate all the same", async () => {
  const gate = createGate();
  double.admit(() => neverRead(gate));
  double.handle(() => chatAnswer());
  const client = await ask();
  const request = await double.waitForRequest(1);
  expect(request.outcome).toBe("reading");
  client.close();
  gate.release();
  await double.waitForOpenSockets(0);
  expect(double.requests).toHaveLength(1);
});

test("an upload can be reset in its middle", async () => {
  double.admit(() => resetUpload(3));
  const client = await openRawClient(double.url);
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc");
  expect(await client.ended()).toBe("reset");
  expect(double.requests[0]).toMatchObject({ bodyComplete: false, bodyText: "abc", outcome: "cut" });
});

test("an answer can come before the body has", async () => {
  double.admit(() => answerAtOnce(jsonAnswer(413, { error: "large" })));
  const client = await openRawClient(double.url);
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9000000\r\n\r\n");
  expect(await client.waitFor("large")).toContain("HTTP/1.1 413");
  expect(await client.ended()).toBe("fin");
  client.close();
  await double.waitForOpenSockets(0);
});

test("a client that breaks HTTP is told so, closed and remembered", async () => {
  const client = await openRawClient(double.url);
  client.send("GET / HTTP/1.0\r\n\r\n");
  expect(await client.waitFor("bad request line")).toContain("HTTP/1.1 400");
  await client.ended();
  expect(double.brokenRequests).toHaveLength(1);
  expect(double.requests).toHaveLength(0);
});

test("a reset forgets all, gives up what waits and leaves idle connections open", async () => {
  double.handle(() => chatAnswer());
  const idle = await ask();
  await double.waitForOutcome(await double.waitForRequest(1));
  double.handle(() => stallAt(chatAnswer(), "start"));
  const busy = await ask();
  await double.waitForRequest(2);
  const waiting = double.waitForRequest(3);
  double.reset();
  expect(await failureOf(waiting)).toContain("reset");
  await busy.ended();
  expect(double.requests).toHaveLength(0);
  double.handle(() => chatAnswer());
  idle.send(postBytes("/", "{}"));
  expect(await double.waitForRequest(1)).toMatchObject({ id: 1, nthOnConnection: 2 });
  expect(double.requests).toHaveLength(1);
  idle.close();
});

test("idle connections are closed on demand, those in use are not", async () => {
  double.handle(() => chatAnswer());
  const idle = await ask();
  await double.waitForOutcome(await double.waitForRequest(1));
  double.handle(() => stallAt(chatAnswer(), "start"));
  const busy = await ask();
  await double.waitForOutcome(await double.waitForRequest(2));
  double.closeIdle();
  expect(await idle.ended()).toBe("fin");
  await double.waitForOpenSockets(1);
  busy.close();
});

test("a close ends open connections and what waits on them", async () => {
  const other = await startUpstreamDouble();
  other.handle(() => stallAt(chatAnswer(), "start"));
  const client = await openRawClient(other.url);
  client.send(postBytes("/", "{}"));
  await other.waitForRequest(1);
  const waiting = other.waitForRequest(2);
  await other.close();
  await client.ended();
  expect(await failureOf(waiting)).toContain("closed");
  expect(other.openSockets()).toBe(0);
});

test("many doubles live beside each other", async () => {
  const doubles = await Promise.all(Array.from({ length: 5 }, () => startUpstreamDouble()));
  for (const [index, each] of doubles.entries()) each.handle(() => jsonAnswer(200, index));
  const seen = await Promise.all(doubles.map(async (each) => (await fetch(each.url)).json()));
  expect(seen).toEqual([0, 1, 2, 3, 4]);
  await Promise.all(doubles.map((each) => each.close()));
});

test("a hundred clients at once get each its own answer", async () => {
  double.handle((request) => sseAnswer(`data: ${request.bodyText}\n\n`, { cut: { every: 3 } }));
  const texts = await Promise.all(Array.from({ length: 100 }, async (_, n) => (await post(`${n}`)).text()));
  expect(texts).toEqual(Array.from({ length: 100 }, (_, n) => `data: ${n}\n\n`));
});

test("a double that half-closed still sees its client leave", async () => {
  double.handle(() => halfCloseAt({ body: "abcdef" }, 3));
  const client = await ask();
  expect(await client.ended()).toBe("fin");
  expect(toText(client.received())).toEndWith("abc");
  expect(double.openSockets()).toBe(1);
  client.close();
  await double.waitForClientGone(double.requests[0]!);
});
