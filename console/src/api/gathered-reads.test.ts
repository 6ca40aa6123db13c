import { expect, test } from "bun:test";
import { gatherReads } from "./gathered-reads.ts";

interface Asked {
  readonly addresses: readonly string[];
  readonly signal: AbortSignal;
  readonly answer: PromiseWithResolvers<Response>;
}

/** Reads whose requests are answered by the test. */
function gathered(most = 32) {
  const asked: Asked[] = [];
  const alone: string[] = [];
  let flush = (): void => undefined;
  const { read } = gatherReads({
    most: () => most,
    later: (callback) => void (flush = callback),
    async one(address) {
      alone.push(address);
      return `one ${address}`;
    },
    several(addresses, signal) {
      const answer = Promise.withResolvers<Response>();
      asked.push({ addresses, signal, answer });
      return answer.promise;
    },
    refused: ({ status, requestId, retryAfter }, body) =>
      new Error(`${status} ${requestId} ${retryAfter} ${body}`),
    cut: (cause) => new Error(`cut: ${String(cause)}`),
  });
  return {
    read: (address: string, signal?: AbortSignal) => read(address, signal),
    asked,
    alone,
    flush: () => flush(),
  };
}

const settled = (reads: readonly Promise<unknown>[]) =>
  Promise.all(reads.map((read) => read.catch((error: unknown) => String(error))));
const line = (index: number, body: unknown, more: object = {}): string =>
  `${JSON.stringify({ index, status: 200, request_id: `req_${index}`, ...more, body })}\n`;

test("reads of one task are one request, and each has its own line, in any order and cut anywhere", async () => {
  const { read, asked, alone, flush } = gathered();
  const reads = [read("/a"), read("/b?x=1"), read("/c")];
  flush();
  expect(asked.map(({ addresses }) => addresses)).toEqual([["/a", "/b?x=1", "/c"]]);
  const refusal = line(1, { error: { message: "no" } }, { status: 503, retry_after: "2" });
  const bytes = new TextEncoder().encode(line(2, "ä") + refusal + line(0, { a: [1] }));
  const pieces = new ReadableStream({
    start(controller) {
      for (const byte of bytes) controller.enqueue(new Uint8Array([byte]));
      controller.close();
    },
  });
  asked[0]?.answer.resolve(new Response(pieces));
  expect(await settled(reads)).toEqual([{ a: [1] }, 'Error: 503 req_1 2 {"error":{"message":"no"}}', "ä"]);
  expect(alone).toEqual([]);
});

test("a read by itself is a plain one, and so is each while no more may go together", async () => {
  const { read, asked, alone, flush } = gathered();
  const first = read("/a");
  flush();
  expect(await first).toBe("one /a");
  const one = gathered(1);
  const reads = [one.read("/b"), one.read("/c")];
  one.flush();
  expect(await settled(reads)).toEqual(["one /b", "one /c"]);
  expect([asked, alone, one.asked, one.alone]).toEqual([[], ["/a"], [], ["/b", "/c"]]);
});

test("as many as the gateway takes go together", () => {
  const { read, asked, flush } = gathered(2);
  for (const address of ["/a", "/b", "/c", "/d"]) void read(address);
  flush();
  expect(asked.map(({ addresses }) => addresses)).toEqual([
    ["/a", "/b"],
    ["/c", "/d"],
  ]);
});

test("an answer that ends early fails the reads that have no line, whole as it looks", async () => {
  for (const end of [(stream: ReadableStreamDefaultController) => stream.close(), fail]) {
    const { read, asked, flush } = gathered();
    const reads = [read("/a"), read("/b")];
    flush();
    let controller: ReadableStreamDefaultController | undefined;
    const body = new ReadableStream({ start: (given) => void (controller = given) });
    asked[0]?.answer.resolve(new Response(body));
    controller?.enqueue(new TextEncoder().encode(line(1, 2)));
    expect(await reads[1]).toBe(2);
    controller?.enqueue(new TextEncoder().encode(line(0, "half").slice(0, -2)));
    if (controller !== undefined) end(controller);
    expect((await settled(reads))[0]).toStartWith("Error: cut: ");
  }
});
const fail = (stream: ReadableStreamDefaultController): void => stream.error(new Error("reset"));

test("each read fails with the refusal of the request that they share", async () => {
  const { read, asked, flush } = gathered();
  const reads = [read("/a"), read("/b")];
  flush();
  asked[0]?.answer.reject(new Error("401"));
  expect(await settled(reads)).toEqual(["Error: 401", "Error: 401"]);
});

test("a read that is given up is not waited for; the request ends with the last of them", async () => {
  const { read, asked, flush } = gathered();
  const [first, second, third] = [new AbortController(), new AbortController(), new AbortController()];
  const reads = [read("/a", first.signal), read("/b", second.signal), read("/c", third.signal)];
  first.abort(new Error("left"));
  flush();
  expect(asked.map(({ addresses }) => addresses)).toEqual([["/b", "/c"]]);
  second.abort(new Error("left"));
  expect(asked[0]?.signal.aborted).toBe(false);
  third.abort(new Error("left"));
  expect(asked[0]?.signal.aborted).toBe(true);
  expect(await settled(reads)).toEqual(["Error: left", "Error: left", "Error: left"]);
});
