import { expect, test } from "bun:test";
import { inPieces } from "./pieces.ts";

const KIB = 1024;

/** A body of so many bytes, and what its sender learns of it. */
function bodyOf(length: number) {
  const bytes = Uint8Array.from({ length }, (_, i) => i % 251);
  const learnt: (number | "gone")[] = [];
  const body = inPieces(bytes, {
    onTaken: (left) => learnt.push(left),
    onGone: () => learnt.push("gone"),
  });
  return { bytes, body, learnt };
}

test("a body is given in pieces of 64 KiB, whole and in order, and its sender learns what is left", async () => {
  const { bytes, body, learnt } = bodyOf(130 * KIB);
  const pieces: Uint8Array[] = [];
  for await (const piece of body.open()) pieces.push(piece);
  expect(pieces.map(({ length }) => length)).toEqual([64 * KIB, 64 * KIB, 2 * KIB]);
  expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
  expect(learnt).toEqual([66 * KIB, 2 * KIB, 0, "gone"]);
});

test("a body of one piece ends with it", async () => {
  for (const length of [1, 64 * KIB]) {
    const { bytes, body, learnt } = bodyOf(length);
    expect(new Uint8Array(await new Response(body.open()).arrayBuffer())).toEqual(bytes);
    expect(learnt).toEqual([0, "gone"]);
  }
});

test("no piece is taken before it is asked for, and the body can be opened again until then", async () => {
  const { bytes, body, learnt } = bodyOf(3);
  body.open();
  await Promise.resolve();
  expect(learnt).toEqual([]);
  expect(new Uint8Array(await new Response(body.open()).arrayBuffer())).toEqual(bytes);
});

test("a client that wants no more lets go of the rest, once", async () => {
  const { body, learnt } = bodyOf(130 * KIB);
  const reader = body.open().getReader();
  await reader.read();
  await reader.cancel();
  body.letGo();
  expect(learnt).toEqual([66 * KIB, "gone"]);
});

test("a sender that lets go of the rest gives nothing more", async () => {
  const { body, learnt } = bodyOf(130 * KIB);
  const reader = body.open().getReader();
  await reader.read();
  body.letGo();
  let isRead = false;
  void reader.read().finally(() => (isRead = true));
  await Bun.sleep(0);
  expect([learnt, isRead]).toEqual([[66 * KIB, "gone"], false]);
});
