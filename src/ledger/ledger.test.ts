import { expect, test } from "bun:test";
import { GatewayError } from "../core/errors.ts";
import { type Failpoint, type FailpointName, noFailpoint } from "../core/failpoint.ts";
import type { Hold } from "../core/money/hold.ts";
import type { Model } from "../core/model.ts";
import { systemRandom } from "../core/random.ts";
import { NO_USAGE } from "../core/money/usage.ts";
import { createFakeClock } from "../../test/gateway/fake-clock.ts";
import type { Command } from "./commands.ts";
import { createLedger } from "./ledger.ts";
import type { Writer } from "./writer.ts";

/** A writer that notes what it is given, refuses while `refusing` is set, and answers with `reason` where it is given. */
function createFickleWriter() {
  const seen: Command[] = [];
  const state: { refusing: boolean; reason?: string } = { refusing: false };
  const submit = async (command: Command): Promise<unknown> => {
    seen.push(command);
    if (state.refusing) throw new GatewayError("overloaded_error", "full");
    if (state.reason !== undefined) return { ok: false, reason: state.reason };
    if (command.kind !== "hold") return { ok: true, charged: 5n };
    const outputTokens = command.elastic?.floorTokens;
    return { ok: true, amount: command.amount, ...(outputTokens === undefined ? {} : { outputTokens }) };
  };
  const writer: Writer = { submit: submit as Writer["submit"], close: async () => {} };
  return { writer, seen, state };
}

const snapshot = { version: "v", prices: {}, pricedAtMs: 0 };
const REQUEST = {
  accountId: "a",
  keyId: "k",
  requestId: "r",
  model: { id: "m" } as Model,
  snapshot,
  amount: 7n,
  expectedCost: 3n,
};
const timeline = {
  provider: "p",
  admittedAtMs: 1,
  heldAtMs: 2,
  firstByteAtMs: null,
  endedAtMs: 3,
  attempts: [],
};

const SETTLEMENT = {
  delivered: true,
  used: 5n,
  usage: NO_USAGE,
  flags: [],
  outcome: "completed",
  timeline,
} as const;

async function open(failpoint: Failpoint = noFailpoint) {
  const clock = createFakeClock();
  const fickle = createFickleWriter();
  const ledger = createLedger({
    writer: fickle.writer,
    clock,
    random: systemRandom,
    failpoint,
    bootId: "boot_1",
    holdLifetimeMs: () => 1_000,
  });
  const hold = (await ledger.hold(REQUEST)) as Hold;
  return { clock, ledger, hold, ...fickle };
}

for (const kind of ["settle", "void"] as const) {
  test(`a ${kind} that the store refuses is told to its caller, and tried again until it is taken`, async () => {
    const { clock, ledger, hold, seen, state } = await open();
    state.refusing = true;
    const ending =
      kind === "void" ? ledger.void(hold, { outcome: "refused", timeline }) : ledger.settle(hold, SETTLEMENT);
    const failure: unknown = await ending.then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(GatewayError);
    await clock.advance(3_000);
    state.refusing = false;
    await clock.advance(1_000);
    const tries = seen.filter((command) => command.kind === kind);
    expect(tries.length).toBe(5);
    expect(
      new Set(
        tries.map((command) =>
          JSON.stringify(command, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value)),
        ),
      ).size,
    ).toBe(1);
    await clock.advance(10_000);
    expect(seen.filter((command) => command.kind === kind).length).toBe(5);
  });
}

test("a charge that the store refuses, of an answer that was not given yet, is not made later but booked as lost", async () => {
  const { clock, ledger, hold, seen, state } = await open();
  state.refusing = true;
  const failure: unknown = await ledger
    .settle(hold, { ...SETTLEMENT, delivered: false })
    .catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(GatewayError);
  await clock.advance(2_000);
  state.refusing = false;
  await clock.advance(1_000);
  const ends = seen.filter((command) => command.kind !== "hold");
  expect(ends.map((command) => ("outcome" in command ? `${command.kind} ${command.outcome}` : ""))).toEqual([
    "settle completed",
    "void unwritten",
    "void unwritten",
    "void unwritten",
    "settle completed",
  ]);
  await clock.advance(10_000);
  expect(seen.filter((command) => command.kind !== "hold").length).toBe(5);
});

test("holds that the store refused are given back, for it may have taken them: one is tried at a time, until all are", async () => {
  const { clock, ledger, seen, state } = await open();
  const refusedHold = () => ledger.hold({ ...REQUEST, amount: 1n }).catch((error: unknown) => error);
  const givenBack = () => seen.filter((command) => command.kind === "void");
  state.refusing = true;
  for (let i = 0; i < 3; i += 1) expect(await refusedHold()).toBeInstanceOf(GatewayError);
  await clock.advance(2_000);
  expect(givenBack()).toHaveLength(3);
  state.refusing = false;
  await clock.advance(1_000);
  const taken = givenBack().slice(3);
  const refused = seen.filter((command) => command.kind === "hold").slice(1);
  expect(taken.map(({ hold }) => hold).toSorted()).toEqual(refused.map(({ hold }) => hold));
  for (const command of taken)
    expect(command).toMatchObject({ account: "a", key: "k", outcome: "overloaded_error" });
  state.refusing = true;
  await refusedHold();
  state.refusing = false;
  await clock.advance(10_000);
  expect(givenBack()).toHaveLength(8);
});

test("an end tells the model that served in another's place, the rules of its prices, and what it cost", async () => {
  const prices = { input: [{ when: {}, price: 2n }] };
  const served = { model: { id: "m2" } as Model, snapshot: { version: "v2", prices, pricedAtMs: 0 } };
  const told = {
    served: { model: "m2", priceVersion: "v2", priceRules: '{"input":[{"when":{},"price":"2"}]}' },
    cost: 4n,
  };
  const one = await open();
  await one.ledger.settle(one.hold, { ...SETTLEMENT, served, cost: 4n });
  expect(one.seen.at(-1)).toMatchObject({ kind: "settle", ...told });
  await one.ledger.void(one.hold, { outcome: "refused", timeline, served, cost: 4n });
  expect(one.seen.at(-1)).toMatchObject({ kind: "void", ...told });
  // A charge that is not written names them as well.
  one.state.refusing = true;
  await one.ledger.settle(one.hold, { ...SETTLEMENT, delivered: false, served, cost: 4n }).catch(() => {});
  await one.clock.advance(1_000);
  expect(one.seen.at(-1)).toMatchObject({ kind: "void", outcome: "unwritten", ...told });
});

test("ids of one run's holds share 128 random bits and count up in order", async () => {
  const { ledger, hold } = await open();
  const next = (await ledger.hold(REQUEST)) as Hold;
  expect(hold.id).toMatch(/^hold_[0-9a-f]{32}\.0000000001$/);
  expect(next.id.split(".")).toEqual([hold.id.split(".")[0] as string, "0000000002"]);
  const ids = [hold.id, next.id];
  for (let i = 0; i < 15; i += 1) ids.push(((await ledger.hold(REQUEST)) as Hold).id);
  expect(ids.at(-1)).toEndWith(".0000000011");
  expect(ids.toSorted()).toEqual(ids);
});

test("a hold lasts for the lifetime of holds, and has the room for output that the store found", async () => {
  const { clock, ledger, hold, seen } = await open();
  expect("outputTokens" in hold).toBe(false);
  expect(seen[0]).toMatchObject({ kind: "hold", expiresAtMs: clock.nowMs() + 1_000 });
  expect("elastic" in (seen[0] as object)).toBe(false);
  const elastic = { tokenPrice: 1n, floorTokens: 16, maxTokens: 64 };
  expect(await ledger.hold({ ...REQUEST, elastic })).toMatchObject({ outputTokens: 16 });
  expect(seen[1]).toMatchObject({ elastic });
});

test("a hold that is refused is its reason, and one that cannot end is an error that names it", async () => {
  const { ledger, hold, state } = await open();
  state.reason = "insufficient_credits";
  expect(await ledger.hold(REQUEST)).toBe("insufficient_credits");
  state.reason = "unknown_hold";
  expect(ledger.settle(hold, SETTLEMENT)).rejects.toThrow(
    `The hold ${hold.id} could not be settled: unknown_hold.`,
  );
  expect(ledger.void(hold, SETTLEMENT)).rejects.toThrow(
    `The hold ${hold.id} could not be voided: unknown_hold.`,
  );
});

test("the moments before and after the store have their failpoints", async () => {
  const passed: FailpointName[] = [];
  const { ledger, hold, seen } = await open((name) => void passed.push(name));
  expect(passed.splice(0)).toEqual(["hold.before_submit", "hold.after_commit"]);
  await ledger.settle(hold, SETTLEMENT);
  expect(passed).toEqual(["settle.before_submit", "settle.after_commit"]);
  const dies = (at: FailpointName) => (name: FailpointName) => {
    if (name === at) throw new Error(at);
  };
  const before = await open(dies("settle.before_submit"));
  expect(before.ledger.settle(before.hold, SETTLEMENT)).rejects.toThrow("settle.before_submit");
  expect(before.seen.map(({ kind }) => kind)).toEqual(["hold"]);
  expect(seen.map(({ kind }) => kind)).toEqual(["hold", "settle"]);
});
