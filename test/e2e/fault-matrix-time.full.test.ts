import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { FORMAT_CLIENTS, jsonEvents } from "../gateway/format-clients.ts";
import { type Answer, jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import { commentsForEver, gateAt, stallAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { isBroken } from "./fault-ends.ts";
import {
  goodAnswer,
  placeBehindContent,
  SPEECH,
  streamBytes,
  streamWith,
  untilContent,
} from "./fault-matrix.ts";
import { type Case, casesOf, type FaultStation, later, openFaultStation } from "./fault-station.ts";

// Faults that take time, for each endpoint, by a clock that only the test moves.

const STALLED = casesOf("u9p", "plain");
const STREAMS = [
  {
    row: "U9 a stream that does not begin: 120 s",
    limitMs: 120_000,
    cases: casesOf("u9s", "stream"),
    answer: ({ spoken }: Case): Answer => stallAt(goodAnswer(spoken, true), "start"),
  },
  {
    row: "U39 a stream that stalls: 60 s",
    limitMs: 60_000,
    cases: casesOf("u39", "stream"),
    answer: ({ spoken }: Case): Answer => stallAt(goodAnswer(spoken, true), placeBehindContent(spoken)),
  },
  {
    row: "U40 comments alone: 300 s",
    limitMs: 300_000,
    cases: casesOf("u40", "stream"),
    answer: ({ spoken }: Case): Answer => commentsForEver(streamWith(spoken, untilContent(spoken), []), 1),
  },
] as const;
const LIMITED = casesOf("u24");
const FAILING = casesOf("u25");
const DRIPPING = casesOf("u38", "stream");

let station: FaultStation;

beforeAll(async () => {
  const streams = STREAMS.flatMap(({ cases }) => cases);
  station = await openFaultStation([...STALLED, ...streams, ...LIMITED, ...FAILING]);
});
afterAll(() => station.close());

const typeOf = (text: string): unknown => JSON.parse(text).error.type;

describe("a limit of time ends the request, which is sent once", () => {
  test("U9 a plain answer that does not come: 504 after 600 s, for nothing", async () => {
    for (const one of STALLED) {
      station.answers(one, () => stallAt(goodAnswer(one.spoken, one.stream), "start"));
      const { balance } = await station.gateway.account();
      let isThere = false;
      const asked = station.ask(one).finally(() => (isThere = true));
      await station.double.waitForRequest(1);
      await station.clock.advance(599_999);
      expect(isThere).toBe(false);
      await station.clock.advance(1);
      const response = await asked;
      expect([one.name, response.status, typeOf(await response.text())]).toEqual([
        one.name,
        504,
        "timeout_error",
      ]);
      expect([station.calls(), await station.spent(balance)]).toEqual([["a1"], 0]);
      expect(await station.stateOf(one)).toEqual(["healthy", 1, "timed_out"]);
    }
  });

  for (const { row, limitMs, cases, answer } of STREAMS)
    test(row, async () => {
      const hasContent = !row.startsWith("U9");
      for (const one of cases) {
        station.answers(one, () => answer(one));
        const { balance } = await station.gateway.account();
        const asked = station.ask(one);
        await station.double.waitForRequest(1);
        // It is begun by keep-alives then.
        const beganMs = hasContent ? 0 : 15_000;
        await station.clock.advance(beganMs);
        const response = await asked;
        // It is looked at every 5 s.
        const mostMs = limitMs - beganMs + 5_000;
        const [text, passedMs] = await later(station.clock, response.text(), 5_000, mostMs);
        expect(beganMs + passedMs).toBeGreaterThanOrEqual(limitMs);
        const client = FORMAT_CLIENTS[one.format as keyof typeof FORMAT_CLIENTS];
        const saw = [client.textOf(jsonEvents(text)), isBroken(one, text), text.includes("timeout_error")];
        // Responses has one word for all.
        const isNamed = one.format !== "responses";
        expect([one.name, response.status, ...saw]).toEqual([
          one.name,
          200,
          hasContent ? "Hel" : "",
          true,
          isNamed,
        ]);
        const spent = await station.spent(balance);
        expect([one.name, spent > 0, spent]).toEqual([one.name, hasContent, creditIn(text)]);
        expect([station.calls(), await station.stateOf(one)]).toEqual([["a1"], ["healthy", 1, "timed_out"]]);
      }
    });
});

const creditIn = (text: string): number => Number(/.*"credit":([\d.]+)/s.exec(text)?.[1]);

test("U38 a byte each second is passed on as it comes, and ends with the time of a stream: 600 s", async () => {
  const paced = await openFaultStation(DRIPPING, { isPaced: true });
  const { double, clock, gateway } = paced;
  double.handle(({ target }) => {
    const one = DRIPPING.find(({ name }) => target.startsWith(`/${name}-a/`));
    return one === undefined ? goodAnswer("chat_completions", false) : dripping(one);
  });
  const { balance } = await gateway.account();
  const streams = await Promise.all(
    DRIPPING.map(async (one) => ({ one, read: readAlong(await paced.ask(one)) })),
  );
  let charged = 0;
  const dripped = double.requests.slice();
  for (let second = 1; second < 600; second += 1) {
    const before = dripped.map(({ answered }) => answered.bodyBytes);
    await clock.advance(1_000);
    while (dripped.some(({ answered }, i) => answered.bodyBytes === before[i])) {
      expect([second, dripped.filter(({ outcome }) => outcome === "client-gone")]).toEqual([second, []]);
      await turn();
    }
    // The gateway's client reads on a thread of its own, which a busy machine lets wait. An answer that came by it
    // tells that it has read what was written before. Without that, 60 s of the clock could pass between two bytes.
    if (second % 10 === 0) charged += creditIn(await (await gateway.chat(WELL)).text());
    if (second === 300)
      for (const { one, read } of streams) {
        const client = FORMAT_CLIENTS[one.format as keyof typeof FORMAT_CLIENTS];
        while (client.textOf(jsonEvents(read.soFar())).length <= "Hel".length) await turn();
        expect([one.name, client.hasFailed(jsonEvents(read.soFar()))]).toEqual([one.name, false]);
      }
  }
  await clock.advance(1_000);
  for (const { one, read } of streams) {
    const text = await read.whole;
    expect([one.name, isBroken(one, text)]).toEqual([one.name, true]);
    expect([one.name, await paced.stateOf(one)]).toEqual([one.name, ["healthy", 1, "timed_out"]]);
    charged += creditIn(text);
  }
  expect(await paced.spent(balance)).toBe(Number(charged.toFixed(6)));
  expect(dripped).toHaveLength(DRIPPING.length);
  expect(paced.calls()).toHaveLength(DRIPPING.length);
  await paced.close();
});

const WELL = { model: "m/well", messages: [{ role: "user", content: "Hi" }] };

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A stream whose beginning comes at once, and more text than there is time for by one byte each second. */
function dripping({ spoken }: Case): Answer {
  const begun = placeBehindContent(spoken);
  const text = SPEECH[spoken].events[untilContent(spoken) - 1];
  const events = [...SPEECH[spoken].events.slice(0, untilContent(spoken)), ...Array(10).fill(text)];
  const body = streamBytes(spoken, events);
  const at = Array.from({ length: body.length - begun }, (_, i) => begun + i);
  return { ...sseAnswer(body), cut: { at }, pauseMs: 1_000 };
}

/** Reads an answer as it comes. */
function readAlong(response: Response) {
  let text = "";
  const whole = (async () => {
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? [])
      text += decoder.decode(bytes as Uint8Array, { stream: true });
    return text;
  })();
  return { soFar: () => text, whole };
}

/** A request that is refused at once, and no provider is asked for it. */
async function refused(one: Case): Promise<number> {
  const sent = station.double.requests.length;
  const startedMs = performance.now();
  const response = await station.ask(one);
  const text = await response.text();
  const tookMs = performance.now() - startedMs;
  expect([one.name, response.status, typeOf(text)]).toEqual([one.name, 503, "overloaded_error"]);
  expect(Number(response.headers.get("retry-after"))).toBeWithin(1, 61);
  expect(station.double.requests).toHaveLength(sent);
  return tookMs;
}

/** A machine that has other work is slow at times, but not each time. */
async function refusedFast(one: Case): Promise<void> {
  const tookMs: number[] = [];
  while (tookMs.length < 20) tookMs.push(await refused(one));
  expect(Math.min(...tookMs)).toBeLessThan(20);
}

test("U24 a 429 of every way: requests are refused within 20 ms, until the pause is over", async () => {
  const limited = jsonAnswer(429, { error: { message: "no" } }, { headers: [["retry-after", "30"]] });
  for (const one of LIMITED) {
    station.answers(
      one,
      () => limited,
      () => limited,
    );
    await station.earn(2);
    const { balance } = await station.gateway.account();
    const response = await station.ask(one);
    expect([one.name, response.status, typeOf(await response.text())]).toEqual([
      one.name,
      503,
      "overloaded_error",
    ]);
    expect([one.name, station.calls()]).toEqual([one.name, ["a1", "a2", "b1"]]);
    await refusedFast(one);
    await station.clock.advance(29_999);
    await refused(one);
    expect(await station.stateOf(one)).toEqual(["cooling", 0, "rate_limited"]);
    expect(await station.spent(balance)).toBe(0);
    await station.clock.advance(1);
    station.answers(one, () => goodAnswer(one.spoken, one.stream));
    await (await station.ask(one)).text();
    expect([one.name, await station.spent(balance), station.calls()]).toEqual([one.name, 0.2, ["a1"]]);
  }
});

test("U25 500 again and again: five open the breaker, then one call is let through, and closes it", async () => {
  for (const one of FAILING) {
    const failed = () => jsonAnswer(500, { error: { message: "no" } });
    station.answers(one, failed, failed);
    for (let failures = 1; failures <= 5; failures += 1) {
      await station.earn(2);
      const { balance } = await station.gateway.account();
      const response = await station.ask(one);
      expect([one.name, response.status, typeOf(await response.text())]).toEqual([
        one.name,
        502,
        "upstream_error",
      ]);
      expect(await station.spent(balance)).toBe(0);
      const state = failures < 5 ? "healthy" : "open";
      expect([one.name, await station.stateOf(one)]).toEqual([one.name, [state, failures, "failed"]]);
    }
    await refusedFast(one);
    // A second, and up to a tenth of it more.
    await station.clock.advance(1_100);
    const { balance } = await station.gateway.account();
    const gate = createGate();
    const good = () => gateAt(goodAnswer(one.spoken, one.stream), "start", gate);
    station.answers(one, good, good);
    const asked = [station.ask(one), station.ask(one), station.ask(one)];
    await station.double.waitForRequest(3);
    await refused(one);
    expect([one.name, station.calls().toSorted()]).toEqual([one.name, ["a1", "a2", "b1"]]);
    gate.release();
    for (const response of await Promise.all(asked)) await response.text();
    expect([one.name, await station.spent(balance)]).toEqual([one.name, 0.6]);
    expect(await station.stateOf(one)).toEqual(["healthy", 0, "failed"]);
  }
});
