import { expect } from "bun:test";
import type { Json, TestGateway } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer } from "../upstream/answer.ts";
import { garbageStatusLine, resetAt, stallAt } from "../upstream/faults.ts";

// What mixes of two faults share, whichever endpoint they meet: what a provider does with a call, and the books behind it.

/** What a provider does with a call. */
export interface Deed {
  readonly name: string;
  /** The provider surely did nothing, so that the request may be sent again. */
  readonly isSafe?: true;
}

/** A deed that turns a good answer into another one. */
export interface PlainDeed extends Deed {
  readonly answer: (good: Answer) => Answer;
}

const refusal = (status: number, headers: [string, string][] = []): PlainDeed => ({
  name: `${status}`,
  answer: () => jsonAnswer(status, { error: { message: "no", type: "t" } }, { headers }),
  ...([400, 409, 502, 504].includes(status) ? {} : { isSafe: true }),
});

/** What a call without a stream can meet. */
export const PLAIN: readonly PlainDeed[] = [
  ...[400, 401, 404, 408, 409, 425, 500, 502, 503, 504, 529].map((status) => refusal(status)),
  refusal(429, [["retry-after", "1"]]),
  refusal(503, [["retry-after", "3"]]),
  { name: "reset", answer: (good) => resetAt(good, "start") },
  { name: "reset in the head", answer: (good) => resetAt(good, "mid-head") },
  { name: "no status line", answer: (good) => garbageStatusLine(good) },
  { name: "stall", answer: (good) => stallAt(good, "start") },
  { name: "an empty body", answer: (good) => ({ ...good, body: "" }) },
  { name: "a web page", answer: () => ({ headers: [["content-type", "text/html"]], body: "<p>" }) },
];

/** Requests without a fault for each one with two, and what each of all earns: most faults are tried again. */
export const WELL = 5;
export const BUDGET = 0.2;

/** How many models there are of a kind: what one request does to a breaker few others meet. */
export const MODELS = 40;

/** Credentials of the makers of a model: two of its first route, one of its second, one of a dearer model. */
export const CREDENTIALS = {
  A1: "a1-0123456789",
  A2: "a2-0123456789",
  B1: "b1-0123456789",
  C1: "c1-0123456789",
};

/** Short limits of time, since the clock is fast. */
export const SHORT_TIMEOUTS = {
  connect_seconds: 600,
  plain_seconds: 60,
  first_byte_seconds: 60,
  idle_seconds: 60,
};

/** One of a list, or one of lists, by a source of numbers. */
export const pickBy =
  (below: (most: number) => number) =>
  <T>(list: readonly T[]): T =>
    list[below(list.length)] as T;

/**
 * Two faults of those, or one behind one or two that are surely safe: else most requests would end with their first call.
 */
export function twoFaults<D extends Deed>(
  { deeds, safe }: Record<"deeds" | "safe", readonly D[]>,
  below: (most: number) => number,
): readonly D[] {
  const pick = pickBy(below);
  const [first, second] = [pick(deeds), pick(deeds)];
  const [once, twice] = [pick(safe), pick(safe)];
  return pick([
    [first, second],
    [once, second],
    [once, twice, second],
  ]);
}

/** A request that has ended: what was done with its calls, and what its client was told. */
export interface Ended {
  readonly story: string;
  readonly done: readonly Deed[];
  /** The row of the request, if there is one. */
  readonly row: Json;
  readonly credit: number;
}

/**
 * Each call had a hold, since its row has it. At most three were made, and none behind one that may have been served.
 * The charge is what the client was told. A request that no way could take has neither row nor calls.
 */
export function expectOneCharge({ story, done, row, credit }: Ended): void {
  const attempts: Json[] = row?.attempts ?? [];
  // A kept connection that closes as it is used again takes the call along: it was not answered, nor seen.
  const answered = attempts.filter(({ status }) => status !== null).length;
  const isBooked = answered <= done.length && done.length <= attempts.length;
  expect([story, isBooked]).toEqual([story, true]);
  expect([story, done.length <= 3]).toEqual([story, true]);
  expect([story, done.slice(0, -1).every(({ isSafe }) => isSafe === true)]).toEqual([story, true]);
  expect([story, row?.credit ?? 0]).toEqual([story, credit]);
}

/** The books have those charges and no other, nothing is held, and no more was tried again than the budget has. */
export async function expectBooks(
  gateway: TestGateway,
  { before, charged, retries, requests }: Record<"before" | "charged" | "retries" | "requests", number>,
): Promise<void> {
  const { held, balance } = await gateway.account();
  expect([held, Number((before - balance).toFixed(6))]).toEqual([0, Number(charged.toFixed(6))]);
  expect(retries).toBeLessThanOrEqual(10 + BUDGET * requests);
  expect((await gateway.admin("GET", "/audit")).json.ok).toBe(true);
}

/** The rows of all requests, by their ids. */
export async function requestRows(gateway: TestGateway): Promise<Map<string, Json>> {
  const found = new Map<string, Json>();
  for (let after = ""; ;) {
    const { json } = await gateway.admin("GET", `/requests?limit=200${after}`);
    for (const row of json.data) found.set(row.id, row);
    if (json.next === null) return found;
    after = `&after=${json.next}`;
  }
}

/** Does so many at a time, each when one before it has ended. */
export async function eachInLanes<T>(all: readonly T[], lanes: number, run: (one: T) => Promise<void>) {
  const waiting = [...all];
  const work = async (): Promise<void> => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) await run(one);
  };
  await Promise.all(Array.from({ length: lanes }, work));
}
