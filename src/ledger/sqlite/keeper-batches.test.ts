import { describe, expect, test } from "bun:test";
import { commandsFor } from "../../../test/ledger/books.ts";
import { openMemoryStore } from "../../../test/simulation/sqlite-memory.ts";
import type { GatewayError } from "../../core/errors.ts";
import type { Command } from "../commands.ts";
import type { Intent } from "../intents.ts";
import type { Batch, Written } from "./batch.ts";
import { type KeeperParts, openKeeper } from "./keeper.ts";
import { openSqliteStore } from "./store.ts";

const { createAccount, issueKey, grant, hold, settle, voided, close } = commandsFor((name) => name);

/** Tables in memory, and how they answer: a write may fail, get lost before it is done, or lose its answer. */
async function openTables() {
  const database = await openMemoryStore();
  const tables = openSqliteStore(database);
  const batches: Batch[] = [];
  const answers: (Written | "lost" | "lost but written" | undefined)[] = [];
  const state: { loads: number; closed: number; isUnreadable: boolean; answers?: Promise<void> | undefined } =
    {
      loads: 0,
      closed: 0,
      isUnreadable: false,
    };
  const store: KeeperParts["store"] = {
    async load(references) {
      state.loads += 1;
      if (state.isUnreadable) throw new Error("it cannot be read");
      const found = tables.load(references);
      await state.answers;
      return found;
    },
    async write(batch) {
      batches.push(batch);
      const answer = answers.shift();
      if (answer === "lost") throw new Error("the thread died");
      if (answer !== undefined && answer !== "lost but written") return answer;
      const written = tables.write(batch);
      if (answer === "lost but written") throw new Error("the thread died");
      return written;
    },
    current: async () => {},
    close: async () => void (state.closed += 1),
  };
  return { database, store, batches, answers, state };
}

type Tables = Awaited<ReturnType<typeof openTables>>;

/** A keeper of the tables, which have the account `a` with 100 and its key `k`. */
async function open(
  tables: Tables,
  { left = [], mostRows }: { left?: readonly Intent[]; mostRows?: number } = {},
) {
  const notes: string[] = [];
  const state: { lost?: string; isFull: boolean; closed: number } = { isFull: false, closed: 0 };
  const keeper = await openKeeper({
    store: tables.store,
    left,
    openIntents: (holds) => {
      for (const intent of holds()) notes.push(`${intent.hold.id} ${intent.prices.version}`);
      return {
        note({ hold: { id } }) {
          if (state.isFull) throw new Error("no room");
          notes.push(id);
        },
        close: () => void (state.closed += 1),
      };
    },
    lost: () => state.lost,
    ...(mostRows === undefined ? {} : { mostRows }),
  });
  const kindOf = (asked: Promise<unknown>) =>
    asked.then(
      () => "done",
      (error: GatewayError) => error.kind,
    );
  return { keeper, notes, state, kindOf };
}

async function opened() {
  const tables = await openTables();
  const made = await open(tables);
  await made.keeper.execute([createAccount("a"), issueKey("k"), grant("g", 100n)]);
  tables.batches.length = 0;
  return { ...tables, tables, ...made, ofTables: tables.state };
}

const OK = { answer: { ok: true } } as const;
const AWAY = { failure: "no room", passing: true } as const;

describe("a keeper that takes over", () => {
  const intentOf = (name: string, more: object = {}): Intent => ({
    hold: {
      id: name,
      account: "a",
      key: "k",
      requestId: `req-${name}`,
      boot: "before",
      model: "m",
      amount: 10n,
      expectedCost: 4n,
      priceVersion: "v",
      createdAtMs: 1,
      expiresAtMs: 2,
      task: null,
      state: "held",
      settled: null,
      endReason: null,
      endedAtMs: null,
      ...more,
    },
    prices: { version: "v", model: "m", rules: "{}", createdAtMs: 1 },
  });

  test("has the holds of the run before that have not ended, of accounts and keys that are there", async () => {
    const { tables, keeper: before } = await opened();
    await before.hold(hold("ended", 10n));
    await before.execute([voided("ended")]);
    const left = [
      intentOf("h"),
      intentOf("ended"),
      intentOf("of nobody", { account: "nobody" }),
      intentOf("of no key", { key: "nobody's" }),
    ];
    const { keeper, notes } = await open(tables, { left });
    expect([keeper.count(), keeper.held().accounts.get("a"), notes]).toEqual([1, 10n, ["h v"]]);
    expect(await keeper.hold(hold("x", 91n))).toEqual({ ok: false, reason: "insufficient_credits" });
    expect(await keeper.execute([settle("h", 3n)])).toEqual([{ answer: { ok: true, charged: 3n } }]);
    expect(await keeper.compare()).toEqual([]);
  });

  test("has all of many holds", async () => {
    const { tables } = await opened();
    const left = Array.from({ length: 501 }, (_, i) => intentOf(`h${i}`, { amount: 0n }));
    expect((await open(tables, { left })).keeper.count()).toBe(501);
  });
});

test("a keeper closes its notes and its tables once, and says nothing of a journal where it has none", async () => {
  const { keeper, state, ofTables } = await opened();
  expect(await keeper.compareJournal()).toEqual([]);
  await keeper.close();
  await keeper.close();
  expect([state.closed, ofTables.closed]).toEqual([1, 1]);
});

describe("a hold", () => {
  test("is refused for now while nothing can be written, or its note cannot, and nothing is held", async () => {
    const { keeper, state, kindOf } = await opened();
    state.isFull = true;
    expect(await keeper.execute([hold("h", 1n)])).toMatchObject([{ passing: true }]);
    expect(await kindOf((async () => await keeper.hold(hold("h", 1n)))())).toBe("overloaded_error" as never);
    state.isFull = false;
    state.lost = "the disk is broken";
    expect(await kindOf((async () => await keeper.hold(hold("h", 1n)))())).toBe("overloaded_error" as never);
    expect(await keeper.execute([hold("h", 1n), { kind: "ping" }])).toEqual([
      { failure: "the disk is broken", passing: true },
      { failure: "the disk is broken", passing: true },
    ]);
    expect(keeper.count()).toBe(0);
  });

  test("of an account that cannot be read is refused for now", async () => {
    const { tables } = await opened();
    const { keeper, kindOf } = await open(tables);
    tables.state.isUnreadable = true;
    expect(await kindOf((async () => await keeper.hold(hold("h", 1n)))())).toBe("overloaded_error" as never);
    tables.state.isUnreadable = false;
    expect(await keeper.hold(hold("h", 1n))).toEqual({ ok: true, amount: 1n });
  });

  test("that was made before is answered as it was, open or ended", async () => {
    const { keeper, notes } = await opened();
    await keeper.hold(hold("h", 10n));
    expect(await keeper.execute([hold("h", 10n)])).toEqual([{ answer: { ok: true, amount: 10n } }]);
    await keeper.execute([settle("h", 3n)]);
    expect(await keeper.execute([hold("h", 10n)])).toEqual([{ answer: { ok: true, amount: 10n } }]);
    expect([keeper.count(), notes]).toEqual([0, ["h"]]);
  });
});

describe("a batch", () => {
  test("says that nobody waits where it may end the last open hold", async () => {
    const { keeper, batches } = await opened();
    for (const name of ["one", "two"]) await keeper.hold(hold(name, 1n));
    for (const command of [voided("one"), voided("two"), grant("g2", 1n)]) await keeper.execute([command]);
    expect(batches.map(({ nobodyWaits }) => nobodyWaits)).toEqual([false, true, false]);
  });

  test("writes nothing where nothing changes", async () => {
    const { keeper, batches } = await opened();
    expect(await keeper.execute([grant("g", 100n), voided("nobody's")])).toEqual([
      { answer: { ok: true, balance: 100n } },
      { answer: { ok: false, reason: "unknown_hold" } },
    ]);
    expect(batches).toEqual([]);
  });

  test("does first what changes accounts and keys, and the rest in its order, each hold by itself", async () => {
    const { keeper, batches } = await opened();
    const commands: readonly Command[] = [
      grant("g2", 5n),
      hold("h", 105n),
      settle("h", 60n),
      grant("g3", 1n),
      close(),
      { kind: "ping" },
      createAccount("b"),
      { kind: "forget_tasks", beforeMs: 1 },
    ];
    expect(await keeper.execute(commands)).toEqual([
      { answer: { ok: false, reason: "closed" } },
      { answer: { ok: false, reason: "key_not_live" } },
      { answer: { ok: false, reason: "unknown_hold" } },
      { answer: { ok: false, reason: "closed" } },
      OK,
      OK,
      OK,
      OK,
    ]);
    expect(batches.map(({ records }) => records.length)).toEqual([3, 1]);
  });

  test("changes its keys before it holds of them", async () => {
    for (const command of [
      { kind: "change_key", key: "k", expiresAtMs: 0 },
      { kind: "revoke_key", key: "k", nowMs: 1 },
      { kind: "revoke_keys", account: "a", nowMs: 1 },
    ] as const) {
      const { keeper } = await opened();
      expect(await keeper.execute([hold("h", 1n), command])).toEqual([
        { answer: { ok: false, reason: "key_not_live" } },
        OK,
      ]);
    }
  });

  test("that the tables refuse is done command by command; where they take nothing, none is", async () => {
    const { keeper, answers } = await opened();
    answers.push({ failure: "a check" }, undefined, { failure: "a check" });
    expect(await keeper.execute([grant("g2", 1n), grant("g3", 1n), { kind: "ping" }])).toEqual([
      { answer: { ok: true, balance: 101n } },
      { failure: "a check" },
      OK,
    ]);
    answers.push(AWAY);
    expect(await keeper.execute([grant("g4", -40n), { kind: "ping" }])).toEqual([AWAY, AWAY]);
    expect(await keeper.hold(hold("all of it", 101n))).toEqual({ ok: true, amount: 101n });
    expect(await keeper.execute([grant("g5", 1n)])).toEqual([{ answer: { ok: true, balance: 102n } }]);
    expect(await keeper.compare()).toEqual([]);
  });

  test("of which no answer came is known by the tables before anything else is decided", async () => {
    for (const [answer, balance] of [
      ["lost", 101n],
      ["lost but written", 91n],
    ] as const) {
      const { keeper, answers } = await opened();
      await keeper.hold(hold("h", 60n));
      answers.push(answer);
      expect(await keeper.execute([grant("back", -10n)]).catch((error: Error) => error.message)).toBe(
        "the thread died" as never,
      );
      // What it may have taken is not given to others meanwhile.
      expect(await keeper.hold(hold("x", 31n))).toEqual({ ok: false, reason: "insufficient_credits" });
      expect(await keeper.execute([grant("g2", 1n)])).toEqual([{ answer: { ok: true, balance } }]);
      expect([keeper.count(), await keeper.compare()]).toEqual([1, []]);
    }
  });

  test("that ended a hold, and of which no answer came, has ended it where the tables say so", async () => {
    for (const [answer, count] of [
      ["lost", 1],
      ["lost but written", 0],
    ] as const) {
      const { keeper, answers } = await opened();
      await keeper.hold(hold("h", 60n));
      answers.push(answer);
      await keeper.execute([settle("h", 25n)]).catch(() => undefined);
      await keeper.execute([{ kind: "ping" }]);
      expect(keeper.count()).toBe(count);
      expect(await keeper.execute([settle("h", 25n)])).toEqual([{ answer: { ok: true, charged: 25n } }]);
      expect(await keeper.compare()).toEqual([]);
    }
  });
});

test("a comparison names the account and the key that are not what the tables say", async () => {
  const { keeper, database } = await opened();
  await keeper.hold(hold("h", 60n));
  expect(await keeper.compare()).toEqual([]);
  database.execute("update accounts set balance = balance + 1");
  expect(await keeper.compare()).toEqual(["a"]);
  database.execute("update keys set spent = spent + 1");
  expect(await keeper.compare()).toEqual(["a", "k"]);
});

test("a comparison passes by what a batch changes while the tables are read, and what is on its way to them", async () => {
  const { keeper, answers, ofTables, database } = await opened();
  const late = Promise.withResolvers<void>();
  ofTables.answers = late.promise;
  const compared = keeper.compare();
  ofTables.answers = undefined;
  await keeper.execute([grant("g2", 1n)]);
  late.resolve();
  expect(await compared).toEqual([]);
  answers.push("lost but written");
  await keeper.execute([grant("g3", 1n)]).catch(() => undefined);
  expect(await keeper.compare()).toEqual([]);
  await keeper.execute([{ kind: "ping" }]);
  database.execute("update accounts set balance = balance + 1");
  expect(await keeper.compare()).toEqual(["a"]);
});

test("accounts and keys that nothing is held of are read again where few are kept", async () => {
  const { tables } = await opened();
  const { keeper } = await open(tables, { mostRows: 1 });
  await keeper.hold(hold("h", 60n));
  const { loads } = tables.state;
  await keeper.hold(hold("still there", 1n));
  expect(tables.state.loads).toBe(loads);
  await keeper.execute([voided("h"), voided("still there")]);
  expect(await keeper.hold(hold("x", 100n))).toEqual({ ok: true, amount: 100n });
  expect(tables.state.loads).toBe(loads + 1);
});

test("what was read of an account that was changed and dropped meanwhile counts for nothing", async () => {
  const { tables } = await opened();
  const { keeper } = await open(tables, { mostRows: 1 });
  const late = Promise.withResolvers<void>();
  tables.state.answers = late.promise;
  const held = keeper.hold(hold("h", 101n));
  tables.state.answers = undefined;
  await keeper.execute([grant("g2", 1n), voided("nobody's")]);
  late.resolve();
  expect(await held).toEqual({ ok: true, amount: 101n });
});
