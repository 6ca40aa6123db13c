import { afterAll, describe, expect, test } from "bun:test";
import { jsonAnswer } from "../../test/upstream/answer.ts";
import { startUpstreamDouble } from "../../test/upstream/double.ts";
import { finAt, resetAt } from "../../test/upstream/faults.ts";
import { fetchOnce } from "./fetch.ts";

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: async (request) => new Response(await request.bytes()),
});
afterAll(() => server.stop(true));

const signal = new AbortController().signal;

/** Sends a body in pieces, and gives what the server read. */
async function sent(pieces: readonly Uint8Array[]): Promise<Uint8Array> {
  const answer = await fetchOnce(server.url.href, { method: "POST", headers: {}, body: pieces, signal });
  return answer.bytes();
}

const filled = (length: number, byte: number): Uint8Array => new Uint8Array(length).fill(byte);

test("calls that are made at once each send their own pieces, whatever their size", async () => {
  const bodies = [0, 1, 2, 3, 4, 5, 6, 7].flatMap((i) => [
    [filled(5, i), filled(120_000 - i * 1_000, i), filled(1, i)],
    [filled(200_000, 10 + i), filled(100_000, 20 + i)],
    [filled(70_000, 30 + i)],
  ]);
  const read = await Promise.all(bodies.map(sent));
  read.forEach((bytes, i) => expect(Buffer.concat(bodies[i] ?? []).equals(bytes)).toBe(true));
});

test("what becomes of the pieces after the call is not sent", async () => {
  const pieces = [filled(10, 1), filled(100_000, 1)];
  const read = sent(pieces);
  for (const piece of pieces) piece.fill(2);
  expect((await read).every((byte) => byte === 1)).toBe(true);
});

// Whether a server has taken the call cannot be told. docs/limits/http.md has what follows from it.
describe("a kept connection that ends in place of an answer (U49)", () => {
  const good = jsonAnswer(200, {});
  for (const [how, endAt] of [
    ["reset", resetAt],
    ["closed", finAt],
  ] as const)
    for (const [method, ends, seen] of [
      ["POST", "ECONNRESET", 2],
      ["GET", "200", 3],
    ] as const)
      test(`${how}: a ${method} is seen ${seen - 1} times`, async () => {
        const double = await startUpstreamDouble();
        const call = (): Promise<string> =>
          fetchOnce(double.url, { method, headers: {}, signal }).then(
            async (answer) => {
              await answer.bytes();
              return String(answer.status);
            },
            (error: unknown) => (error as { code: string }).code,
          );
        double.enqueue(good, endAt(good, "start"), good);
        expect(await call()).toBe("200");
        expect(await call()).toBe(ends);
        expect(double.requests).toHaveLength(seen);
        expect(double.requests[1]?.connection).toBe(1);
        await double.close();
      });
});
