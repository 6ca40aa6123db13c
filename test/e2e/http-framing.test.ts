import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { sseAnswer } from "../upstream/answer.ts";
import { chatAnswer, chatStream } from "../upstream/chat-bytes.ts";
import { afterEvent } from "../upstream/cuts.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { gateAt, stallAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { toText } from "../upstream/bytes.ts";
import { openRawClient, type RawClient } from "../upstream/raw-client.ts";
import { startGateway, type TestGateway } from "../gateway/gateway.ts";

// What becomes of odd requests, byte by byte. The runtime decides some before the gateway sees them. Others are bytes
// behind a request that is under way. docs/limits/http.md tells of each.

let double: UpstreamDouble;
let gateway: TestGateway;

beforeAll(async () => {
  double = await startUpstreamDouble();
  gateway = await startGateway({ openai: `${double.url}/v1` });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});
beforeEach(() => double.reset());

/** Sends bytes and gives all that came until the server ended the connection. */
async function answerTo(bytes: string): Promise<string> {
  const client = await openRawClient(gateway.url);
  client.send(bytes);
  await client.ended();
  client.close();
  return toText(client.received());
}

const statusOf = (answer: string): string => answer.split("\r\n")[0] ?? "";
const head = (line: string, ...headers: string[]): string => [line, ...headers, "", ""].join("\r\n");

const DECIDED: readonly (readonly [string, string, string])[] = [
  [
    "a header of 17 KB",
    head("GET /healthz HTTP/1.1", "Host: x", `X-Long: ${"a".repeat(17_000)}`),
    "431 Request Header Fields Too Large",
  ],
  [
    "a target of 17 KB",
    head(`GET /${"a".repeat(17_000)} HTTP/1.1`, "Host: x"),
    "431 Request Header Fields Too Large",
  ],
  [
    "250 headers",
    head("GET /healthz HTTP/1.1", "Host: x", ...Array.from({ length: 250 }, (_, i) => `X-${i}: 1`)),
    "431 Request Header Fields Too Large",
  ],
  ["HTTP/2.0", head("GET /healthz HTTP/2.0", "Host: x"), "505 HTTP Version Not Supported"],
  ["HTTP/1.2", head("GET /healthz HTTP/1.2", "Host: x"), "505 HTTP Version Not Supported"],
  ["no version", head("GET /healthz"), "505 HTTP Version Not Supported"],
  ["no Host in HTTP/1.1", head("GET /healthz HTTP/1.1"), "400 Bad Request"],
  ["an empty line before it", `\r\n${head("GET /healthz HTTP/1.1", "Host: x")}`, "400 Bad Request"],
];
for (const [name, bytes, status] of DECIDED) {
  test(`a request with ${name} is refused by the runtime with ${status}, without a body`, async () => {
    expect(await answerTo(bytes)).toBe(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
  });
}

for (const path of ["/healthz", "/readyz"]) {
  test(`GET ${path} by HTTP/1.0 without a Host is 200`, async () => {
    const answer = await answerTo(head(`GET ${path} HTTP/1.0`));
    expect(statusOf(answer)).toBe("HTTP/1.1 200 OK");
    expect(answer).toEndWith('{"status":"ok"}');
  });
}

test("HEAD by HTTP/1.0 without a Host has the head of the answer alone", async () => {
  const answer = await answerTo(head("HEAD /healthz HTTP/1.0"));
  expect(statusOf(answer)).toBe("HTTP/1.1 200 OK");
  expect(answer).toEndWith("\r\n\r\n");
});

test("without a Host a path is as it is with one: access is decided by the route, and an odd target is refused", async () => {
  const statuses: Record<string, string> = {};
  for (const target of [
    "/admin/v1/keys",
    "//admin/v1/keys",
    "/healthz/../admin/v1/keys",
    "//evil/healthz",
    "*",
  ])
    statuses[target] = statusOf(await answerTo(head(`GET ${target} HTTP/1.0`))).slice(9, 12);
  expect(statuses).toEqual({
    "/admin/v1/keys": "401",
    "//admin/v1/keys": "404",
    "/healthz/../admin/v1/keys": "404",
    "//evil/healthz": "404",
    "*": "400",
  });
  const post = head("POST /api/v1/chat/completions HTTP/1.0", "Content-Length: 2");
  expect(statusOf(await answerTo(`${post}{}`))).toBe("HTTP/1.1 400 Bad Request");
});

const USAGE = { prompt_tokens: 11, completion_tokens: 500, total_tokens: 511 };

/** A request to chat completions as it stands on the wire. */
function post(stream: boolean): string {
  const body = JSON.stringify({
    model: "openai/gpt-5.6-luna",
    messages: [{ role: "user", content: "Say hello." }],
    max_tokens: 500,
    stream,
  });
  const headers = ["Host: x", `Authorization: Bearer ${gateway.key}`, "Content-Type: application/json"];
  return head("POST /api/v1/chat/completions HTTP/1.1", ...headers, `Content-Length: ${body.length}`) + body;
}

async function spent(): Promise<number> {
  await gateway.settled();
  return 1_000_000 - (await gateway.account()).balance;
}

/** How the last request ended, by its row. */
async function lastOutcome(): Promise<string> {
  const { json } = await gateway.admin("GET", "/requests?limit=1");
  return json.data[0].outcome;
}

/** What may come behind a request, and what the runtime then sends before it closes. */
const BEHIND: readonly (readonly [string, string, string])[] = [
  ["another request", head("GET /healthz HTTP/1.1", "Host: x"), ""],
  ["a stray line break", "\r\n", "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"],
];
for (const [name, bytes, sent] of BEHIND) {
  test(`${name} behind a plain request under way is, by the runtime, a client that left: its input is charged, no more`, async () => {
    const before = await spent();
    double.handle(() => stallAt(chatAnswer({ usage: USAGE }), "start"));
    const client = await openRawClient(gateway.url);
    client.send(post(false));
    const request = await double.waitForRequest(1);
    client.send(bytes);
    await double.waitForClientGone(request);
    await client.ended();
    expect(toText(client.received())).toBe(sent);
    const charge = (await spent()) - before;
    expect(charge).toBeGreaterThan(0);
    expect(charge).toBeLessThan(0.05);
    expect(await lastOutcome()).toBe("client_gone");
    expect(double.requests.length).toBe(1);
  });

  test(`${name} behind a stream under way is, by the runtime, a client that left: what was delivered is charged, no end is sent`, async () => {
    const before = await spent();
    const events = chatStream({ words: ["one ", "two ", "three"], usage: USAGE });
    double.handle(() => gateAt(sseAnswer(events), afterEvent(events, 3), createGate()));
    const client = await openRawClient(gateway.url);
    client.send(post(true));
    await client.waitFor("two ");
    client.send(bytes);
    await double.waitForClientGone(await double.waitForRequest(1));
    await client.ended();
    const received = toText(client.received());
    for (const end of ["[DONE]", 'finish_reason":"stop', "\r\n0\r\n\r\n"])
      expect(received).not.toContain(end);
    const charge = (await spent()) - before;
    expect(charge).toBeGreaterThan(0.02);
    expect(charge).toBeLessThan(0.1);
    expect(await lastOutcome()).toBe("client_gone");
  });

  test(`${name} in the same bytes as a request is the same: nothing of ours is sent, and nothing stays held`, async () => {
    double.handle(() => stallAt(chatAnswer({ usage: USAGE }), "start"));
    const client: RawClient = await openRawClient(gateway.url);
    client.send(post(false) + bytes);
    await client.ended();
    await gateway.settled();
    expect(toText(client.received())).toBe(sent);
  });
}

test("a second request on a connection is answered like the first once that has been answered", async () => {
  double.handle(() => chatAnswer({ words: ["Hello."], usage: { ...USAGE, completion_tokens: 4 } }));
  const client = await openRawClient(gateway.url);
  for (const count of [1, 2]) {
    client.send(post(false));
    let text = "";
    while (text.split('"Hello."').length <= count) text = await nextOf(client);
    expect(text.split("HTTP/1.1 200 OK").length - 1).toBe(count);
  }
  client.close();
});

/** All that has come once more has come. */
async function nextOf(client: RawClient): Promise<string> {
  await client.waitForBytes(client.received().length + 1);
  return toText(client.received());
}
