import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { createFakeClock } from "../gateway/fake-clock.ts";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";
import { watchThreads, type WatchedThreads } from "../gateway/reading-threads.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import { chatAnswer } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { messageAnswer } from "../upstream/messages-bytes.ts";
import { openRawClient } from "../upstream/raw-client.ts";
import { AT_ONCE, PATHS, SMALL } from "./task-station.ts";

// Bodies that are read on a thread, over real sockets. They are served, charged and refused as small ones are. A thread
// that ends costs its requests a 500, and no client any credit.

const CHAT = "/api/v1/chat/completions";
const COUNT = "/api/v1/messages/count_tokens";
const LUNA = "openai/gpt-5.6-luna";
const HAIKU = "anthropic/claude-haiku-4.5";

let threads: WatchedThreads;
let double: UpstreamDouble;
let gateway: TestGateway;
beforeAll(async () => {
  threads = watchThreads();
  double = await startUpstreamDouble();
  gateway = await startGateway({
    openai: `${double.url}/v1`,
    anthropic: double.url,
    // No provider is too slow to count, and no minute of a limit passes.
    clock: createFakeClock(),
  });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
  threads.restore();
});
beforeEach(() => {
  double.reset();
  double.handle(({ target }) => {
    if (target.endsWith("/count_tokens")) return jsonAnswer(200, { input_tokens: 14 });
    if (target.startsWith("/v1/messages"))
      return messageAnswer({ usage: { input_tokens: 11, output_tokens: 4 } });
    return chatAnswer({ usage: { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 } });
  });
});
afterEach(async () => {
  await gateway.settled();
  expect(threads.left()).toEqual([]);
});

const chat = { model: LUNA, messages: [{ role: "user", content: "Say hello." }], max_tokens: 64 };

const count = { model: HAIKU, messages: chat.messages };

/** As a body that its size alone sends to a thread. */
const large = (body: object): string => JSON.stringify(body).padEnd(200_000);

const FIRST: ReadonlySet<string> = new Set(["read", "image", "video"]);

interface Key {
  readonly id: string;
  readonly account: string;
  readonly headers: Record<string, string>;
}

/** A key of an account of its own. */
async function issue(credits: number, limits?: object): Promise<Key> {
  const { json: account } = await gateway.admin("POST", "/accounts", { name: "other" });
  if (credits > 0)
    await gateway.admin("POST", `/accounts/${account.id}/credits`, { amount: credits, reason: "test" });
  const asked = { account_id: account.id, name: "other", ...(limits === undefined ? {} : { limits }) };
  const { json: key } = await gateway.admin("POST", "/keys", asked);
  return { id: key.id, account: account.id, headers: { authorization: `Bearer ${key.key}` } };
}

/** What a request came to: its answer, what was sent for it, and what its account has left. */
async function post(path: string, body: object | string, key: Key, headers: Record<string, string> = {}) {
  const sent = double.requests.length;
  const response = await gateway.post(path, body, { headers: { ...key.headers, ...headers } });
  const json: Json = await response.json();
  const { json: account } = await gateway.admin("GET", `/accounts/${key.account}`);
  return {
    status: response.status,
    json,
    warning: response.headers.get("warning"),
    sent: double.requests.slice(sent).map(({ bodyText }): Json => JSON.parse(bodyText)),
    account: [account.balance, account.held] as const,
  };
}

/** What remains of an answer beside what is different each time. */
function comparable({ json, ...told }: Awaited<ReturnType<typeof post>>) {
  const { id: _id, created: _created, request_id: _requestId, ...rest } = json;
  return { ...told, json: rest };
}

const CREDITS = 10_000;

describe("a large request is answered, sent and charged as a small one", () => {
  const requests = [
    { name: "relayed", path: CHAT, body: { ...chat, oddity: 1 }, status: 200 },
    { name: "translated", path: CHAT, body: { ...chat, model: HAIKU, seed: 1 }, status: 200 },
    { name: "counted", path: COUNT, body: count, status: 200 },
    { name: "counted by ourselves", path: COUNT, body: { ...count, model: LUNA }, status: 200 },
    { name: "with a wrong field", path: CHAT, body: { ...chat, temperature: 9 }, status: 400 },
    { name: "for a model that is not there", path: CHAT, body: { ...chat, model: "a/b" }, status: 400 },
    {
      name: "that its provider cannot be told",
      path: CHAT,
      body: { ...chat, model: HAIKU, logprobs: true },
      status: 400,
    },
    { name: "counted, with a wrong field", path: COUNT, body: { ...count, messages: 1 }, status: 400 },
  ];
  for (const { name, path, body, status } of requests)
    test(name, async () => {
      const small = await post(path, body, await issue(CREDITS));
      const before = threads.orders.length;
      const answer = await post(path, large(body), await issue(CREDITS));
      expect(threads.orders.length).toBeGreaterThan(before);
      expect(comparable(answer)).toEqual(comparable(small));
      expect([answer.status, answer.account[1]]).toEqual([status, 0]);
      expect(answer.account[0] < CREDITS).toBe(status === 200 && path === CHAT);
    });

  for (const kind of ["image", "video"] as const)
    test(`for an ${kind}`, async () => {
      const charged = async (text: string) => {
        const key = await issue(CREDITS);
        const { status, json, warning } = await post(PATHS[kind], text, key, AT_ONCE);
        return { status, credit: json.credit, state: json.status, warning };
      };
      const body = { ...SMALL[kind], oddity: 1 };
      const before = threads.orders.length;
      expect(await charged(large(body))).toEqual(await charged(JSON.stringify(body)));
      expect(threads.orders.slice(before)).toEqual([kind]);
    });
});

test("what refuses a large request lets go of it: no credit, and a limit of its key", async () => {
  const poor = await post(CHAT, large(chat), await issue(1));
  expect([poor.status, poor.account, poor.sent]).toEqual([402, [1, 0], []]);
  const key = await issue(CREDITS, { requests_per_minute: 1 });
  expect((await post(CHAT, large(chat), key)).status).toBe(200);
  expect((await post(CHAT, large(chat), key)).status).toBe(429);
});

describe("a thread that ends", () => {
  for (const kind of ["read", "aim", "write", "take"] as const)
    test(`at the order to ${kind} costs the request a 500, and nobody credit`, async () => {
      const key = await issue(CREDITS, { concurrency: 1 });
      threads.endAt(kind);
      const { status, json, account, sent } = await post(CHAT, large(chat), key);
      expect([status, json.error.type, account, sent]).toEqual([500, "internal_error", [CREDITS, 0], []]);
      expect((await post(CHAT, large(chat), key)).status).toBe(200);
    });

  for (const kind of ["read", "aim", "write", "take"] as const)
    test(`at the order to ${kind} of a count is a 500, and the next is counted`, async () => {
      const key = await issue(0);
      threads.endAt(kind);
      const { status, sent } = await post(COUNT, large(count), key);
      expect([status, sent]).toEqual([500, []]);
      expect(await post(COUNT, large(count), key)).toMatchObject({ status: 200, json: { input_tokens: 14 } });
    });

  for (const kind of ["image", "video"] as const)
    test(`while it reads an ${kind} costs the request a 500, and nobody credit`, async () => {
      const key = await issue(CREDITS);
      threads.endAt(kind);
      const { status, account } = await post(PATHS[kind], large(SMALL[kind]), key, AT_ONCE);
      expect([status, account]).toEqual([500, [CREDITS, 0]]);
    });
});

describe("a client that has gone before its turn on the thread", () => {
  /** A round trip that needs no thread: these are held back. */
  const turn = async (): Promise<void> => void (await (await fetch(`${gateway.url}/healthz`)).text());
  const requests = [
    { path: CHAT, body: chat },
    { path: COUNT, body: count },
    { path: PATHS.image, body: SMALL.image },
    { path: PATHS.video, body: SMALL.video },
  ];
  for (const { path, body } of requests)
    test(`is not served, and pays nothing: ${path}`, async () => {
      const { account, headers } = await issue(CREDITS);
      const before = threads.orders.length;
      const goOn = threads.holdBack();
      const first = gateway.chat(large(chat));
      while (threads.orders.length === before) await turn();
      const client = await openRawClient(gateway.url);
      const text = large(body);
      client.send(
        `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: ${headers.authorization}\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
      );
      while (client.unsentBytes() > 0) await turn();
      await turn();
      client.reset();
      await turn();
      goOn();
      expect((await first).status).toBe(200);
      const left = () => gateway.logs.find((line) => line.account_id === account);
      while (left() === undefined) await turn();
      expect(left()).toMatchObject({ path, status: 499, outcome: "client_gone" });
      expect(threads.orders.slice(before).filter((kind) => FIRST.has(kind))).toEqual(["read"]);
      const { json } = await gateway.admin("GET", `/accounts/${account}`);
      expect([json.balance, json.held, double.requests.length]).toEqual([CREDITS, 0, 1]);
    });
});
