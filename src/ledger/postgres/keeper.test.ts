import { describe, expect, test } from "bun:test";
import pg from "pg";
import { createFakeClock } from "../../../test/gateway/fake-clock.ts";
import { commandsFor } from "../../../test/ledger/books.ts";
import type { AnswerTo, Command, HoldCredit } from "../commands.ts";
import type { Intent } from "../intents.ts";
import type { HoldRow } from "../rows.ts";
import type { MemoryChanges } from "./allotment-statements.ts";
import type { SharedEvents, SharedTables } from "./allotment-tables.ts";
import type { HoldNotes } from "./hold-notes.ts";
import { openSharedKeeper } from "./keeper.ts";

const { hold, settle, voided, grant } = commandsFor((name) => name);

const LEASE_MS = 30_000;
const START_MS = 1_000_000;

interface Allotment {
  readonly account: string;
  readonly key: string;
  readonly boot: string;
  amount: bigint;
}

/** A double of the tables: what is allotted, which holds they have, and all that they were asked to write. */
function createTables() {
  const allotments = new Map<string, Allotment>();
  const holds = new Map<string, HoldRow>();
  const saved: MemoryChanges[] = [];
  const ran: Command[] = [];
  const freed: unknown[] = [];
  const live = new Set<string>();
  /** What the next writes meet. */
  const faults: (Error | "gone" | "written, and the answer lost")[] = [];
  const state = {
    amount: 1_000n as bigint | undefined,
    isTakenInSilence: false,
    isAway: false,
    /** So many writes in all find the tables otherwise than memory has them. */
    staleUntil: 0,
    saves: 0,
    saving: undefined as Promise<void> | undefined,
    runs: 0,
    owns: 0,
    running: undefined as Promise<void> | undefined,
    isAllotted: true,
    dead: [] as readonly string[],
    deadBut: undefined as string | undefined,
    left: [] as readonly string[],
    looks: 0,
    closed: 0,
  };
  let events: SharedEvents | undefined;
  const write = ({ changes, allotments: changed }: MemoryChanges, removed: readonly string[]): boolean => {
    if (changed.some(({ id, less }) => (allotments.get(id)?.amount ?? -1n) < less)) return false;
    if ([...changes.newHolds.keys()].some((id) => holds.has(id))) return false;
    for (const { id, less } of changed) allotments.get(id)!.amount -= less;
    for (const row of changes.newHolds.values()) holds.set(row.id, row);
    for (const id of removed) allotments.delete(id);
    return true;
  };
  const tables: SharedTables = {
    async run(commands) {
      state.runs += 1;
      await state.running;
      if (state.isAway) throw new Error("away");
      ran.push(...commands);
      return commands.map(() => ({ answer: { ok: true } as never }));
    },
    async take({ id, account, key, boot }) {
      const { amount } = state;
      if (amount === undefined) return undefined;
      allotments.set(id, { account, key, boot, amount: (allotments.get(id)?.amount ?? 0n) + amount });
      if (state.isTakenInSilence) throw new Error("the connection was lost");
      return { amount, expiresAtMs: null };
    },
    async save(changes, removed = []) {
      state.saves += 1;
      await state.saving;
      if (state.saves <= state.staleUntil) return false;
      const fault = faults.shift();
      if (fault instanceof Error) throw fault;
      if (fault === "gone") allotments.clear();
      if (!write(changes, removed)) return false;
      saved.push(changes);
      if (fault !== undefined && fault !== "gone") throw new Error("the connection was lost");
      return true;
    },
    async own(boot, ids) {
      state.owns += 1;
      return {
        allotments: [...allotments]
          .filter(([, row]) => row.boot === boot)
          .map(([id, { account, amount }]) => ({ id, account, amount })),
        holds: new Set(ids.filter((id) => holds.has(id))),
      };
    },
    async free(accounts, which) {
      freed.push([accounts, which]);
      if (Array.isArray(which)) for (const id of which as readonly string[]) allotments.delete(id);
      return accounts.length;
    },
    accounts: async (ids) => new Set(ids.filter((id) => id === "a")),
    isLive: async (boot) => live.has(boot),
    async dead(but) {
      state.deadBut = but;
      return state.dead;
    },
    recall: async (of) => (state.isAllotted ? ("account" in of ? of.account : "a") : undefined),
    async left() {
      state.looks += 1;
      return state.left;
    },
    close: async () => void (state.closed += 1),
  };
  const openTables = (given: SharedEvents): SharedTables => {
    events = given;
    return tables;
  };
  return {
    tables,
    openTables,
    allotments,
    holds,
    saved,
    ran,
    freed,
    live,
    faults,
    state,
    events: () => events!,
  };
}

/** A keeper with a lease, whose key `k` has an allotment of 1,000. */
async function open({ notes }: { notes?: HoldNotes } = {}) {
  const books = createTables();
  const clock = createFakeClock(START_MS);
  const unbooked: string[] = [];
  const keeper = openSharedKeeper({
    openTables: books.openTables,
    clock,
    notes,
    onUnbooked: ({ id }, reason) => unbooked.push(`${id}: ${reason}`),
  });
  const beat = () =>
    keeper.execute([{ kind: "heartbeat", boot: "b1", leaseMs: LEASE_MS, steadyMs: clock.steadyMs() }]);
  const direct: string[] = [];
  const make = async (
    name: string,
    size: bigint,
    more: Partial<HoldCredit> = {},
  ): Promise<AnswerTo<HoldCredit>> =>
    keeper.hold(
      hold(name, size, { nowMs: clock.nowMs(), expiresAtMs: clock.nowMs() * 2, ...more }),
      async (one) => {
        direct.push(one.hold);
        return { ok: true, amount: size };
      },
    );
  await beat();
  await make("first", 1n);
  return { ...books, clock, keeper, unbooked, beat, direct, make };
}

const ended = (charged: bigint) => ({ answer: { ok: true, charged } as never });
const DONE = { answer: { ok: true } as never };

test("the first hold of a key goes to the tables, and the next ones are made of its allotment", async () => {
  const { make, direct, keeper, allotments } = await open();
  expect(await make("h1", 600n)).toEqual({ ok: true, amount: 600n });
  expect(await make("h2", 100n)).toEqual({ ok: true, amount: 100n });
  expect(await make("too much", 301n)).toEqual({ ok: true, amount: 301n });
  expect([direct, [...allotments.keys()]]).toEqual([["first"], ["b1.1"]]);
  expect(keeper.count()).toBe(3);
  expect(keeper.held()).toEqual({ accounts: new Map([["a", 1_001n]]), keys: new Map([["k", 1_001n]]) });
  expect(await keeper.compare()).toEqual([]);
  allotments.get("b1.1")!.amount += 1n;
  expect(await keeper.compare()).toEqual(["b1.1"]);
});

test("an end is written with all that it changes, and its prices once", async () => {
  const { make, keeper, saved, ran, holds, state } = await open();
  await make("h1", 600n);
  await make("h2", 100n);
  await make("h3", 100n);
  ran.length = 0;
  expect(await keeper.execute([settle("h1", 250n), voided("h2"), settle("h1", 9n), grant("g", 1n)])).toEqual([
    ended(250n),
    DONE,
    DONE,
    DONE,
  ]);
  // The second end of the hold is for the tables, which have it by now.
  expect(ran).toEqual([settle("h1", 9n), grant("g", 1n)]);
  const [{ changes, allotments }] = saved as [MemoryChanges];
  expect([...changes.accounts.values()]).toEqual([{ id: "a", balance: -250n, held: 0n }]);
  expect([...changes.keys.values()]).toEqual([{ id: "k", spent: 250n, held: 0n }]);
  expect(allotments).toEqual([
    expect.objectContaining({ id: "b1.1", account: "a", key: "k", less: 250n, held: 100n }),
  ]);
  expect([...changes.newHolds.values()].map(({ id, state, settled }) => [id, state, settled])).toEqual([
    ["h1", "settled", 250n],
    ["h2", "voided", null],
  ]);
  expect(changes.requests.map(({ charge }) => charge)).toEqual([250n, 0n]);
  expect(changes.entries.map(({ amount }) => amount)).toEqual([-250n]);
  expect([...changes.prices.keys()]).toEqual(["v"]);
  expect([keeper.count(), keeper.held().accounts.get("a"), await keeper.compare()]).toEqual([1, 100n, []]);
  const { runs, owns } = state;
  await keeper.execute([settle("h3", 100n)]);
  await keeper.execute([]);
  // One write, and nothing that is asked beside it.
  expect([state.runs, state.owns]).toEqual([runs, owns]);
  expect([saved[1]?.changes.prices.size, keeper.count(), holds.size]).toEqual([0, 0, 3]);
});

test("an end that charges more than its hold is decided over the tables, with the account's other ends", async () => {
  const { make, keeper, ran, allotments, holds, direct } = await open();
  await make("h1", 100n);
  await make("h2", 100n);
  ran.length = 0;
  const batch = [settle("h2", 5n), settle("h1", 101n)];
  expect(await keeper.execute(batch)).toEqual([DONE, DONE]);
  expect([ran, allotments.size, keeper.count()]).toEqual([batch, 0, 0]);
  expect([...holds.values()].map(({ id, state }) => [id, state])).toEqual([
    ["h1", "held"],
    ["h2", "held"],
  ]);
  direct.length = 0;
  await make("h3", 1n);
  expect(direct).toEqual([]);
  expect(await keeper.execute([settle("h3", 1n)])).toEqual([ended(1n)]);
});

test("an end whose allotment is gone goes to the tables, and what its holds probably cost is booked", async () => {
  const { make, keeper, faults, saved, ran, unbooked, state } = await open();
  await make("h1", 100n, { expectedCost: 40n });
  await make("h2", 100n, { expectedCost: 50n });
  ran.length = 0;
  faults.push("gone");
  expect(await keeper.execute([settle("h1", 5n)])).toEqual([DONE]);
  expect(ran).toEqual([settle("h1", 5n)]);
  expect([...saved[0]!.changes.newHolds.values()].map(({ id, endReason }) => [id, endReason])).toEqual([
    ["h1", "process_died"],
    ["h2", "process_died"],
  ]);
  expect(saved[0]!.changes.entries.map(({ cause, amount }) => [cause, amount])).toEqual([
    ["h1:loss", -40n],
    ["h2:loss", -50n],
  ]);
  expect([
    [...saved[0]!.changes.prices.keys()],
    saved[0]!.changes.requests.map(({ outcome }) => outcome),
  ]).toEqual([["v"], ["process_died", "process_died"]]);
  expect([state.saves, unbooked, keeper.count(), await keeper.compare()]).toEqual([2, [], 0, []]);
});

/** An error as the server tells it. */
const refusal = (code: string): Error =>
  Object.assign(new pg.DatabaseError(`state ${code}`, 1, "error"), { code });

test("an end that the tables refuse does not fail with others: they find out which", async () => {
  const { make, keeper, faults, ran, holds, allotments } = await open();
  for (const name of ["h1", "h2", "h3"]) await make(name, 100n);
  ran.length = 0;
  faults.push(refusal("23514"));
  expect(await keeper.execute([settle("h1", 5n), settle("h2", 6n)])).toEqual([DONE, DONE]);
  expect(ran).toEqual([settle("h1", 5n), settle("h2", 6n)]);
  expect([[...holds.keys()], keeper.count(), allotments.get("b1.1")?.amount]).toEqual([
    ["h1", "h2"],
    1,
    800n,
  ]);
});

test("an end of which no answer came is known by the tables before anything else is done", async () => {
  for (const fault of [
    new Error("the connection was lost"),
    "written, and the answer lost",
    refusal("53100"),
  ] as const) {
    const { make, keeper, faults, freed, state } = await open();
    await make("h1", 100n);
    faults.push(fault);
    const failed = await keeper.execute([settle("h1", 5n)]).catch((error: Error) => error.message);
    expect(failed).toBe(fault instanceof Error ? fault.message : "the connection was lost");
    await keeper.execute([{ kind: "ping" }]);
    expect(keeper.count()).toBe(fault instanceof Error ? 1 : 0);
    expect(keeper.held().accounts.get("a")).toBe(fault instanceof Error ? 100n : 0n);
    const { owns } = state;
    await keeper.execute([{ kind: "ping" }]);
    expect([state.owns, freed]).toEqual([owns, []]);
    expect(await keeper.execute([settle("h1", 5n)])).toEqual([
      fault === "written, and the answer lost" ? DONE : ended(5n),
    ]);
    expect([keeper.count(), await keeper.compare()]).toEqual([0, []]);
    expect(await make("h2", 995n)).toEqual({ ok: true, amount: 995n });
  }
});

test("what the tables refuse each time is tried three times, and nothing of it is done", async () => {
  const { make, keeper, state, clock, beat, holds, allotments } = await open();
  await make("h1", 100n);
  state.staleUntil = Infinity;
  const why = (asked: Promise<unknown>) => asked.catch((error: Error) => error.message);
  expect(await why(keeper.execute([settle("h1", 5n)]))).toBe("The allotments were not as they had been.");
  expect(state.saves).toBe(3);
  await clock.advance(LEASE_MS / 3);
  await beat();
  await keeper.compare();
  expect(state.saves).toBe(6);
  expect(await why(keeper.recall({ account: "a" }))).toBe("The allotments could not be given back.");
  expect([state.saves, keeper.count(), holds.size, allotments.size]).toEqual([9, 1, 0, 1]);
});

test("an end by another account fails, and its neighbours do not", async () => {
  const books = await open();
  const { make, keeper } = books;
  await make("h1", 100n);
  await make("h2", 100n);
  expect(await keeper.execute([settle("h1", 5n, { account: "b" }), settle("h2", 5n)])).toEqual([
    { failure: "The hold h1 belongs to another account or key." },
    ended(5n),
  ]);
  expect(keeper.count()).toBe(1);
  const { saved, allotments } = books;
  expect(await keeper.execute([settle("h1", 5n, { account: "b" })])).toMatchObject([
    { failure: expect.anything() },
  ]);
  expect(saved.at(-1)?.allotments).toMatchObject([{ less: 0n, held: 100n }]);
  expect(allotments.get("b1.1")?.amount).toBe(995n);
});

test("a hold that is asked for twice is the tables' to answer the second time", async () => {
  const { make, keeper, direct } = await open();
  await make("h1", 100n);
  await make("h1", 100n);
  expect([direct, keeper.count()]).toEqual([["first", "h1"], 1]);
});

test("a comparison finds out first what became of a write", async () => {
  const { make, keeper, faults } = await open();
  await make("h1", 100n);
  faults.push("written, and the answer lost");
  await keeper.execute([settle("h1", 5n)]).catch(() => undefined);
  expect([await keeper.compare(), keeper.count()]).toEqual([[], 0]);
});

test("each heartbeat goes on from what the tables have allotted, where anything ever was", async () => {
  const { make, keeper, state, allotments, beat, clock } = await open();
  await keeper.compare();
  await beat();
  await keeper.compare();
  expect(state.owns).toBe(0);
  await make("h1", 100n);
  allotments.get("b1.1")!.amount = 500n;
  expect(await keeper.compare()).toEqual(["b1.1"]);
  await clock.advance(1);
  await beat();
  expect(await keeper.compare()).toEqual([]);
  expect(keeper.held().accounts.get("a")).toBe(100n);
});

test("an end is written the third time where the tables were otherwise before", async () => {
  const { make, keeper, state } = await open();
  await make("h1", 100n);
  state.staleUntil = 2;
  expect(await keeper.execute([settle("h1", 5n)])).toEqual([ended(5n)]);
  expect([state.saves, keeper.count()]).toEqual([3, 0]);
});

test("no hold is made of an allotment that is being given back", async () => {
  const { make, keeper, state, direct } = await open();
  await make("h1", 100n);
  const saving = Promise.withResolvers<void>();
  state.saving = saving.promise;
  const under = keeper.execute([settle("h1", 101n)]);
  await Bun.sleep(0);
  expect(state.saves).toBe(1);
  const late = make("h2", 1n);
  expect(keeper.count()).toBe(1);
  saving.resolve();
  await Promise.all([under, late]);
  expect([keeper.count(), direct]).toEqual([1, ["first"]]);
  expect(await keeper.execute([settle("h2", 1n)])).toEqual([ended(1n)]);
});

test("a process that leaves gives everything back, and makes no hold from memory any more", async () => {
  const { make, keeper, allotments, holds, direct, ran } = await open();
  await make("h1", 100n);
  await keeper.execute([{ kind: "leave", boot: "another" }]);
  expect(allotments.size).toBe(1);
  ran.length = 0;
  await keeper.execute([{ kind: "leave", boot: "b1" }]);
  expect([allotments.size, [...holds.keys()], ran]).toEqual([0, ["h1"], [{ kind: "leave", boot: "b1" }]]);
  await make("h2", 1n);
  await make("h3", 1n);
  expect(direct).toEqual(["first", "h2", "h3"]);
});

test("a heartbeat brings old holds into the tables, and gives back what was not used for a lease", async () => {
  const { make, keeper, clock, beat, holds, allotments, saved } = await open();
  await make("old", 100n);
  await clock.advance(LEASE_MS / 3 - 1);
  await make("new", 100n);
  await beat();
  await keeper.compare();
  expect([...holds.keys()]).toEqual([]);
  await clock.advance(1);
  await beat();
  await keeper.compare();
  expect([[...holds.keys()], keeper.count(), allotments.get("b1.1")?.amount]).toEqual([["old"], 1, 900n]);
  expect([keeper.held().accounts.get("a"), await keeper.compare()]).toEqual([100n, []]);
  const { changes } = saved.at(-1)!;
  expect([...changes.accounts.values()]).toEqual([{ id: "a", balance: 0n, held: 100n }]);
  expect([...changes.keys.values()]).toEqual([{ id: "k", spent: 0n, held: 100n }]);
  expect([...changes.prices.keys()]).toEqual(["v"]);
  expect(saved.at(-1)?.allotments).toMatchObject([{ id: "b1.1", less: 100n, held: 100n }]);
  await keeper.execute([settle("new", 1n)]);
  for (const [passed, left] of [
    [LEASE_MS / 2, 1],
    [LEASE_MS / 2 - 1, 1],
    [1, 0],
  ] as const) {
    await clock.advance(passed);
    await beat();
    await keeper.compare();
    expect(allotments.size).toBe(left);
  }
});

test("a lease that had run out is a new one: what was allotted under it goes back", async () => {
  const { make, keeper, clock, beat, allotments } = await open();
  expect(keeper.leaseMs()).toBe(LEASE_MS);
  await make("h1", 100n);
  await clock.advance(LEASE_MS - 1);
  await beat();
  await make("h2", 1n);
  await keeper.compare();
  expect(allotments.size).toBe(1);
  await clock.advance(LEASE_MS);
  await beat();
  await keeper.compare();
  expect(allotments.size).toBe(0);
});

test("what another process asks for is given back, and all of it where a call may have been missed", async () => {
  const { make, keeper, events, allotments, holds } = await open();
  await make("h1", 100n);
  events().onRecall("another");
  await keeper.compare();
  expect(allotments.size).toBe(1);
  events().onRecall("a");
  await keeper.compare();
  expect([allotments.size, [...holds.keys()]]).toEqual([0, ["h1"]]);
  await make("h2", 1n);
  await make("h3", 1n);
  expect(allotments.size).toBe(1);
  events().onMissed();
  await keeper.compare();
  expect(allotments.size).toBe(0);
});

test("an end has the prices of the model that served", async () => {
  const { make, keeper, saved } = await open();
  await make("h1", 100n);
  const served = { model: "m2", priceVersion: "v2", priceRules: "{}" };
  expect(await keeper.execute([settle("h1", 5n, { served })])).toEqual([ended(5n)]);
  expect([...saved[0]!.changes.prices.keys()].toSorted()).toEqual(["v", "v2"]);
});

test("what is given back is the whole allotment, in one write", async () => {
  const { make, keeper, events, saved, state } = await open();
  await make("h1", 100n);
  events().onRecall("a");
  expect(await keeper.compare()).toEqual([]);
  await keeper.execute([]);
  expect([state.saves, state.owns]).toEqual([1, 0]);
  expect(saved[0]?.allotments).toMatchObject([{ id: "b1.1", less: 1_000n, held: 0n }]);
});

test("what is to be given back and is gone already, or went with an answer that was lost, is found out", async () => {
  const gone = await open();
  await gone.make("h1", 100n);
  gone.allotments.clear();
  expect(await gone.keeper.recall({ account: "a" })).toBe(true);
  expect([gone.keeper.count(), [...gone.holds.keys()]]).toEqual([0, ["h1"]]);
  const { make, keeper, faults, events, holds } = await open();
  await make("h1", 100n);
  faults.push("written, and the answer lost");
  events().onRecall("a");
  expect([await keeper.compare(), keeper.count(), [...holds.keys()]]).toEqual([[], 0, ["h1"]]);
});

test("a heartbeat writes of allotments with holds alone, be it one", async () => {
  const { make, keeper, beat, state, clock } = await open();
  await make("h1", 100n);
  await clock.advance(1);
  await beat();
  await keeper.compare();
  expect(state.saves).toBe(1);
  await keeper.execute([voided("h1")]);
  await beat();
  await keeper.compare();
  expect(state.saves).toBe(2);
});

test("no hold is made of an allotment that is gone, while what it held is being booked", async () => {
  const { make, keeper, faults, allotments, state } = await open();
  await make("h1", 100n);
  faults.push(new Error("the connection was lost"));
  await keeper.execute([settle("h1", 5n)]).catch(() => undefined);
  allotments.clear();
  const saving = Promise.withResolvers<void>();
  state.saving = saving.promise;
  const under = keeper.execute([]);
  while (state.saves < 2) await Bun.sleep(0);
  void make("h2", 1n);
  expect(keeper.count()).toBe(1);
  saving.resolve();
  await under;
});

describe("a release", () => {
  const noted = (id: string): Intent => ({
    hold: { ...HELD, id },
    prices: { version: "v", model: "m", rules: "{}", createdAtMs: 1 },
  });
  const withNotes = async () => {
    const removed: string[] = [];
    const notes: HoldNotes = {
      open() {},
      note() {},
      left: () => ["dead"],
      read: () => ["h1", "h2", "h3"].map(noted),
      remove: (boot) => void removed.push(boot),
      close() {},
    };
    return { ...(await open({ notes })), removed };
  };

  test("frees what other dead processes have, where there are any", async () => {
    const { keeper, state, freed } = await open();
    expect([await keeper.release(), freed, state.deadBut]).toEqual([0, [], "b1"]);
    state.dead = ["a"];
    await keeper.release();
    expect(freed).toEqual([[["a"], { deadBut: "b1" }]]);
    const before = createTables();
    const unleased = openSharedKeeper({ openTables: before.openTables, clock: createFakeClock(START_MS) });
    expect([await unleased.release(), before.state.deadBut]).toEqual([0, ""]);
  });

  test("books holds together, and does nothing about those that the tables have", async () => {
    const { keeper, state, holds, removed } = await withNotes();
    expect([await keeper.release(), state.saves, [...holds.keys()]]).toEqual([3, 1, ["h1", "h2", "h3"]]);
    expect([await keeper.release(), state.saves, removed]).toEqual([0, 1, ["dead", "dead"]]);
  });

  test("tries three times, and then each hold by itself", async () => {
    for (const [staleUntil, booked, saves] of [
      [2, 3, 3],
      [3, 3, 6],
      [Infinity, 0, 12],
    ] as const) {
      const { keeper, state, unbooked } = await withNotes();
      state.staleUntil = staleUntil;
      expect([await keeper.release(), state.saves]).toEqual([booked, saves]);
      const refused = ["h1", "h2", "h3"].map((id) => `${id}: the tables have a part of it already`);
      expect(unbooked).toEqual(booked === 0 ? refused : []);
    }
  });

  test("goes past a hold that is refused for good, and says so", async () => {
    const { keeper, faults, unbooked, holds } = await withNotes();
    faults.push(refusal("23514"), refusal("23514"));
    expect(await keeper.release()).toBe(2);
    expect([unbooked, [...holds.keys()]]).toEqual([["h1: error: state 23514"], ["h2", "h3"]]);
  });

  test("leaves all to the next time where the store is away or full", async () => {
    for (const fault of [new Error("the connection was lost"), refusal("53100")]) {
      const { keeper, faults, unbooked, removed } = await withNotes();
      faults.push(fault);
      expect(await keeper.release().catch((error: Error) => error.message)).toBe(fault.message as never);
      expect([unbooked, [...removed], await keeper.release()]).toEqual([[], [], 3]);
    }
  });
});

test("no hold is made of what is asked for, also before its turn has come", async () => {
  const { keeper, state, events, make, direct } = await open();
  await make("h1", 1n);
  const running = Promise.withResolvers<void>();
  state.running = running.promise;
  const under = keeper.execute([grant("g", 1n)]);
  events().onRecall("a");
  expect(keeper.count()).toBe(1);
  void make("h2", 1n);
  await Bun.sleep(0);
  expect([direct, keeper.count()]).toEqual([["first"], 1]);
  running.resolve();
  await under;
  await keeper.compare();
  expect(keeper.held().accounts.get("a")).toBe(1n);
});

test("an allotment whose answer was lost is given back where it is asked for", async () => {
  const { keeper, state, events, make, direct, allotments, freed } = await open();
  state.isTakenInSilence = true;
  await make("h1", 1n);
  expect([direct, allotments.size]).toEqual([["first", "h1"], 1]);
  events().onRecall("a");
  await keeper.compare();
  expect([freed, allotments.size]).toEqual([[[["a"], ["b1.1"]]], 0]);
});

test("a hold goes to the tables where no allotment is given", async () => {
  const { keeper, state, make, direct } = await open();
  state.amount = undefined;
  expect(await make("h1", 7n)).toEqual({ ok: true, amount: 7n });
  expect([direct, keeper.count()]).toEqual([["first", "h1"], 0]);
});

test("before its first heartbeat a process has no lease, and nothing to compare", async () => {
  const { openTables } = createTables();
  const keeper = openSharedKeeper({ openTables, clock: createFakeClock(START_MS) });
  expect([keeper.leaseMs(), await keeper.compare()]).toEqual([0, []]);
});

describe("a recall", () => {
  /** Its answer, and when it has looked. */
  const recalled = async ({ keeper, clock, state }: Awaited<ReturnType<typeof open>>) => {
    const sinceMs = clock.steadyMs();
    const looks: number[] = [];
    let answer: boolean | undefined;
    void keeper.recall({ account: "a" }).then((given) => (answer = given));
    state.looks = 0;
    for (;;) {
      for (let turns = 0; turns < 20; turns += 1) await Promise.resolve();
      if (state.looks > 0) looks.push(clock.steadyMs() - sinceMs);
      state.looks = 0;
      if (answer !== undefined) return { answer, looks };
      await clock.advance(5);
    }
  };
  const LOOKS = [0, 5, 15, 35, 75, 155, 315, 635, 1_275, 2_555];

  test("gives back what this process has, and is done where nothing is left", async () => {
    const process = await open();
    await process.make("h1", 1n);
    process.state.isAllotted = false;
    expect(await recalled(process)).toEqual({ answer: true, looks: [] });
    expect(process.allotments.size).toBe(1);
    process.state.isAllotted = true;
    expect(await recalled(process)).toEqual({ answer: true, looks: [0] });
    expect(process.allotments.size).toBe(0);
  });

  test("waits a second and a half for others, and looks less and less often", async () => {
    const process = await open();
    process.state.left = ["of a silent process"];
    expect(await recalled(process)).toEqual({ answer: false, looks: LOOKS });
    expect(process.freed).toEqual([]);
  });

  test("frees what the dead have once this process was heard of for a whole lease without a break", async () => {
    const process = await open();
    const { clock, beat, state, freed } = process;
    const thirds = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i += 1) {
        await clock.advance(LEASE_MS / 3);
        await beat().catch(() => undefined);
      }
    };
    const free = [["a"], { deadBut: "b1" }];
    await clock.advance(LEASE_MS / 3 - 1);
    await beat();
    await thirds(2);
    await recalled(process);
    expect(freed).toEqual([]);
    await clock.advance(1);
    await recalled(process);
    expect(freed.splice(0)).toEqual([free]);
    state.isAway = true;
    await process.keeper.execute([{ kind: "ping" }]).catch(() => undefined);
    await recalled(process);
    expect(freed.splice(0)).toEqual([free]);
    // The store was away for a heartbeat: others may not have been able to renew theirs.
    await thirds(1);
    state.isAway = false;
    await thirds(1);
    await recalled(process);
    await thirds(2);
    await recalled(process);
    expect(freed).toEqual([]);
    await thirds(1);
    await recalled(process);
    expect(freed).toEqual([free]);
  });
});

test("holds in memory whose time is over are found, and no others", async () => {
  const { make, keeper } = await open();
  for (const expiresAtMs of [99, 100, 101]) await make(`h${expiresAtMs}`, 1n, { expiresAtMs });
  expect(keeper.abandoned({ bootId: "b1", nowMs: 7, steadyMs: 100 })).toEqual([
    { kind: "void", hold: "h99", account: "a", key: "k", outcome: "expired", nowMs: 7 },
  ]);
});

test("an account is contested as it was decided last, in any part of the batch", async () => {
  const { keeper, events } = await open();
  const decided = (isContested: boolean): void => events().onDecided(new Map([["a", isContested]]));
  expect(keeper.wasContested("a")).toBe(false);
  await keeper.execute([]);
  decided(true);
  decided(false);
  expect([keeper.wasContested("a"), keeper.wasContested("b")]).toEqual([true, false]);
  await keeper.execute([]);
  decided(false);
  expect(keeper.wasContested("a")).toBe(false);
});

test("what a dead process of this machine had noted is booked once, but for what is of other books", async () => {
  const noted = (id: string, account: string): Intent => ({
    hold: { ...HELD, id, account },
    prices: { version: "v", model: "m", rules: "{}", createdAtMs: 1 },
  });
  const removed: string[] = [];
  const opened: (readonly string[])[] = [];
  let isDone: boolean | undefined;
  const notes: HoldNotes = {
    open: (_, intents) => void opened.push([...intents()].map((intent) => intent.hold.id)),
    note() {},
    left: () => ["dead", "lives"],
    read: () => [noted("h1", "a"), noted("ended", "a"), noted("h2", "of other books")],
    remove: (boot) => void removed.push(boot),
    close: (done) => (isDone = done),
  };
  const { keeper, live, holds, saved, make, state, clock, beat } = await open({ notes });
  live.add("lives");
  holds.set("ended", { ...HELD, id: "ended" });
  expect(await keeper.release()).toBe(1);
  expect([saved.map(({ changes }) => [...changes.newHolds.keys()]), removed]).toEqual([[["h1"]], ["dead"]]);
  await make("mine", 1n);
  await clock.advance(LEASE_MS);
  await beat();
  // Begun with the lease, and once more with the next, by what was still open then.
  expect(opened).toEqual([[], ["mine"]]);
  await keeper.close();
  expect([isDone, state.closed, [...holds.keys()]]).toEqual([true, 1, ["ended", "h1", "mine"]]);
});

const HELD: HoldRow = {
  id: "h",
  account: "a",
  key: "k",
  requestId: "r",
  boot: "dead",
  model: "m",
  priceVersion: "v",
  amount: 60n,
  expectedCost: 20n,
  state: "held",
  settled: null,
  endReason: null,
  createdAtMs: 1,
  expiresAtMs: 2,
  endedAtMs: null,
  task: null,
};
