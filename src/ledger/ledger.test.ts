import { expect, test } from "bun:test";
import { GatewayError } from "../core/errors.ts";
import { noFailpoint } from "../core/failpoint.ts";
import type { Hold } from "../core/hold.ts";
import type { Model } from "../core/model.ts";
import { systemRandom } from "../core/random.ts";
import { NO_USAGE } from "../core/usage.ts";
import { createFakeClock } from "../../test/gateway/fake-clock.ts";
import type { Command } from "./commands.ts";
import { createLedger } from "./ledger.ts";
import type { Writer } from "./writer.ts";

/** A writer that notes what it is given, and refuses while `refusing` is set. */
function createFickleWriter() {
  const seen: Command[] = [];
  const state = { refusing: false };
  const submit = async (command: Command): Promise<unknown> => {
    seen.push(command);
    if (state.refusing) throw new GatewayError("overloaded_error", "full");
    return command.kind === "hold" ? { ok: true, amount: command.amount } : { ok: true, charged: 5n };
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

async function open() {
  const clock = createFakeClock();
  const fickle = createFickleWriter();
  const ledger = createLedger({
    writer: fickle.writer,
    clock,
    random: systemRandom,
    failpoint: noFailpoint,
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
      kind === "void"
        ? ledger.void(hold, { outcome: "refused", timeline })
        : ledger.settle(hold, {
            delivered: true,
            used: 5n,
            usage: NO_USAGE,
            flags: [],
            outcome: "completed",
            timeline,
          });
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
    .settle(hold, {
      delivered: false,
      used: 5n,
      usage: NO_USAGE,
      flags: [],
      outcome: "completed",
      timeline,
    })
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

test("ids of one run's holds share 128 random bits and count up in order", async () => {
  const { ledger, hold } = await open();
  const next = (await ledger.hold(REQUEST)) as Hold;
  expect(hold.id).toMatch(/^hold_[0-9a-f]{32}\.0000000001$/);
  expect(next.id.split(".")).toEqual([hold.id.split(".")[0] as string, "0000000002"]);
  expect([hold.id, next.id].toSorted()).toEqual([hold.id, next.id]);
});
