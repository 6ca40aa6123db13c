import { describe, expect, test } from "bun:test";
import { commandsFor } from "../../../test/ledger/books.ts";
import { stateRead as state } from "../../../test/ledger/state-read.ts";
import { RESULT, taskCommandsFor } from "../../../test/ledger/task-commands.ts";
import { MAX_MICRO_CREDITS } from "../../core/money/credits.ts";
import { decide } from "./books.ts";
import { noChanges } from "./changes.ts";
import { referencesOf } from "./state.ts";
import type { MoneyCommand } from "../commands.ts";

const { grant, hold, settle, voided } = commandsFor((name) => name);
const { submit, claim, attempt, noteRefusal, noteJob, renew, release, finish, fail, cancel, forgetFiles } =
  taskCommandsFor((name) => name);

describe("what a batch refers to", () => {
  const none = {
    accounts: [],
    keys: [],
    holds: [],
    causes: [],
    tasks: [],
    pendingOf: [],
    runningAt: [],
  };
  const ofTask = { accounts: ["a"], tasks: ["t"] };
  const ofItsHold = { ...ofTask, keys: ["k"], holds: ["t-hold"] };
  const cases: readonly { readonly command: MoneyCommand; readonly want: object }[] = [
    { command: grant("g", 1n), want: { accounts: ["a"], causes: ["g:grant"] } },
    { command: hold("h", 1n), want: { accounts: ["a"], keys: ["k"], holds: ["h"] } },
    { command: settle("h", 1n), want: { accounts: ["a"], keys: ["k"], holds: ["h"], causes: ["h:late"] } },
    { command: voided("h"), want: { accounts: ["a"], keys: ["k"], holds: ["h"] } },
    { command: submit("t", 1n), want: { ...ofItsHold, pendingOf: ["a"] } },
    { command: claim("t", { provider: "p" }), want: { ...ofTask, runningAt: ["p"] } },
    {
      command: attempt("t", 1, { to: { provider: "p", providerLimit: 1 } }),
      want: { ...ofTask, runningAt: ["p"] },
    },
    { command: attempt("t", 1), want: ofTask },
    { command: renew("t", 1), want: ofTask },
    { command: forgetFiles("t"), want: ofTask },
    { command: finish("t", 1n), want: ofItsHold },
    { command: fail("t"), want: ofItsHold },
    { command: cancel("t"), want: ofItsHold },
  ];
  for (const { command, want } of cases) {
    test(`a ${command.kind}`, () => {
      const found = Object.entries(referencesOf([command, command])).map(([name, ids]) => [name, [...ids]]);
      expect(Object.fromEntries(found)).toEqual({ ...none, ...want });
    });
  }
});

describe("what a batch changes", () => {
  test("is the sum for each account and key, and nothing for those that nothing changes", () => {
    const { changes } = decide(state({}), [
      grant("g", 7n),
      hold("h2", 10n),
      settle("h", 25n),
      hold("h3", 5n),
      voided("h3"),
      hold("refused", 1_000n),
    ]);
    expect([...changes.accounts.values()]).toEqual([{ id: "a", balance: -18n, held: -50n }]);
    expect([...changes.keys.values()]).toEqual([{ id: "k", spent: 25n, held: -50n }]);
    expect([...changes.newHolds.keys()]).toEqual(["h2", "h3"]);
    expect(changes.newHolds.get("h3")).toMatchObject({ state: "voided", settled: null });
    expect([...changes.endedHolds.keys()]).toEqual(["h"]);
    expect(changes.entries.map(({ cause, balanceAfter }) => [cause, balanceAfter])).toEqual([
      ["g:grant", 107n],
      ["h:settle", 82n],
    ]);
    expect(changes.requests.map(({ hold: id, charge }) => [id, charge])).toEqual([
      ["h", 25n],
      ["h3", 0n],
    ]);
    expect([...changes.prices.keys()]).toEqual(["v"]);
  });

  test("of a task that changes more than once is its last row, with what was said of its end", () => {
    const read = state({});
    decide(read, [submit("x", 10n), claim("x")]);
    const { outcomes, changes } = decide(read, [finish("x", 5n), forgetFiles("x")]);
    expect(outcomes).toEqual([{ answer: { ok: true, charged: 5n } }, { answer: { ok: true } }]);
    expect([...changes.changedTasks.values()]).toMatchObject([
      {
        was: "running",
        atEpoch: 1,
        state: "completed",
        charge: 5n,
        filesUntilMs: null,
        result: RESULT,
        errorType: null,
        errorMessage: null,
      },
    ]);
  });

  const nothing: readonly { readonly name: string; readonly commands: readonly MoneyCommand[] }[] = [
    { name: "of no commands", commands: [] },
    { name: "of refusals", commands: [hold("x", 41n), grant("x", -41n), settle("x", 1n), voided("x")] },
    { name: "of what was done before", commands: [hold("h", 60n)] },
  ];
  const ofTask: readonly (readonly [did: readonly MoneyCommand[], again: MoneyCommand])[] = [
    [[], submit("x", 10n)],
    [[], claim("x")],
    [[attempt("x", 1)], attempt("x", 1)],
    [[attempt("x", 1), noteRefusal("x", 1)], noteRefusal("x", 1)],
    [[], renew("x", 60_000)],
    [[release("x")], release("x")],
    [[finish("x", 5n)], finish("x", 5n)],
    [[fail("x")], fail("x")],
    [[finish("x", 5n), forgetFiles("x")], forgetFiles("x")],
  ];
  for (const [did, again] of ofTask) {
    test(`of a ${again.kind} that was done before is nothing`, () => {
      const read = state({});
      decide(read, [submit("x", 10n), claim("x"), ...did]);
      const { outcomes, changes } = decide(read, [again]);
      expect(outcomes).toMatchObject([{ answer: { ok: true } }]);
      expect(changes).toEqual(noChanges());
    });
  }

  for (const { name, commands } of nothing) {
    test(`${name} is nothing`, () => {
      const { outcomes, changes } = decide(state({}), commands);
      expect(outcomes).toHaveLength(commands.length);
      const sizes = [changes.accounts, changes.keys, changes.newHolds, changes.endedHolds, changes.prices];
      expect(sizes.map(({ size }) => size)).toEqual([0, 0, 0, 0, 0]);
      expect([changes.entries, changes.requests]).toEqual([[], []]);
    });
  }
});

describe("a broken invariant is a failure of its command, which leaves no trace:", () => {
  const cases: readonly {
    readonly name: string;
    readonly found: Parameters<typeof state>[0];
    readonly command: MoneyCommand;
    readonly failure: string;
  }[] = [
    {
      name: "an account that holds less than its hold",
      found: { account: { held: 59n } },
      command: settle("h", 1n),
      failure: "The account a would come to 99 with -1 held.",
    },
    {
      name: "a key that holds less than its hold",
      found: { key: { held: 59n } },
      command: voided("h"),
      failure: "The key k would hold -1.",
    },
    {
      name: "a balance that does not cover its holds",
      found: { account: { balance: 10n } },
      command: settle("h", 30n),
      failure: "The account a would come to -20 with 0 held.",
    },
    {
      name: "a balance above what a number can tell",
      found: { account: { balance: MAX_MICRO_CREDITS + 2n } },
      command: settle("h", 1n),
      failure: `The account a would come to ${MAX_MICRO_CREDITS + 1n} with 0 held.`,
    },
    {
      name: "a hold of another account",
      found: { hold: { account: "b" } },
      command: settle("h", 1n),
      failure: "The hold h belongs to another account or key.",
    },
    {
      name: "a hold of another key",
      found: { hold: { key: "k2" } },
      command: voided("h"),
      failure: "The hold h belongs to another account or key.",
    },
  ];
  for (const { name, found, command, failure } of cases) {
    test(name, () => {
      const broken = state(found);
      const before = structuredClone(broken);
      const { outcomes, changes } = decide(broken, [command]);
      expect(outcomes).toEqual([{ failure }]);
      expect(broken).toEqual(before);
      expect([changes.accounts.size, changes.keys.size, changes.endedHolds.size]).toEqual([0, 0, 0]);
      expect([changes.entries, changes.requests]).toEqual([[], []]);
    });
  }

  test("an account or a key that is gone", () => {
    for (const command of [voided("h"), settle("h", 1n), settle("h", 61n)])
      for (const kind of ["account", "key"] as const) {
        const broken = state({});
        broken[`${kind}s`].clear();
        const { outcomes, changes } = decide(broken, [command]);
        expect(outcomes).toEqual([{ failure: `The ${kind} ${kind === "key" ? "k" : "a"} is not there.` }]);
        expect(changes).toEqual(noChanges());
      }
  });

  test("and its neighbours are decided as if it were not there", () => {
    const alone = decide(state({ key: { held: 59n } }), [grant("g", 1n), hold("h2", 3n)]);
    const beside = decide(state({ key: { held: 59n } }), [grant("g", 1n), settle("h", 5n), hold("h2", 3n)]);
    expect(beside.outcomes.toSpliced(1, 1)).toEqual([...alone.outcomes]);
    expect(beside.changes).toEqual(alone.changes);
  });
});

test("of what was not counted there is none", () => {
  const told = (...commands: readonly MoneyCommand[]) =>
    decide(state({}), commands).outcomes.map((outcome) => ("answer" in outcome ? outcome.answer : outcome));
  expect(told(submit("x", 1n, { maxPending: 1 }))).toMatchObject([{ ok: true }]);
  expect(told(submit("x", 1n, { maxPending: 0 }))).toEqual([{ ok: false, reason: "too_many_pending" }]);
  const claims = [1, 0].map((providerLimit) => claim("x", { providerLimit }));
  expect(claims.map((command) => told(submit("x", 1n), command)[1])).toMatchObject([
    { ok: true },
    { ok: false, reason: "full" },
  ]);
});

describe("a task that runs goes to another provider", () => {
  const moved = (...did: readonly MoneyCommand[]) => {
    const read = state({});
    decide(read, [submit("x", 10n), claim("x", { provider: "p" }), ...did]);
    const { outcomes, changes } = decide(read, [
      attempt("x", 2, { to: { provider: "q", providerLimit: 1 } }),
    ]);
    return [outcomes[0], changes.changedTasks.get("x")?.provider];
  };
  const refused = { failure: "The task x may have been begun at p: it cannot go to another." };

  test("where all its attempts were surely refused", () => {
    expect(moved(attempt("x", 1), noteRefusal("x", 1))).toEqual([{ answer: { ok: true } }, "q"]);
  });

  test("but not where one may have begun it", () => {
    expect(moved(attempt("x", 1))).toEqual([refused, undefined]);
  });

  test("but not where a job of it is known", () => {
    const did = [attempt("x", 1), noteJob("x", "job-1"), noteRefusal("x", 1)];
    expect(moved(...did)).toEqual([refused, undefined]);
  });
});

test("a task that another process runs is taken, until its lease is over", () => {
  const read = state({});
  decide(read, [submit("x", 10n), claim("x", { nowMs: 10, leaseMs: 60 })]);
  const again = (nowMs: number) =>
    decide(read, [claim("x", { seenEpoch: 1, boot: "b2", nowMs })]).outcomes[0];
  expect(again(69)).toEqual({ answer: { ok: false, reason: "taken" } });
  expect(again(70)).toEqual({ answer: { ok: true, epoch: 2 } });
});

test("a request that ends without a timeline has a row of what is known", () => {
  expect(decide(state({}), [voided("h")]).changes.requests).toEqual([
    {
      id: "r",
      account: "a",
      key: "k",
      hold: "h",
      model: "m",
      provider: null,
      outcome: "refused",
      charge: 0n,
      priceVersion: "v",
      usage: null,
      flags: null,
      attempts: "[]",
      admittedAtMs: 1,
      heldAtMs: 1,
      firstByteAtMs: null,
      endedAtMs: 2,
      settledAtMs: 2,
      cost: null,
    },
  ]);
});

test("tasks that wait and run are counted from command to command", () => {
  const read = state({});
  read.pending.set("a", 0);
  read.running.set("p", 0);
  const isDone = (command: MoneyCommand): boolean => {
    const [outcome] = decide(read, [command]).outcomes;
    return outcome !== undefined && "answer" in outcome && outcome.answer.ok;
  };
  const submitted = (name: string, maxPending: number) => isDone(submit(name, 1n, { maxPending }));
  const claimed = (name: string, providerLimit: number) =>
    isDone(claim(name, { provider: "p", providerLimit }));
  expect([submitted("x", 1), submitted("y", 1), submitted("y", 2)]).toEqual([true, false, true]);
  expect([claimed("x", 1), claimed("y", 1)]).toEqual([true, false]);
  expect([submitted("z", 1), submitted("z", 2), claimed("y", 2)]).toEqual([false, true, true]);
  expect([isDone(finish("x", 1n)), claimed("z", 1), claimed("z", 2)]).toEqual([true, false, true]);
  expect([submitted("w", 1), isDone(cancel("w")), submitted("v", 1)]).toEqual([true, true, true]);
});

describe("a charge above the hold", () => {
  const cases = [
    { name: "is what was used when there is enough", used: 90n, want: 90n },
    { name: "ends where the balance does", used: 130n, want: 100n },
    { name: "loses the least that the balance lacks", used: 101n, want: 100n },
    { name: "ends where the budget does", used: 90n, key: { budget: 75n }, want: 75n },
    { name: "counts what the key has spent", used: 90n, key: { budget: 75n, spent: 10n }, want: 65n },
    { name: "is the hold when the budget is below it", used: 90n, key: { budget: 5n }, want: 60n },
    { name: "is not there when all of the hold was used", used: 60n, key: { budget: 0n }, want: 60n },
    { name: "is not there when less was used", used: 59n, key: { budget: 0n }, want: 59n },
  ];
  for (const { name, used, key = {}, want } of cases) {
    test(name, () => {
      const { outcomes, changes } = decide(state({ key }), [settle("h", used)]);
      expect(outcomes).toEqual([{ answer: { ok: true, charged: want } }]);
      const lost = changes.entries.filter(({ kind }) => kind === "loss");
      // The operator has no balance.
      expect(lost.map(({ amount, balanceAfter }) => [amount, balanceAfter])).toEqual(
        used === want ? [] : [[want - used, 0n]],
      );
      expect(changes.requests).toMatchObject([{ flags: used > 60n ? '["above_hold"]' : null }]);
    });
  }
});
