import { expect, test } from "bun:test";
import type { Answer, Cut, Place } from "./answer.ts";
import { joinBytes, toText } from "./bytes.ts";
import { afterEvent, cutOffsets, eventEnds, seededRandom } from "./cuts.ts";
import { createGate } from "./gate.ts";
import { sse } from "./sse-bytes.ts";
import { wireSteps } from "./wire.ts";
import type { Step } from "./wire.ts";

const writesOf = (steps: readonly Step[]) =>
  steps.flatMap((step) => (step.kind === "write" ? [toText(step.bytes)] : []));
const textOf = (answer: Answer) => writesOf(wireSteps(answer)).join("");

test("a bare answer is one write with its length, and keeps the connection", () => {
  const steps = wireSteps({ headers: [["x-a", "1"]], body: "hi" });
  expect(writesOf(steps)).toEqual(["HTTP/1.1 200 OK\r\nx-a: 1\r\ncontent-length: 2\r\n\r\nhi"]);
  expect(steps.at(-1)).toEqual({ kind: "end", how: "keep-alive", finished: true });
});

test("headers may repeat and stay in order", () => {
  const headers = [
    ["set-cookie", "a"],
    ["Set-Cookie", "b"],
    ["content-length", "9"],
  ] as const;
  expect(textOf({ headers })).toStartWith(
    "HTTP/1.1 200 OK\r\nset-cookie: a\r\nSet-Cookie: b\r\ncontent-length: 9\r\ncontent-length: 0\r\n",
  );
});

test("each piece of a chunked body is one chunk, and trailers follow the last", () => {
  const text = textOf({ framing: "chunked", body: "abcdef", cut: { at: [2] }, trailers: [["x-t", "1"]] });
  expect(text).toEndWith("\r\n\r\n2\r\nab\r\n4\r\ncdef\r\n0\r\nx-t: 1\r\n\r\n");
});

test("a body that ends with the connection has no length and ends with a FIN", () => {
  const steps = wireSteps({ framing: "close", body: "abc" });
  expect(writesOf(steps).join("")).toBe("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nabc");
  expect(steps.at(-1)).toMatchObject({ how: "fin", finished: true });
});

const body = sse(["one", "two", "three"]);
const cuts: Cut[] = [
  "whole",
  "events",
  { every: 1 },
  { every: 4 },
  { at: [9, 3, 3, 900] },
  { seed: 7, maxBytes: 5 },
];
for (const cut of cuts) {
  test(`cut ${JSON.stringify(cut)}: the bytes are the same however they are cut`, () => {
    expect(textOf({ body, cut })).toBe(textOf({ body }));
  });
}

test("events are cut after each blank line, in every line ending", () => {
  for (const lineEnding of ["\n", "\r\n", "\r"] as const) {
    const bytes = sse(["a", "b"], { lineEnding, comment: "c" });
    expect(eventEnds(bytes)).toEqual([bytes.length / 2, bytes.length]);
    expect(cutOffsets(bytes, "events")).toEqual([bytes.length / 2]);
  }
});

test("the same seed gives the same cuts, another seed others", () => {
  const long = new Uint8Array(5_000);
  expect(cutOffsets(long, { seed: 1 })).toEqual(cutOffsets(long, { seed: 1 }));
  expect(cutOffsets(long, { seed: 1 })).not.toEqual(cutOffsets(long, { seed: 2 }));
  const random = seededRandom(3);
  expect(Array.from({ length: 100 }, random).every((value) => value >= 0 && value < 1)).toBe(true);
});

test("each event is its own write, apart from the head and the last chunk", () => {
  const writes = writesOf(wireSteps({ framing: "chunked", body, cut: "events" }));
  expect(writes.slice(1)).toEqual([
    "b\r\ndata: one\n\n\r\n",
    "b\r\ndata: two\n\n\r\n",
    "d\r\ndata: three\n\n\r\n",
    "0\r\n\r\n",
  ]);
});

test("pauses lie between the pieces of the body and nowhere else", () => {
  const kinds = wireSteps({ framing: "chunked", body, cut: "events", pauseMs: 5 }).map((step) => step.kind);
  expect(kinds).toEqual(["write", "write", "pause", "write", "pause", "write", "write", "end"]);
});

const HEAD = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
const ends: { at: Place; want: string }[] = [
  { at: "start", want: "" },
  { at: "mid-head", want: HEAD.slice(0, HEAD.length / 2) },
  { at: "head-end", want: HEAD },
  { at: 0, want: HEAD },
  { at: 3, want: `${HEAD}3\r\nabc\r\n` },
  { at: "body-end", want: `${HEAD}6\r\nabcdef\r\n` },
  { at: { wire: HEAD.length + 1 }, want: `${HEAD}6` },
  { at: { wire: -2 }, want: `${HEAD}6\r\nabcdef\r\n0\r\n` },
  { at: "last-byte", want: `${HEAD}6\r\nabcdef\r\n0\r\n\r\n` },
];
for (const { at, want } of ends) {
  test(`an end at ${JSON.stringify(at)} sends what is before it and no more`, () => {
    const steps = wireSteps({ framing: "chunked", body: "abcdef", end: { at, how: "reset" } });
    expect(writesOf(steps).join("")).toBe(want);
    expect(steps.at(-1)).toEqual({ kind: "end", how: "reset", finished: at === "last-byte" });
  });
}

test("every write says how many bytes of the body are out after it", () => {
  const answer: Answer = { framing: "chunked", body: "abcdef", cut: { at: [2] }, drip: { everyBytes: 1 } };
  const steps = wireSteps(answer).filter((step) => step.kind === "write");
  expect(new Set(steps.map((step) => step.bodyBytes))).toEqual(new Set([0, 1, 2, 3, 4, 5, 6]));
  expect(steps.at(-1)?.bodyBytes).toBe(6);
});

test("marks come at their place, in order, before an end at the same place", () => {
  const gate = createGate();
  const steps = wireSteps({
    body: "abcdef",
    marks: [
      { at: 3, pauseMs: 7 },
      { at: 3, gate },
      { at: 5, pauseMs: 9 },
    ],
    end: { at: 3, how: "stall" },
  });
  expect(steps.map((step) => step.kind)).toEqual(["write", "pause", "gate", "end"]);
});

test("a place outside the body is a mistake that is named", () => {
  expect(() => wireSteps({ body: "abc", end: { at: 4, how: "fin" } })).toThrow("place 4");
  expect(() => wireSteps({ body: "abc", end: { at: { wire: 4_000 }, how: "fin" } })).toThrow("place 4000");
  expect(() => afterEvent(body, 4)).toThrow("no event 4");
  expect(afterEvent(body, 2)).toBe(22);
});

test("an endless answer never comes to its end by itself", () => {
  const steps = wireSteps({ framing: "chunked", body: "ab", endless: { bytes: "xyz" } });
  expect(steps.map((step) => step.kind)).toEqual(["write", "repeat", "end"]);
  expect(steps.at(-1)).toMatchObject({ finished: false });
  const repeat = steps[1];
  expect(repeat?.kind === "repeat" && toText(joinBytes([repeat.bytes]))).toBe("3\r\nxyz\r\n");
});

test("interim heads come before the head, and a head may be cut in its middle after them", () => {
  const answer: Answer = { interim: [{ status: 103, headers: [["link", "<x>"]] }], body: "" };
  expect(textOf(answer)).toStartWith("HTTP/1.1 103 Interim\r\nlink: <x>\r\n\r\nHTTP/1.1 200 OK\r\n");
  const cut = textOf({ ...answer, end: { at: "mid-head", how: "fin" } });
  expect(cut).toStartWith("HTTP/1.1 103 Interim\r\nlink: <x>\r\n\r\nHTTP/1.1 200");
});
