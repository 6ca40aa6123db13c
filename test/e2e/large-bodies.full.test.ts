import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createFakeClock } from "../gateway/fake-clock.ts";
import { startGateway, type TestGateway } from "../gateway/gateway.ts";
import { openRawClient, type RawClient } from "../upstream/raw-client.ts";

// The gateway itself answers a body that is too large, or that it refuses for another reason before it has come whole.
// The answer reaches a client that reads nothing until it has sent all.

const MIB = 1024 * 1024;
/** More than any server takes. */
const ENDLESS = 10_000 * MIB;
const PIECE = "x".repeat(MIB);

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

interface Upload {
  readonly path?: string;
  readonly key?: string;
  readonly contentType?: string;
  /** Absent: in chunks. */
  readonly declared?: number | string;
}

/** A client that has sent the head of a request, and reads nothing. */
async function begin({ path = "/api/v1/chat/completions", key = gateway.key, ...body }: Upload) {
  const client = await openRawClient(gateway.url);
  client.pause();
  const { contentType = "application/json", declared } = body;
  const framing =
    declared === undefined ? "transfer-encoding: chunked" : `content-length: ${declared.toString()}`;
  client.send(
    `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: ${contentType}\r\n${framing}\r\n\r\n`,
  );
  return client;
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Sends so much of a body, a piece when the one before has gone; stops where the server takes no more. */
async function sendBody(client: RawClient, bytes: number, isChunked: boolean): Promise<void> {
  let hasEnded = false;
  void client.ended().then(() => (hasEnded = true));
  for (let sent = 0; sent < bytes && !hasEnded; sent += MIB) {
    client.send(isChunked ? `${MIB.toString(16)}\r\n${PIECE}\r\n` : PIECE.slice(0, bytes - sent));
    while (client.unsentBytes() > 0 && !hasEnded) await turn();
  }
}

/** The answer as its client reads it once it has stopped sending. */
async function answerTo(client: RawClient, mark: string) {
  client.resume();
  const text = await client.waitFor(mark);
  return { status: Number(text.slice(9, 12)), text };
}

describe("a body that is too large", () => {
  const formats = [
    { path: "/api/v1/chat/completions", says: '"type":"input_too_large"' },
    { path: "/api/v1/messages", says: '"type":"input_too_large"' },
    { path: "/api/v1/models/google/gemini-3.8-flash:generateContent", says: '"status":"INVALID_ARGUMENT"' },
    { path: "/api/v1/images/generations", says: '"type":"input_too_large"' },
    { path: "/api/v1/videos", says: '"type":"input_too_large"' },
  ];
  for (const { path, says } of formats)
    test(`of 100 MB is a 400 in the shape of ${path}`, async () => {
      const client = await begin({ path, declared: 100_000_000 });
      await sendBody(client, 100_000_000, false);
      const { status, text } = await answerTo(client, "32 MiB");
      expect([status, text]).toEqual([400, expect.stringContaining(says)]);
      client.close();
    });

  for (const declared of [32 * MIB + 1, 10_000_000_000, Number.MAX_SAFE_INTEGER])
    test(`of ${declared} bytes by what it declares is a 400 before any of it has come`, async () => {
      const client = await begin({ declared });
      const { status, text } = await answerTo(client, "32 MiB");
      expect([status, text]).toEqual([400, expect.stringContaining('"type":"input_too_large"')]);
      client.close();
    });

  for (const isChunked of [false, true])
    test(`is not one of 32 MiB to the byte, ${isChunked ? "in chunks" : "declared"}`, async () => {
      const client = await begin(isChunked ? {} : { declared: 32 * MIB });
      await sendBody(client, 32 * MIB, isChunked);
      if (isChunked) client.send("0\r\n\r\n");
      // It is read whole, and then is no JSON.
      const { status, text } = await answerTo(client, "JSON");
      expect([status, text]).toEqual([400, expect.stringContaining('"type":"invalid_request_error"')]);
      client.close();
    });

  test("in chunks is a 400 from the first byte above 32 MiB on", async () => {
    const client = await begin({});
    await sendBody(client, 32 * MIB, true);
    client.send("1\r\nx\r\n0\r\n\r\n");
    const { status, text } = await answerTo(client, "32 MiB");
    expect([status, text]).toEqual([400, expect.stringContaining('"type":"input_too_large"')]);
    await client.ended();
  });

  test("in chunks is a 400", async () => {
    const client = await begin({});
    await sendBody(client, 40 * MIB, true);
    client.send("0\r\n\r\n");
    const { status, text } = await answerTo(client, "32 MiB");
    expect([status, text]).toEqual([400, expect.stringContaining('"type":"input_too_large"')]);
    await client.ended();
  });

  test("without an end is a 400 once it is, and its connection is closed", async () => {
    const client = await begin({});
    client.resume();
    await sendBody(client, ENDLESS, true);
    const { status, text } = await answerTo(client, "32 MiB");
    expect([status, text]).toEqual([400, expect.stringContaining('"type":"input_too_large"')]);
    await client.ended();
  });

  // The runtime's own, as docs/limits/http.md has it.
  for (const [declared, status] of [
    ["9007199254740992", 413],
    ["99999999999999999999", 400],
  ] as const)
    test(`of ${declared} bytes is the runtime's ${status}`, async () => {
      const client = await begin({ declared });
      expect((await answerTo(client, "\r\n\r\n")).status).toBe(status);
      await client.ended();
    });
});

describe("a request that is refused while its body comes", () => {
  const refusals = [
    { name: "for its key", of: { key: "sk-wrong" }, status: 401, says: "auth_error" },
    { name: "for its content type", of: { contentType: "text/plain" }, status: 400, says: "content-type" },
    { name: "for its path", of: { path: "/api/v1/nowhere" }, status: 404, says: "not_found_error" },
  ] as const;
  for (const { name, of, status: expected, says } of refusals) {
    test(`${name} is answered, and its connection serves on when the body was as long as it said`, async () => {
      const client = await begin({ ...of, declared: 30_000_000 });
      await sendBody(client, 30_000_000, false);
      client.send("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
      const { status, text } = await answerTo(client, "200 OK");
      expect([status, text]).toEqual([expected, expect.stringContaining(says)]);
      client.close();
    });

    test(`${name} is answered, and its connection is closed when the body has no end`, async () => {
      const client = await begin(of);
      client.resume();
      await sendBody(client, ENDLESS, true);
      const { status, text } = await answerTo(client, "\r\n\r\n");
      expect([status, text]).toEqual([expected, expect.stringContaining(says)]);
      await client.ended();
    });
  }
});

test("a body that does not come within 30 s is a 400, and its connection is closed", async () => {
  const clock = createFakeClock();
  const slow = await startGateway({ clock });
  try {
    for (const framing of ["content-length: 1000", "transfer-encoding: chunked"]) {
      const client = await openRawClient(slow.url);
      client.send(
        `POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${slow.key}\r\ncontent-type: application/json\r\n${framing}\r\n\r\n1\r\n{\r\n`,
      );
      // Until the request has been read so far, there is nothing to be late.
      while (!(await slow.admin("GET", "/accounts")).json.data) await turn();
      await clock.advance(29_999);
      expect(client.received().length).toBe(0);
      await clock.advance(1);
      expect(await client.waitFor("in time")).toContain("HTTP/1.1 400");
      // Nothing of it is still read: its connection is closed once what it sent on would have come.
      await clock.advance(2_000);
      await client.ended();
      client.close();
    }
  } finally {
    await slow.close();
  }
});
