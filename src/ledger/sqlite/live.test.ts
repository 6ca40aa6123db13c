import { describe, expect, test } from "bun:test";
import { commandsFor } from "../../../test/ledger/books.ts";
import { stateRead } from "../../../test/ledger/state-read.ts";
import type { MoneyCommand, RecordCommand } from "../commands.ts";
import { decide } from "../decide/books.ts";
import { NO_REFERENCES, noState, referencesOf } from "../decide/state.ts";
import type { HoldRow } from "../rows.ts";
import {
  admitRows,
  dropIdle,
  followRecord,
  give,
  type LiveBooks,
  noLiveBooks,
  placeEffect,
  reload,
  restoreHold,
  stateFor,
  tableChanges,
  take,
  untake,
  withRowsOf,
} from "./live.ts";

const { grant, hold, settle, voided } = commandsFor((name) => name);
const PRICES = { version: "v", model: "m", rules: "{}", createdAtMs: 1 };

/** Books in memory whose account has 100, with 60 held by `h`, and that keep so many rows at least. */
function books(kept?: number): LiveBooks {
  const live = noLiveBooks(kept);
  const { accounts, keys, holds } = stateRead({ account: { held: 0n }, key: { held: 0n } });
  admitRows(live, { ...noState(), accounts, keys });
  restoreHold(live, { hold: holds.get("h")!, prices: PRICES });
  return live;
}

/** What a batch comes to over the books, before anything of it is durable. */
function decided(live: LiveBooks, ...commands: readonly MoneyCommand[]) {
  const { changes } = decide(stateFor(live, referencesOf(commands), noState()), commands);
  return { changes, written: tableChanges(live, changes), taking: take(live, changes) };
}

/** Balance and held of the account, spent and held of the key, and the open holds. */
function amounts({ state }: LiveBooks) {
  const { balance, held } = state.accounts.get("a")!;
  const key = state.keys.get("k")!;
  return [balance, held, key.spent, key.held, [...state.holds.keys()].join(" ")];
}

describe("a batch", () => {
  const cases: readonly {
    readonly name: string;
    readonly command: MoneyCommand;
    /** Held of account and key while it is written. */
    readonly meanwhile: readonly [account: bigint, key: bigint];
    readonly after: readonly (bigint | string)[];
  }[] = [
    {
      name: "that gives credit gives it when it is durable",
      command: grant("g", 7n),
      meanwhile: [60n, 60n],
      after: [107n, 60n, 0n, 60n, "h"],
    },
    {
      name: "that takes credit back takes it at once",
      command: grant("g", -7n),
      meanwhile: [67n, 60n],
      after: [93n, 60n, 0n, 60n, "h"],
    },
    {
      name: "that charges less than its hold frees the rest when it is durable",
      command: settle("h", 25n),
      meanwhile: [60n, 60n],
      after: [75n, 0n, 25n, 0n, ""],
    },
    {
      name: "that charges more than its hold takes what is above it at once",
      command: settle("h", 61n),
      meanwhile: [61n, 61n],
      after: [39n, 0n, 61n, 0n, ""],
    },
    {
      name: "that frees a hold frees it when it is durable",
      command: voided("h"),
      meanwhile: [60n, 60n],
      after: [100n, 0n, 0n, 0n, ""],
    },
  ];
  for (const { name, command, meanwhile, after } of cases)
    test(`${name}, and leaves nothing where it was not written`, () => {
      const live = books();
      const before = amounts(live);
      const { taking } = decided(live, command);
      expect(amounts(live)).toEqual([100n, meanwhile[0], 0n, meanwhile[1], "h"]);
      untake(live, taking);
      expect(amounts(live)).toEqual(before);
      const changed = new Set<string>();
      live.watching.add(changed);
      give(live, decided(live, command).taking);
      expect(amounts(live)).toEqual([...after]);
      expect([...changed]).toEqual(command.kind === "grant" ? ["a"] : ["a", "k"]);
    });

  test("brings a hold to the tables with its end and its prices, and never as held", () => {
    const live = books();
    const { written } = decided(live, settle("h", 25n));
    expect([...written.newHolds.values()]).toMatchObject([{ id: "h", state: "settled" }]);
    expect([...written.endedHolds]).toEqual([]);
    expect([...written.accounts.values()]).toEqual([{ id: "a", balance: -25n, held: 0n }]);
    expect([...written.keys.values()]).toEqual([{ id: "k", spent: 25n, held: 0n }]);
    expect([...written.prices.values()]).toEqual([PRICES]);
  });

  test("writes no account and no key that it does not change", () => {
    const { written } = decided(books(), voided("h"));
    expect([written.accounts.size, written.keys.size, written.newHolds.size]).toEqual([0, 0, 1]);
    const given = decided(books(), grant("g", 1n)).written;
    expect([given.accounts.size, given.keys.size]).toEqual([1, 0]);
    // A hold of a task stands in the tables, and is held there.
    const made = decided(books(), hold("x", 1n)).written;
    expect([...made.accounts.values(), ...made.keys.values()]).toEqual([
      { id: "a", balance: 0n, held: 1n },
      { id: "k", spent: 0n, held: 1n },
    ]);
  });

  test("ends in the tables a hold that stands there", () => {
    const live = books();
    live.state.holds.delete("h");
    const found = { ...noState(), holds: stateRead({}).holds };
    const { changes } = decide(stateFor(live, referencesOf([voided("h")]), found), [voided("h")]);
    const written = tableChanges(live, changes);
    expect([[...written.endedHolds.keys()], written.newHolds.size]).toEqual([["h"], 0]);
    expect([...written.accounts.values()]).toEqual([{ id: "a", balance: 0n, held: -60n }]);
  });
});

test("rows that were read take the place of none in memory", () => {
  const live = books();
  const { accounts, keys } = stateRead({ account: { balance: 1n }, key: { spent: 1n } });
  accounts.set("b", { ...accounts.get("a")!, id: "b" });
  keys.set("k2", { ...keys.get("k")!, id: "k2" });
  admitRows(live, { ...noState(), accounts, keys });
  expect(amounts(live)).toEqual([100n, 60n, 0n, 60n, "h"]);
  expect([live.state.accounts.get("b")?.balance, live.state.keys.get("k2")?.spent]).toEqual([1n, 1n]);
});

test("a hold that is placed counts at once, with the prices that were known first", () => {
  const live = books();
  const prices = (version: string) => ({ ...PRICES, version, model: "later" });
  for (const version of ["v", "v2"])
    placeEffect(live, {
      account: { id: "a", balance: 0n, held: 5n },
      key: { id: "k", spent: 0n, held: 5n },
      hold: { ...live.state.holds.get("h")!, id: `x-${version}`, amount: 5n },
      prices: prices(version),
    });
  expect(amounts(live)).toEqual([100n, 70n, 0n, 70n, "h x-v x-v2"]);
  expect([...live.prices.values()]).toEqual([PRICES, prices("v2")]);
});

test("rows that are read anew count the holds in memory, but those that the tables know as ended", () => {
  const live = books();
  const open = live.state.holds.get("h")!;
  for (const id of ["ended", "still"])
    restoreHold(live, { hold: { ...open, id, amount: 5n }, prices: PRICES });
  const { accounts, keys } = stateRead({
    account: { balance: 90n, held: 1n },
    key: { spent: 10n, held: 2n },
  });
  const holds = new Map<string, HoldRow>([
    ["ended", { ...open, id: "ended", state: "settled" }],
    ["still", { ...open, id: "still" }],
  ]);
  reload(live, { ...noState(), accounts, keys, holds });
  expect(amounts(live)).toEqual([90n, 66n, 10n, 67n, "h still"]);
  reload(live, {
    ...noState(),
    accounts: new Map([["b", { ...accounts.get("a")!, id: "b" }]]),
    keys: new Map([["k2", { ...keys.get("k")!, id: "k2" }]]),
  });
  expect([live.state.accounts.get("b")?.held, live.state.keys.get("k2")?.held]).toEqual([1n, 2n]);
});

describe("a command that changed rows in the tables", () => {
  const key = (live: LiveBooks) => live.state.keys.get("k");
  const followed = (...commands: readonly RecordCommand[]): LiveBooks => {
    const live = books();
    live.state.keys.set("k2", { ...key(live)!, id: "k2", account: "b", budget: 9n, expiresAtMs: 9 });
    for (const command of commands) followRecord(live, command);
    return live;
  };
  const revoke = (nowMs: number, name = "k") => ({ kind: "revoke_key", key: name, nowMs }) as const;
  const revokeAll = (nowMs: number) => ({ kind: "revoke_keys", account: "a", nowMs }) as const;

  test("closes the account in memory, and no other", () => {
    const status = (account: string) =>
      followed({ kind: "close_account", account }).state.accounts.get("a")?.status;
    expect([status("a"), status("b")]).toEqual(["disabled", "active"]);
  });

  test("revokes the key once, or all of its account", () => {
    expect(key(followed(revoke(5), revoke(6)))?.revokedAtMs).toBe(5);
    expect(key(followed(revoke(5), revokeAll(6)))?.revokedAtMs).toBe(5);
    expect(key(followed(revokeAll(6), revokeAll(7)))?.revokedAtMs).toBe(6);
    expect(key(followed(revoke(5, "k2"), revoke(5, "nobody's")))?.revokedAtMs).toBeNull();
    expect(followed(revokeAll(6)).state.keys.get("k2")?.revokedAtMs).toBeNull();
  });

  test("changes what is named of the key", () => {
    const changed = (changes: object) => {
      const { budget, expiresAtMs } = followed({ kind: "change_key", key: "k2", ...changes }).state.keys.get(
        "k2",
      )!;
      return [budget, expiresAtMs];
    };
    expect([changed({}), changed({ budget: null }), changed({ expiresAtMs: 5 })]).toEqual([
      [9n, 9],
      [null, 9],
      [9n, 5],
    ]);
  });

  test("names the rows in memory that are read again where its answer was lost", () => {
    const named = (command: RecordCommand) => {
      const { accounts, keys } = withRowsOf([command], NO_REFERENCES, followed());
      return [[...accounts], [...keys]];
    };
    expect(named({ kind: "close_account", account: "a" })).toEqual([["a"], []]);
    expect(named(revokeAll(5))).toEqual([[], ["k"]]);
    expect(named(revoke(5, "k2"))).toEqual([[], ["k2"]]);
    expect(named({ kind: "ping" })).toEqual([[], []]);
  });
});

describe("rows that nothing is held of", () => {
  /** Books with idle accounts beside the one of `h`. */
  const crowded = (kept: number, idle: number): LiveBooks => {
    const live = books(kept);
    for (let i = 0; i < idle; i += 1)
      live.state.accounts.set(`idle-${i}`, { ...live.state.accounts.get("a")!, id: `idle-${i}` });
    return live;
  };

  test("are dropped when there are more than are kept, and not before", () => {
    const full = crowded(4, 2);
    dropIdle(full);
    expect([full.state.accounts.size, full.drops]).toEqual([3, 0]);
    const over = crowded(4, 3);
    over.state.keys.set("k2", { ...over.state.keys.get("k")!, id: "k2" });
    dropIdle(over);
    expect([[...over.state.accounts.keys()], [...over.state.keys.keys()], over.drops]).toEqual([
      ["a"],
      ["k"],
      1,
    ]);
    expect(amounts(over)).toEqual([100n, 60n, 0n, 60n, "h"]);
  });

  test("are looked for again once there are twice as many as are busy, or more than are kept", () => {
    const most = (kept: number, idle: number): number => {
      const live = crowded(kept, idle);
      dropIdle(live);
      return live.mostRows;
    };
    expect([most(2, 1), most(3, 2), most(5, 4)]).toEqual([4, 4, 5]);
  });
});
