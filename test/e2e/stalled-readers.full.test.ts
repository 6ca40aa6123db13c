import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { createFakeClock } from "../gateway/fake-clock.ts";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";
import { chatAnswer } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { openRawClient, type RawClient } from "../upstream/raw-client.ts";

// Clients that ask for a large plain answer and do not read it. Of a budget of 320 MiB one of them holds 40 MiB.

const MIB = 1024 * 1024;
const ANSWER = 40 * MIB;
const USAGE = { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 };
const BODY = JSON.stringify({
  model: "openai/gpt-5.6-luna",
  messages: [{ role: "user", content: "Say a lot." }],
  max_tokens: 64,
});

const clock = createFakeClock();
let double: UpstreamDouble;
let gateway: TestGateway;

beforeAll(async () => {
  double = await startUpstreamDouble();
  const settings = "memory: { bodies_mib: 320 }\n";
  gateway = await startGateway({ openai: `${double.url}/v1`, clock, settings });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});
beforeEach(() => {
  double.reset();
  double.handle(() => chatAnswer({ usage: USAGE, words: ["x".repeat(ANSWER)] }));
});

/** A client that has the beginning of its answer, which was charged, and takes no more. */
async function stall(): Promise<RawClient> {
  const client = await openRawClient(gateway.url);
  client.send(
    `POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\ncontent-type: application/json\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`,
  );
  await client.waitFor("200 OK");
  client.pause();
  await gateway.settled();
  return client;
}

const text = (client: RawClient): string => new TextDecoder().decode(client.received());

/** Whether a body of 32 MiB, which takes 256, is let in beside what is held. */
async function hasRoom(): Promise<boolean> {
  const other = await openRawClient(gateway.url);
  other.send(
    `POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\ncontent-type: application/json\r\ncontent-length: ${32 * MIB}\r\n\r\n`,
  );
  await gateway.admin("GET", "/accounts");
  await gateway.admin("GET", "/accounts");
  const isSilent = other.received().length === 0;
  if (!isSilent) expect(text(other)).toStartWith("HTTP/1.1 503");
  other.reset();
  await gateway.admin("GET", "/accounts");
  return isSilent;
}

describe("a client that does not read a large plain answer", () => {
  test("has it held in memory until a minute has passed, then loses its connection, and is charged", async () => {
    const before = (await gateway.account()).balance;
    expect(await hasRoom()).toBe(true);
    const clients = [await stall(), await stall()];
    expect((await gateway.account()).balance).toBeLessThan(before);
    expect(await hasRoom()).toBe(false);
    await clock.advance(59_000);
    expect(await hasRoom()).toBe(false);
    // The kernel may still have taken a piece by now, from which the minute counts anew.
    for (let i = 0; i < 20 && !(await hasRoom()); i += 1) await clock.advance(60_000);
    expect(await hasRoom()).toBe(true);
    for (const client of clients) {
      client.resume();
      await client.ended();
      expect(client.received().length).toBeLessThan(ANSWER);
      expect(text(client)).not.toEndWith("0\r\n\r\n");
    }
  });

  test("has all of it when it reads on before that, and its connection serves on", async () => {
    const client = await stall();
    await clock.advance(59_000);
    client.resume();
    await client.waitFor('"credit"');
    await client.waitFor("0\r\n\r\n");
    expect(client.received().length).toBeGreaterThan(ANSWER);
    client.send("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
    await client.waitFor('{"status":"ok"}');
    expect(await hasRoom()).toBe(true);
    client.close();
  });

  test("and leaves, holds nothing any more", async () => {
    const clients = [await stall(), await stall()];
    expect(await hasRoom()).toBe(false);
    for (const client of clients) client.reset();
    while (!(await hasRoom()));
  });
});

test("an answer up to 256 KiB has its length", async () => {
  for (const [bytes, framing] of [
    [200_000, "content-length"],
    [300_000, "transfer-encoding"],
  ] as const) {
    double.handle(() => chatAnswer({ usage: USAGE, words: ["x".repeat(bytes)] }));
    const answer = await gateway.chat(BODY);
    expect(answer.headers.has(framing)).toBe(true);
    expect(answer.headers.get("content-type")).toBe("application/json");
    const { choices } = (await answer.json()) as Json;
    expect(choices[0].message.content).toHaveLength(bytes);
  }
});
