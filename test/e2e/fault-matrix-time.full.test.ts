import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { FORMAT_CLIENTS, jsonEvents } from "../gateway/format-clients.ts";
import type { Answer } from "../upstream/answer.ts";
import { commentsForEver, resetAt, stallAt } from "../upstream/faults.ts";
import { resetUpload } from "../upstream/admission.ts";
import { createGate } from "../upstream/gate.ts";
import { gateAt } from "../upstream/faults.ts";
import { type OutOfReach, startSilent } from "../upstream/out-of-reach.ts";
import { goodAnswer, placeBehindContent, streamWith, untilContent } from "./fault-matrix.ts";
import { type Case, casesOf, type FaultStation, openFaultStation } from "./fault-station.ts";

// Faults that take time or have no answer at all, for each endpoint, by a clock that only the test moves.

const NAMES = ["u1", "u3", "u6", "u7", "u9p", "u9s", "u30", "u39", "u40", "u58", "u59"] as const;
const PLACES = new Map<string, string>([
  ["u1", "http://no-such-host.invalid"],
  ["u3", "http://127.0.0.1:1"],
]);
const ONLY: Partial<Record<(typeof NAMES)[number], "plain" | "stream">> = {
  u9p: "plain",
  u9s: "stream",
  u30: "stream",
  u39: "stream",
  u40: "stream",
  u59: "stream",
};
const cases = (name: (typeof NAMES)[number]): readonly Case[] =>
  casesOf(name, ONLY[name]).map((one) => {
    const at = PLACES.get(name);
    return at === undefined ? one : { ...one, at };
  });

let station: FaultStation;
let silent: OutOfReach;

beforeAll(async () => {
  silent = await startSilent();
  PLACES.set("u6", `https://127.0.0.1:${silent.port}`);
  station = await openFaultStation(NAMES.flatMap((name) => cases(name)));
});
afterAll(async () => {
  await station.close();
  silent.close();
});

/** Moves time in steps until `asked` has come. */
async function later<T>(asked: Promise<T>, stepMs: number, mostMs: number): Promise<[T, number]> {
  let isThere = false;
  void asked.then(
    () => (isThere = true),
    () => (isThere = true),
  );
  let passedMs = 0;
  for (let turns = 0; !isThere && passedMs < mostMs; turns += 1) {
    await new Promise((resolve) => setTimeout(resolve, 2));
    // What comes over a socket has some turns for it.
    if (turns % 10 !== 9) continue;
    await station.clock.advance(stepMs);
    passedMs += stepMs;
  }
  return [await asked, passedMs];
}

describe("a provider that got nothing is passed over, for nothing", () => {
  for (const [name, says, stepMs, reason] of [
    ["u1", "U1 no such host", 100, "not_sent"],
    ["u3", "U3 nobody listens", 100, "not_sent"],
    ["u6", "U2, U4, U6 no connection within its time", 2_500, "send_timed_out"],
  ] as const)
    test(says, async () => {
      for (const one of cases(name)) {
        station.answers(one, () => goodAnswer(one.spoken, one.stream));
        await station.earn(1);
        const { balance } = await station.gateway.account();
        const [response] = await later(station.ask(one), stepMs, 60_000);
        await response.text();
        expect([one.name, response.status, station.calls(), await station.spent(balance)]).toEqual([
          one.name,
          200,
          ["b1"],
          0.2,
        ]);
        expect([one.name, await station.stateOf(one)]).toEqual([one.name, ["healthy", 1, reason]]);
        const { json } = await station.gateway.admin("GET", "/requests?limit=1");
        expect(json.data[0].attempts).toHaveLength(2);
      }
    });

  test("U7 a reset while the request was sent", async () => {
    for (const one of cases("u7").filter(({ format, stream }) => format === "messages" && !stream)) {
      station.answers(one, () => goodAnswer(one.spoken, one.stream));
      station.double.admit(({ target }) => (target.includes("-a/") ? resetUpload(10_000) : { kind: "read" }));
      await station.earn(1);
      const content = "x".repeat(2_000_000);
      const body = { model: `m/${one.name}-a`, max_tokens: 9, messages: [{ role: "user", content }] };
      const response = await station.gateway.post("/api/v1/messages", body);
      expect([one.name, response.status]).toEqual([one.name, 200]);
      expect(station.calls().at(-1)).toBe("b1");
      expect(await station.stateOf(one)).toEqual(["healthy", 1, "not_sent"]);
    }
  });
});

describe("a limit of time ends the request, which is sent once", () => {
  test("U9 a plain answer that does not come: 504 after 600 s, for nothing", async () => {
    for (const one of cases("u9p")) {
      station.answers(one, () => stallAt(goodAnswer(one.spoken, one.stream), "start"));
      const { balance } = await station.gateway.account();
      const asked = station.ask(one);
      await station.double.waitForRequest(1);
      await station.clock.advance(600_000);
      const response = await asked;
      const { error } = (await response.json()) as { error: { type: string } };
      expect([one.name, response.status, error.type, station.calls()]).toEqual([
        one.name,
        504,
        "timeout_error",
        ["a1"],
      ]);
      expect(await station.spent(balance)).toBe(0);
      expect(await station.stateOf(one)).toEqual(["healthy", 1, "timed_out"]);
    }
  });

  const streams = [
    ["u9s", "U9 a stream that does not begin: 120 s", 120_000, stallAtStart],
    ["u39", "U39 a stream that stalls: 60 s", 60_000, stallBehindContent],
    ["u40", "U40 comments alone: 300 s", 300_000, comments],
  ] as const;
  for (const [name, says, limitMs, fault] of streams)
    test(says, async () => {
      for (const one of cases(name)) {
        station.answers(one, () => fault(one));
        const { balance } = await station.gateway.account();
        const asked = station.ask(one);
        await station.double.waitForRequest(1);
        if (name === "u9s") await station.clock.advance(15_000);
        const response = await asked;
        const [text, passedMs] = await later(response.text(), 5_000, 700_000);
        const events = jsonEvents(text);
        const client = FORMAT_CLIENTS[one.format as keyof typeof FORMAT_CLIENTS];
        expect([one.name, client.hasFailed(events), client.isWhole(events), station.calls()]).toEqual([
          one.name,
          true,
          false,
          ["a1"],
        ]);
        const began = name === "u9s" ? 15_000 : 0;
        // It is looked at every 5 s.
        expect(passedMs + began).toBeWithin(limitMs, limitMs + 20_000);
        const spent = await station.spent(balance);
        expect([one.name, spent > 0]).toEqual([one.name, name !== "u9s"]);
        expect([one.name, await station.stateOf(one)]).toEqual([one.name, ["healthy", 1, "timed_out"]]);
      }
    });

  function stallAtStart({ spoken }: Case): Answer {
    return stallAt(goodAnswer(spoken, true), "start");
  }
  function stallBehindContent({ spoken }: Case): Answer {
    return stallAt(goodAnswer(spoken, true), placeBehindContent(spoken));
  }
  function comments({ spoken }: Case): Answer {
    return commentsForEver(streamWith(spoken, untilContent(spoken), []), 1);
  }
});

test("U30 a reset behind content ends the stream as broken, and what came is charged", async () => {
  for (const one of cases("u30")) {
    const gate = createGate();
    const at = placeBehindContent(one.spoken);
    station.answers(one, () => gateAt(resetAt(goodAnswer(one.spoken, true), at), at, gate));
    const { balance } = await station.gateway.account();
    const response = await station.ask(one);
    gate.release();
    const events = jsonEvents(await response.text());
    const client = FORMAT_CLIENTS[one.format as keyof typeof FORMAT_CLIENTS];
    expect([one.name, client.hasFailed(events), client.textOf(events)]).toEqual([one.name, true, "Hel"]);
    expect(await station.spent(balance)).toBeGreaterThan(0);
    expect([station.calls(), await station.stateOf(one)]).toEqual([["a1"], ["healthy", 1, "reset"]]);
  }
});

describe("a client that leaves says nothing of the way", () => {
  test("U58 before the head: the provider's connection is closed, and the input is charged", async () => {
    for (const one of cases("u58")) {
      station.answers(one, () => stallAt(goodAnswer(one.spoken, one.stream), "start"));
      const { balance } = await station.gateway.account();
      const controller = new AbortController();
      const asked = station.ask(one, { signal: controller.signal }).catch(() => undefined);
      const request = await station.double.waitForRequest(1);
      controller.abort();
      await asked;
      await station.double.waitForClientGone(request);
      expect([one.name, (await station.spent(balance)) > 0, station.calls()]).toEqual([
        one.name,
        true,
        ["a1"],
      ]);
      expect(await station.stateOf(one)).toEqual(["healthy", 0, null]);
    }
  });

  test("U59 behind content: what came is charged", async () => {
    for (const one of cases("u59")) {
      station.answers(one, () => stallAt(goodAnswer(one.spoken, true), placeBehindContent(one.spoken)));
      const { balance } = await station.gateway.account();
      const controller = new AbortController();
      const response = await station.ask(one, { signal: controller.signal });
      const request = await station.double.waitForRequest(1);
      const reader = response.body?.getReader();
      await reader?.read();
      controller.abort();
      await station.double.waitForClientGone(request);
      expect([one.name, (await station.spent(balance)) > 0, station.calls()]).toEqual([
        one.name,
        true,
        ["a1"],
      ]);
      expect(await station.stateOf(one)).toEqual(["healthy", 0, null]);
    }
  });
});
