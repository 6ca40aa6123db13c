import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { FORMAT_CLIENTS, jsonEvents } from "../gateway/format-clients.ts";
import type { Answer } from "../upstream/answer.ts";
import { badChunkSize, gateAt, resetAt, stallAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { openRawClient, postBytes } from "../upstream/raw-client.ts";
import { isBroken } from "./fault-ends.ts";
import { goodAnswer, placeBehindContent, type Spoken, untilContent } from "./fault-matrix.ts";
import {
  type Case,
  casesOf,
  countsOf,
  type FaultStation,
  openFaultStation,
  requestOf,
} from "./fault-station.ts";

// Connections that break while an answer is on its way: the provider's, and the client's.

const BREAKS = [
  {
    row: "U30 a reset behind content",
    cases: casesOf("u30", "stream"),
    broken: (spoken: Spoken): Answer => resetAt(goodAnswer(spoken, true), placeBehindContent(spoken)),
  },
  {
    row: "U48 a size of a chunk that is none, behind content",
    cases: casesOf("u48", "stream"),
    broken: (spoken: Spoken): Answer => badChunkSize(goodAnswer(spoken, true), untilContent(spoken)),
  },
] as const;
const LEFT = { before: casesOf("u58"), during: casesOf("u59", "stream") };
const HALF = { before: casesOf("u60"), during: casesOf("u60s", "stream"), counts: countsOf("u60") };

let station: FaultStation;

beforeAll(async () => {
  const breaks = BREAKS.flatMap(({ cases }) => cases);
  station = await openFaultStation([...breaks, ...[LEFT, HALF].flatMap((all) => Object.values(all).flat())]);
});
afterAll(async () => {
  expect((await station.gateway.admin("GET", "/audit")).json.ok).toBe(true);
  await station.close();
});

for (const { row, cases, broken } of BREAKS)
  test(`${row} ends the stream as broken, and what came is charged`, async () => {
    for (const one of cases) {
      const gate = createGate();
      // What breaks in the same read as content takes that along.
      station.answers(one, () => gateAt(broken(one.spoken), placeBehindContent(one.spoken), gate));
      const { balance } = await station.gateway.account();
      const response = await station.ask(one);
      gate.release();
      const text = await response.text();
      const client = FORMAT_CLIENTS[one.format as keyof typeof FORMAT_CLIENTS];
      expect([one.name, client.textOf(jsonEvents(text)), isBroken(one, text)]).toEqual([
        one.name,
        "Hel",
        true,
      ]);
      const spent = await station.spent(balance);
      expect([one.name, spent]).toEqual([one.name, Number(/.*"credit":([\d.]+)/s.exec(text)?.[1])]);
      expect(spent).toBeGreaterThan(0);
      expect([station.calls(), await station.stateOf(one)]).toEqual([["a1"], ["healthy", 1, "reset"]]);
    }
  });

/** A provider that waits: before its answer, or behind the first part of its text. */
function waits(one: Case, isDuring: boolean): void {
  const at = isDuring ? placeBehindContent(one.spoken) : "start";
  station.answers(one, () => stallAt(goodAnswer(one.spoken, one.stream), at));
}

/** What is left of a request whose client has gone. The clock stands still, so no limit of time has ended it. */
async function expectLeft(one: Case, before: number): Promise<void> {
  await station.double.waitForClientGone(await station.double.waitForRequest(1));
  const spent = await station.spent(before);
  expect([one.name, spent > 0, station.calls()]).toEqual([one.name, one.spoken !== "counting", ["a1"]]);
  expect(await station.stateOf(one)).toEqual(["healthy", 0, null]);
  if (one.spoken === "counting") return;
  const { json } = await station.gateway.admin("GET", "/requests?limit=1");
  expect(json.data[0]).toMatchObject({ outcome: "client_gone", credit: spent });
}

describe("a client that leaves stops its provider, and says nothing of the way", () => {
  test("U58 before the answer: its input is charged", async () => {
    for (const one of LEFT.before) {
      waits(one, false);
      const { balance } = await station.gateway.account();
      const controller = new AbortController();
      const asked = station.ask(one, { signal: controller.signal }).catch(() => undefined);
      await station.double.waitForRequest(1);
      controller.abort();
      await asked;
      await expectLeft(one, balance);
    }
  });

  test("U59 behind content: what came is charged", async () => {
    for (const one of LEFT.during) {
      waits(one, true);
      const { balance } = await station.gateway.account();
      const controller = new AbortController();
      const response = await station.ask(one, { signal: controller.signal });
      await response.body?.getReader().read();
      controller.abort();
      await expectLeft(one, balance);
    }
  });
});

describe("U60 a client that closes its sending half has left, by the runtime", () => {
  const asked = async (one: Case) => {
    const [path, body] = requestOf(one);
    const client = await openRawClient(station.gateway.url);
    const headers = [`authorization: Bearer ${station.gateway.key}`];
    client.send(postBytes(path, JSON.stringify(body), headers));
    return client;
  };

  test("before the answer: its input is charged, and it gets no answer", async () => {
    for (const one of [...HALF.before, ...HALF.counts]) {
      waits(one, false);
      const { balance } = await station.gateway.account();
      const client = await asked(one);
      await station.double.waitForRequest(1);
      client.halfClose();
      await expectLeft(one, balance);
      await client.ended();
      expect(client.received()).toHaveLength(0);
    }
  });

  test("behind content: what came is charged, and it gets no end", async () => {
    for (const one of HALF.during) {
      waits(one, true);
      const { balance } = await station.gateway.account();
      const client = await asked(one);
      await client.waitFor("Hel");
      client.halfClose();
      await expectLeft(one, balance);
      await client.ended();
      expect(new TextDecoder().decode(client.received())).not.toContain('"credit"');
    }
  });
});
