import { afterAll, expect, test } from "bun:test";
import { runLoad } from "./load-client.ts";
import type { LoadPlan } from "./load-client.ts";

let served = 0;
let lastQuery = "";
let lastMethod = "";
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch(request) {
    served += 1;
    lastQuery = new URL(request.url).search;
    lastMethod = request.method;
    const body = await request.text();
    if (request.headers.get("authorization") !== "Bearer k") return new Response("no", { status: 401 });
    return new Response(body.startsWith("data") ? body : JSON.stringify({ body }));
  },
});
afterAll(() => server.stop(true));

const plan = (more: Partial<LoadPlan>): LoadPlan => ({
  url: `${server.url.origin}/path`,
  headers: [{ authorization: "Bearer k" }],
  bodies: [Buffer.from("x".repeat(1_000))],
  answer: { endMark: "}", stream: false },
  concurrency: 4,
  requests: 50,
  seconds: 30,
  ...more,
});

test("a load may read instead", async () => {
  const before = served;
  const result = await runLoad(plan({ method: "GET", bodies: [Buffer.alloc(0)], requests: 20 }));
  expect([result.requests, result.errors, served - before]).toEqual([20, 0, 20]);
  expect(lastMethod).toBe("GET");
});

test("a load bounded by its count asks exactly so often", async () => {
  const before = served;
  expect(await runLoad(plan({}))).toMatchObject({ requests: 50, errors: 0, events: 0 });
  expect(served - before).toBe(50);
});

test("the query of the address is sent", async () => {
  const result = await runLoad(plan({ url: `${server.url.origin}/echo?alt=sse`, requests: 1 }));
  expect(result).toMatchObject({ requests: 1, errors: 0 });
  expect(lastQuery).toBe("?alt=sse");
});

test("a load bounded by time finishes what was asked", async () => {
  const result = await runLoad(plan({ requests: 1e9, seconds: 0.05 }));
  expect(result.errors).toBe(0);
  expect(result.requests).toBeGreaterThanOrEqual(4);
});

test("fewer requests than connections are not exceeded", async () => {
  expect(await runLoad(plan({ requests: 2, concurrency: 10 }))).toMatchObject({ requests: 2, errors: 0 });
});

test("a load by the second begins so many requests, and goes on after a slow answer", async () => {
  const before = served;
  const result = await runLoad(plan({ perSecond: 200, requests: 1e9, seconds: 0.5, concurrency: 8 }));
  expect([result.errors, served - before]).toEqual([0, result.requests]);
  expect(result.requests).toBeGreaterThan(50);
  expect(result.requests).toBeLessThanOrEqual(101);
});

test("a connection sends its bodies in turn, and each session has a mark of its own", async () => {
  const seen: string[] = [];
  const keeping = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      seen.push(await request.text());
      return new Response("{}");
    },
  });
  const bodies = ["1 00session00", "2 00session00 00session00"].map((text) => Buffer.from(text));
  await runLoad(plan({ url: `${keeping.url.origin}/`, bodies, concurrency: 1, requests: 4 }));
  await keeping.stop(true);
  const [first = "", second = "", third = ""] = seen;
  expect(seen.map((text) => text[0])).toEqual(["1", "2", "1", "2"]);
  expect(second).toBe(`2 ${first.slice(2)} ${first.slice(2)}`);
  expect(third.slice(2)).not.toBe(first.slice(2));
  expect(seen.join()).not.toContain("session");
});

test("requests take the sets of headers in turn", async () => {
  const both = [{ authorization: "Bearer k" }, { authorization: "Bearer other" }];
  expect(await runLoad(plan({ headers: both, requests: 2, concurrency: 2 }))).toMatchObject({
    requests: 1,
    errors: 1,
  });
});

test("the events of streams are counted", async () => {
  const body = Buffer.from("data: 1\n\ndata: [DONE]\n\n");
  const answer = { endMark: "data: [DONE]\n\n", stream: true };
  expect(await runLoad(plan({ bodies: [body], answer, requests: 10 }))).toMatchObject({
    requests: 10,
    events: 20,
  });
});

test("an answer that is not a 200 ends the load and is told", async () => {
  const result = await runLoad(plan({ headers: [{}], requests: 1e9 }));
  expect(result.errors).toBeGreaterThan(0);
  expect(result.errors).toBeLessThanOrEqual(4);
  expect(result.firstError).toContain("401");
});

test("a connection that ends within an answer is an error", async () => {
  const closing = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { data: (socket) => void socket.end("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{") },
  });
  const result = await runLoad(plan({ url: `http://127.0.0.1:${closing.port}/`, concurrency: 1 }));
  expect(result).toMatchObject({ requests: 0, errors: 1 });
  expect(result.firstError).toContain("closed");
  closing.stop(true);
});
