import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { neverRead, resetUpload } from "../upstream/admission.ts";
import { createGate } from "../upstream/gate.ts";
import { type OutOfReach, startBlackHole, startSilent } from "../upstream/out-of-reach.ts";
import { isBroken } from "./fault-ends.ts";
import { goodAnswer } from "./fault-matrix.ts";
import { type Case, casesOf, type FaultStation, later, openFaultStation } from "./fault-station.ts";
import { type Outcome, outcomeOf, type Placed, placedAt } from "./fault-unsent.ts";

// Requests that no provider ever had whole, for each endpoint: they are made elsewhere, and cost nothing. By a clock that
// only the test moves.

const LINUX = process.platform === "linux";

interface Place {
  readonly id: string;
  readonly name: string;
  readonly at: () => string;
  /** Of the first way, behind it. */
  readonly reason: "not_sent" | "send_timed_out";
}

let silent: OutOfReach;
let hole: OutOfReach | undefined;
const PLACES: readonly Place[] = [
  { id: "U1", name: "no such host", at: () => "http://no-such-host.invalid", reason: "not_sent" },
  { id: "U3", name: "nobody listens", at: () => "http://127.0.0.1:1", reason: "not_sent" },
  {
    id: "U4",
    name: "packets that are dropped",
    at: () => `http://127.0.0.1:${hole?.port}`,
    reason: "send_timed_out",
  },
  {
    id: "U6",
    name: "a TLS handshake that stalls",
    at: () => `https://127.0.0.1:${silent.port}`,
    reason: "send_timed_out",
  },
];
const placed = ({ id, at }: Place): Placed => placedAt(id.toLowerCase(), at());
const RESET = casesOf("u7");
const STALLED = casesOf("u62");

let station: FaultStation;

beforeAll(async () => {
  silent = await startSilent();
  hole = LINUX ? await startBlackHole() : undefined;
  const cases = PLACES.flatMap((place) => Object.values(placed(place)).flat());
  station = await openFaultStation([...cases, ...RESET, ...STALLED]);
});
afterAll(async () => {
  await station.close();
  silent.close();
  hole?.close();
});

const typeOf = (text: string): unknown => JSON.parse(text).error.type;
const lastRow = async () => (await station.gateway.admin("GET", "/requests?limit=1")).json.data[0];

for (const place of PLACES)
  // Only Linux drops attempts beyond its queue.
  describe.skipIf(place.id === "U4" && !LINUX)(`${place.id} ${place.name}`, () => {
    const { reason } = place;
    const isSlow = reason === "send_timed_out";

    const state = ["healthy", 1, reason];
    const expectAll = async (cases: readonly Case[], want: Partial<Outcome>): Promise<void> => {
      for (const one of cases)
        expect(await outcomeOf(station, one, isSlow)).toMatchObject({ name: one.name, ...want });
    };

    test("another provider serves, after one limit at the most", () =>
      expectAll(placed(place).first, {
        status: 200,
        said: "answer",
        spent: 0.2,
        calls: ["b1"],
        attempts: 2,
        state,
      }));

    test(`at both providers: ${isSlow ? "504 after a limit for each" : "502"}, for nothing`, () =>
      expectAll(placed(place).both, {
        ...(isSlow ? { status: 504, said: "timeout_error" } : { status: 502, said: "upstream_error" }),
        // One that refuses at once may be back: the first is asked by its other credential, too.
        attempts: isSlow ? 2 : 3,
        spent: 0,
        calls: [],
        state,
      }));

    test(`tokens are counted by the gateway${isSlow ? ", after two seconds" : ""}`, () =>
      expectAll(placed(place).counts, {
        status: 200,
        said: "estimate",
        spent: 0,
        state: ["healthy", 0, null],
      }));
  });

test("U7 a reset while the request was sent: another provider serves", async () => {
  // More than the sockets of both sides hold.
  const said = "x".repeat(3_900_000);
  for (const one of RESET) {
    station.answers(one, () => goodAnswer(one.spoken, one.stream));
    station.double.admit(({ target }) => (target.includes("-a/") ? resetUpload(10_000) : { kind: "read" }));
    await station.earn(1);
    const { balance } = await station.gateway.account();
    const response = await station.ask(one, {}, said);
    await response.text();
    const saw = [response.status, station.calls().at(-1), await station.spent(balance)];
    expect([one.name, ...saw]).toEqual([one.name, 200, "b1", 0.2]);
    expect([one.name, await station.stateOf(one)]).toEqual([one.name, ["healthy", 1, "not_sent"]]);
    expect((await lastRow()).attempts).toHaveLength(2);
  }
});

test("U62 a request of 20 MB that its provider stops reading: 504 after a minute, for nothing", async () => {
  const said = "x".repeat(20_000_000);
  for (const one of STALLED) {
    const gate = createGate();
    station.answers(one, () => goodAnswer(one.spoken, one.stream));
    station.double.admit(() => neverRead(gate));
    const { balance } = await station.gateway.account();
    const asked = station.ask(one, {}, said);
    await station.double.waitForRequest(1);
    // The kernel may take a piece late, from which the minute counts anew.
    const [response, firstMs] = await later(station.clock, asked, 2_000, Infinity);
    const [text, restMs] = await later(station.clock, response.text(), 2_000, Infinity);
    // A stream is begun by keep-alives after 15 s.
    if (one.stream) {
      expect([one.name, response.status, isBroken(one, text)]).toEqual([one.name, 200, true]);
    } else expect([one.name, response.status, typeOf(text)]).toEqual([one.name, 504, "timeout_error"]);
    expect(firstMs + restMs).toBeGreaterThanOrEqual(60_000);
    gate.release();
    // So large a body is not kept. Embeddings are written anew for another route.
    const calls = one.format === "embeddings" ? ["a1", "b1"] : ["a1"];
    expect([one.name, station.calls(), await station.spent(balance)]).toEqual([one.name, calls, 0]);
    expect(await station.stateOf(one)).toEqual(["healthy", 1, "send_timed_out"]);
  }
});
