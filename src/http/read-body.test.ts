import { describe, expect, test } from "bun:test";
import { createFakeClock } from "../../test/gateway/fake-clock.ts";
import { createRequestMemory, JSON_FACTOR } from "../core/bytes/request-memory.ts";
import { GatewayError } from "../core/errors.ts";
import { MAX_BODY_BYTES, readBody } from "./read-body.ts";

const MIB = 1024 * 1024;
const JSON_TYPE = { "content-type": "application/json" };

function open({ room = 64 * MIB * JSON_FACTOR } = {}) {
  const clock = createFakeClock();
  const memory = createRequestMemory(() => room);
  const share = memory.open("a");
  let [reads, asked] = [0, 0];
  const terms = {
    clock,
    memory: share,
    beforeLarge: async () => void (asked += 1),
    onRead: () => void (reads += 1),
  };
  const read = async (body: ReadableStream | Uint8Array | null, headers: Record<string, string> = {}) => {
    const init = { method: "POST", headers: { ...JSON_TYPE, ...headers }, body };
    try {
      return await readBody(new Request("http://gateway/", init), terms);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      return error;
    }
  };
  return { clock, memory, read, counts: () => [reads, asked] };
}

/** A body in pieces; without an end it goes on for ever. */
const piecesOf = (pieces: readonly Uint8Array[], ends = true): ReadableStream =>
  new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      if (ends) controller.close();
    },
  });

describe("a body", () => {
  test("is read to its end, told its length or not, and holds eight times its bytes", async () => {
    const bytes = new TextEncoder().encode('{"a":1}');
    for (const [body, headers] of [
      [bytes, { "content-length": "7" }],
      [piecesOf([bytes.subarray(0, 3), bytes.subarray(3)]), {}],
    ] as const) {
      const { read, memory, counts } = open();
      expect(await read(body, headers)).toEqual(bytes);
      expect([memory.taken(), counts()]).toEqual([7 * JSON_FACTOR, [1, 0]]);
    }
    const { read, counts } = open();
    expect([await read(null), counts()]).toEqual([new Uint8Array(0), [1, 0]]);
  });

  test("above a MiB is asked for before it is read, and at a MiB it is not", async () => {
    for (const [length, times] of [
      [MIB, 0],
      [MIB + 1, 1],
    ] as const) {
      for (const headers of [{ "content-length": String(length) }, undefined]) {
        const { read, counts } = open();
        const bytes = new Uint8Array(length);
        const half = length / 2;
        await read(
          headers === undefined ? piecesOf([bytes.subarray(0, half), bytes.subarray(half)]) : bytes,
          headers,
        );
        expect(counts()).toEqual([1, times]);
      }
    }
  });

  test("that has not come within half a minute is refused, and ends its connection", async () => {
    const { read, clock } = open();
    const reading = read(piecesOf([new Uint8Array(3)], false));
    await clock.advance(29_999);
    expect(await Promise.race([reading, Promise.resolve("waits")])).toBe("waits");
    await clock.advance(1);
    expect(await reading).toMatchObject({
      kind: "invalid_request_error",
      message: "The body did not arrive in time.",
      headers: { connection: "close" },
    });
    expect(clock.timers()).toBe(0);
  });

  test("beyond 32 MiB is refused, by its length or once so much has come", async () => {
    const { read } = open({ room: 1_000 * MIB });
    const tooLarge = { kind: "input_too_large", message: "The body is larger than 32 MiB." };
    expect(await read(null, { "content-length": String(MAX_BODY_BYTES + 1) })).toMatchObject(tooLarge);
    const pieces = Array.from({ length: 33 }, () => new Uint8Array(MIB));
    expect(await read(piecesOf(pieces.slice(0, 32)))).toHaveLength(MAX_BODY_BYTES);
    expect(await read(piecesOf(pieces))).toMatchObject(tooLarge);
  });

  test("for which there is no memory is a 503 that says when to come again", async () => {
    for (const body of [piecesOf([new Uint8Array(3), new Uint8Array(3)]), null]) {
      const { read, memory } = open({ room: 5 * JSON_FACTOR });
      memory.open("b").take(1);
      const refused = await read(body, body === null ? { "content-length": "6" } : {});
      expect(refused).toMatchObject({ kind: "overloaded_error", retryAfterSec: 2 });
    }
  });
});

describe("the headers of a body", () => {
  const kindOf = async (headers: Record<string, string>): Promise<string> => {
    const answer = await open().read(new Uint8Array(2), headers);
    return answer instanceof GatewayError ? answer.kind : "read";
  };

  test("say that it is JSON in UTF-8, as it is", async () => {
    for (const type of [
      "application/json",
      "Application/JSON",
      "application/json; charset=utf-8",
      'application/json;charset="UTF-8"; x=1',
      "application/json ; charset=utf8",
    ])
      expect([type, await kindOf({ "content-type": type })]).toEqual([type, "read"]);
    expect(await kindOf({ "content-encoding": "identity" })).toBe("read");
  });

  test("of anything else are refused", async () => {
    for (const type of ["text/plain", "application/jsonl", "application/json; charset=latin1"])
      expect([type, await kindOf({ "content-type": type })]).toEqual([type, "invalid_request_error"]);
    expect(await kindOf({ "content-encoding": "gzip" })).toBe("unsupported_encoding");
  });
});
