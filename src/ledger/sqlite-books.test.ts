import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { MAX_MICRO_CREDITS } from "../core/credits.ts";
import { parseFailpoint } from "../core/failpoint.ts";
import { migrate } from "../db/migrate.ts";
import { kyselyOver, openForWriting } from "../db/sqlite.ts";
import type { SqliteDatabase } from "../runtime/sqlite.ts";
import type { Command, ElasticOutput, Outcome } from "./commands.ts";
import { openSqliteBooks, type SqliteBooks } from "./sqlite-books.ts";

const RUNS = {
  seed: Number(process.env.SWITCHYARD_TEST_SEED ?? "1"),
  numRuns: process.env.SWITCHYARD_TEST_LONG === "1" ? 300 : 25,
};

let folder: string;
let file: string;
let database: SqliteDatabase;
let books: SqliteBooks;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "switchyard-books-"));
  file = join(folder, "switchyard.db");
  const migrating = kyselyOver(openForWriting(file));
  await migrate(migrating);
  await migrating.destroy();
  database = openForWriting(file);
  books = openSqliteBooks(database);
});

afterEach(() => {
  database.close();
  rmSync(folder, { recursive: true, force: true });
});

const account = (id = "a"): Command => ({ kind: "create_account", account: id, name: "n", nowMs: 1 });
const grant = (cause: string, amount: bigint, to = "a"): Command => ({
  kind: "grant",
  cause,
  account: to,
  amount,
  reason: "r",
  requestId: "req",
  nowMs: 1,
});
const hold = (
  id: string,
  amount: bigint,
  more: { account?: string; elastic?: ElasticOutput; boot?: string } = {},
) =>
  ({
    kind: "hold",
    hold: id,
    account: "a",
    key: "k",
    requestId: "req",
    boot: "b1",
    amount,
    priceVersion: "v",
    model: "m",
    priceRules: "{}",
    nowMs: 1,
    expiresAtMs: 2,
    ...more,
  }) satisfies Command;
const settle = (id: string, used: bigint): Command => ({
  kind: "settle",
  hold: id,
  used,
  usage: "{}",
  flags: [],
  reason: "completed",
  nowMs: 2,
});
const voided = (id: string): Command => ({ kind: "void", hold: id, reason: "r", nowMs: 2 });

/** Applies one command alone and gives its answer. */
function run(command: Command): unknown {
  const [outcome] = books.apply([command]);
  if (outcome === undefined || !("answer" in outcome)) throw new Error(outcome?.failure);
  return outcome.answer;
}

function state(id = "a"): { balance: bigint; held: bigint } {
  return database.prepare("select balance, held from accounts where id = ?").get(id) as never;
}

/** Invariants I1–I3 of the reliability catalogue. */
function audit(): void {
  const rows = database
    .prepare(
      `select a.id, a.balance, a.held,
         (select coalesce(sum(amount), 0) from ledger where account_id = a.id) as entries,
         (select balance_after from ledger where account_id = a.id order by seq desc limit 1) as last,
         (select coalesce(sum(amount), 0) from holds where account_id = a.id and state = 'held') as open
       from accounts a`,
    )
    .all() as unknown as {
    balance: bigint;
    held: bigint;
    entries: bigint;
    last: bigint | null;
    open: bigint;
  }[];
  for (const { balance, held, entries, last, open } of rows) {
    expect(balance).toBe(entries);
    expect(held).toBe(open);
    expect(balance).toBe(last ?? 0n);
    expect(held >= 0n && held <= balance).toBe(true);
  }
  const unpaid = database
    .prepare(
      `select count(*) as n from holds h
       left join ledger l on l.cause = h.id || ':settle'
       where (h.state = 'settled') <> (l.cause is not null) or (h.state = 'settled' and -l.amount <> h.settled)`,
    )
    .get();
  expect(unpaid?.n).toBe(0n);
}

describe("grants", () => {
  test("add up, and the same grant twice is once, answered as it was then", () => {
    run(account());
    expect(run(grant("g1", 10n))).toEqual({ ok: true, balance: 10n });
    expect(run(grant("g2", 5n))).toEqual({ ok: true, balance: 15n });
    expect(run(grant("g1", 10n))).toEqual({ ok: true, balance: 10n });
    expect(state()).toEqual({ balance: 15n, held: 0n });
    audit();
  });

  const refusals = [
    { name: "another amount under the same cause", command: grant("g", 11n), reason: "other_grant" },
    { name: "another account under the same cause", command: grant("g", 10n, "b"), reason: "other_grant" },
    { name: "an unknown account", command: grant("x", 1n, "nobody"), reason: "unknown_account" },
    { name: "taking back what is held", command: grant("x", -7n), reason: "below_held" },
    { name: "more than an account can hold", command: grant("x", MAX_MICRO_CREDITS), reason: "too_large" },
  ];
  for (const { name, command, reason } of refusals) {
    test(`${name} is refused as ${reason} and changes nothing`, () => {
      books.apply([account(), account("b"), grant("g", 10n), hold("h", 4n)]);
      expect(run(command)).toEqual({ ok: false, reason });
      expect(state()).toEqual({ balance: 10n, held: 4n });
      audit();
    });
  }

  test("can take back everything that is not held", () => {
    books.apply([account(), grant("g", 10n), hold("h", 4n)]);
    expect(run(grant("back", -6n))).toEqual({ ok: true, balance: 4n });
    audit();
  });

  test("reach the largest balance exactly", () => {
    run(account());
    expect(run(grant("g", MAX_MICRO_CREDITS))).toEqual({ ok: true, balance: MAX_MICRO_CREDITS });
    audit();
  });
});

describe("a hold", () => {
  beforeEach(() => void books.apply([account(), grant("g", 100n)]));

  test("sets credit aside, up to the last of it", () => {
    expect(run(hold("h1", 60n))).toEqual({ ok: true, amount: 60n });
    expect(run(hold("h2", 41n))).toEqual({ ok: false, reason: "insufficient_credits", free: 40n });
    expect(run(hold("h3", 40n))).toEqual({ ok: true, amount: 40n });
    expect(state()).toEqual({ balance: 100n, held: 100n });
    audit();
  });

  test("of nothing is a hold", () => expect(run(hold("h", 0n))).toEqual({ ok: true, amount: 0n }));

  test("repeated is one hold, in another batch and in the same", () => {
    const twice = books.apply([hold("h", 30n), hold("h", 30n)]);
    expect([...twice, ...books.apply([hold("h", 30n)])]).toEqual(
      Array.from({ length: 3 }, () => ({ answer: { ok: true, amount: 30n } })),
    );
    expect(state().held).toBe(30n);
  });

  test("that was refused can be made when there is credit", () => {
    expect(run(hold("h", 101n))).toMatchObject({ ok: false });
    run(grant("g2", 1n));
    expect(run(hold("h", 101n))).toEqual({ ok: true, amount: 101n });
    audit();
  });

  test("of a disabled account is refused", () => {
    database.execute("update accounts set status = 'disabled'");
    expect(run(hold("h", 1n))).toMatchObject({ ok: false, reason: "insufficient_credits" });
  });

  test("on an account that does not exist holds nothing", () => {
    const [outcome] = books.apply([hold("h", 1n, { account: "nobody" })]);
    expect(outcome).not.toMatchObject({ answer: { ok: true } });
    expect(database.prepare("select count(*) as n from holds").get()?.n).toBe(0n);
  });
});

describe("an elastic hold", () => {
  const cases = [
    { name: "takes half the free balance", amount: 100n, floor: 10, max: 1_000, want: [500n, 200] },
    { name: "takes no more than the most", amount: 100n, floor: 10, max: 50, want: [200n, 50] },
    { name: "takes the floor when half pays less", amount: 450n, floor: 100, max: 1_000, want: [650n, 100] },
    {
      name: "takes the floor when half is less than its base",
      amount: 700n,
      floor: 100,
      max: 1_000,
      want: [900n, 100],
    },
    { name: "takes a most below the floor", amount: 0n, floor: 9, max: 3, want: [6n, 3] },
    {
      name: "without a price takes the most for nothing",
      amount: 5n,
      floor: 1,
      max: 77,
      price: 0n,
      want: [5n, 77],
    },
  ] as const;
  for (const { name, amount, floor, max, want, ...rest } of cases) {
    test(`${name}, and says the same when repeated`, () => {
      books.apply([account(), grant("g", 1_000n)]);
      const elastic = { tokenPrice: "price" in rest ? rest.price : 2n, maxTokens: max, floorTokens: floor };
      const answer = { ok: true, amount: want[0], outputTokens: want[1] };
      expect(run(hold("h", amount, { elastic }))).toEqual(answer);
      expect(run(hold("h", amount, { elastic }))).toEqual(answer);
      expect(state().held).toBe(want[0]);
    });
  }

  test("that cannot pay its floor is refused", () => {
    books.apply([account(), grant("g", 1_000n)]);
    const elastic = { tokenPrice: 2n, maxTokens: 1_000, floorTokens: 151 };
    expect(run(hold("h", 700n, { elastic }))).toEqual({
      ok: false,
      reason: "insufficient_credits",
      free: 1_000n,
    });
  });

  test("counts what neighbours in its batch hold", () => {
    const elastic = { tokenPrice: 1n, maxTokens: 10_000, floorTokens: 1 };
    const outcomes = books.apply([
      account(),
      grant("g", 1_000n),
      hold("h1", 0n, { elastic }),
      hold("h2", 0n, { elastic }),
    ]);
    expect(outcomes.slice(2)).toEqual([
      { answer: { ok: true, amount: 500n, outputTokens: 500 } },
      { answer: { ok: true, amount: 250n, outputTokens: 250 } },
    ]);
  });
});

describe("the end of a hold", () => {
  beforeEach(() => void books.apply([account(), grant("g", 100n), hold("h", 60n)]));

  test("settled: charges what was used and frees the rest; twice is once", () => {
    expect(run(settle("h", 25n))).toEqual({ ok: true, charged: 25n, lost: 0n });
    expect(run(settle("h", 59n))).toEqual({ ok: true, charged: 25n, lost: 0n });
    expect(state()).toEqual({ balance: 75n, held: 0n });
    audit();
  });

  test("voided: frees all of it; twice is once", () => {
    expect([run(voided("h")), run(voided("h"))]).toEqual([{ ok: true }, { ok: true }]);
    expect(state()).toEqual({ balance: 100n, held: 0n });
    audit();
  });

  const excess = [
    { name: "the free balance", used: 90n, charged: 90n, lost: 0n },
    { name: "the free balance to its last, and the rest is lost", used: 130n, charged: 100n, lost: 30n },
  ];
  for (const { name, used, charged, lost } of excess) {
    test(`settled above the hold takes from ${name}`, () => {
      expect([run(settle("h", used)), run(settle("h", used))]).toEqual([
        { ok: true, charged, lost },
        { ok: true, charged, lost },
      ]);
      expect(state()).toEqual({ balance: 100n - charged, held: 0n });
      expect(database.prepare("select flags from holds").get()?.flags).toBe('["above_hold"]');
      const loss = database.prepare("select -sum(amount) as lost from ledger where kind = 'loss'").get();
      expect(loss?.lost ?? 0n).toBe(lost);
      audit();
    });
  }

  test("settled above the hold never takes what others hold", () => {
    run(hold("other", 30n));
    expect(run(settle("h", 500n))).toEqual({ ok: true, charged: 70n, lost: 430n });
    expect(state()).toEqual({ balance: 30n, held: 30n });
    audit();
  });

  const wrong = [
    { name: "a settle of an unknown hold", commands: [settle("x", 1n)], reason: "unknown_hold" },
    { name: "a void of an unknown hold", commands: [voided("x")], reason: "unknown_hold" },
    { name: "a settle after a void", commands: [voided("h"), settle("h", 1n)], reason: "voided" },
    { name: "a void after a settle", commands: [settle("h", 1n), voided("h")], reason: "settled" },
  ];
  for (const { name, commands, reason } of wrong) {
    test(`${name} is answered ${reason}`, () => {
      expect(books.apply(commands).at(-1)).toMatchObject({ answer: { ok: false, reason } });
      audit();
    });
  }

  test("a hold repeated after its end is not opened again", () => {
    run(settle("h", 10n));
    expect(run(hold("h", 60n))).toMatchObject({ ok: true });
    expect(state()).toEqual({ balance: 90n, held: 0n });
    audit();
  });

  test("orphans of other runs are voided, those of this run stay", () => {
    run(hold("mine", 5n, { boot: "b2" }));
    expect(run({ kind: "void_orphans", boot: "b2", nowMs: 3 })).toEqual({ ok: true, voided: 1 });
    expect(state()).toEqual({ balance: 100n, held: 5n });
    audit();
  });
});

describe("keys", () => {
  const issue = (key: string, more: object = {}): Command => ({
    kind: "issue_key",
    key,
    account: "a",
    name: "n",
    hash: `hash-${key}`,
    hint: "sk-…",
    models: null,
    expiresAtMs: null,
    nowMs: 1,
    ...more,
  });
  const row = (): unknown =>
    database.prepare("select name, models, expires_at_ms, revoked_at_ms from keys").get();

  test("change only in what is named, and not at all once revoked", () => {
    books.apply([account(), issue("k", { models: ["m"], expiresAtMs: 9 })]);
    run({ kind: "change_key", key: "k", name: "new" });
    expect(row()).toEqual({ name: "new", models: '["m"]', expires_at_ms: 9n, revoked_at_ms: null });
    run({ kind: "change_key", key: "k", models: null, expiresAtMs: null });
    expect(row()).toEqual({ name: "new", models: null, expires_at_ms: null, revoked_at_ms: null });
    run({ kind: "revoke_key", key: "k", nowMs: 5 });
    run({ kind: "revoke_key", key: "k", nowMs: 6 });
    expect(run({ kind: "change_key", key: "k", name: "x" })).toEqual({ ok: false, reason: "unknown_key" });
    expect(row()).toMatchObject({ name: "new", revoked_at_ms: 5n });
  });

  test("of unknown accounts and unknown keys are refused", () => {
    expect(run(issue("k"))).toEqual({ ok: false, reason: "unknown_account" });
    expect(run({ kind: "revoke_key", key: "k", nowMs: 5 })).toEqual({ ok: false, reason: "unknown_key" });
  });

  test("with the same hash are refused, and the neighbours in the batch are done", () => {
    const outcomes = books.apply([account(), issue("k1"), issue("k2", { hash: "hash-k1" }), grant("g", 5n)]);
    expect(outcomes.map((outcome) => "answer" in outcome)).toEqual([true, true, false, true]);
    expect(state().balance).toBe(5n);
  });
});

describe("a batch", () => {
  // A type that SQLite cannot store: nobody expects it.
  const impossible = { ...(grant("bad", 1n) as object), reason: 1n << 70n } as unknown as Command;

  test("with one command that fails does the others and answers it with its failure", () => {
    const outcomes = books.apply([account(), grant("g", 10n), impossible, hold("h", 4n)]);
    expect(outcomes.map((outcome) => ("answer" in outcome ? outcome.answer.ok : "failure"))).toEqual([
      true,
      true,
      "failure",
      true,
    ]);
    expect(state()).toEqual({ balance: 10n, held: 4n });
    audit();
  });

  test("whose commit fails is done one by one, each once", () => {
    const failing = openSqliteBooks(
      database,
      parseFailpoint("writer.before_commit:throw", () => {}),
    );
    const outcomes = failing.apply([account(), grant("g", 10n), hold("h", 4n)]);
    expect(outcomes.every((outcome) => "answer" in outcome)).toBe(true);
    expect(state()).toEqual({ balance: 10n, held: 4n });
    audit();
  });

  test("of one whose commit fails is answered with a failure and leaves nothing", () => {
    run(account());
    const failing = openSqliteBooks(
      database,
      parseFailpoint("writer.before_commit:throw", () => {}),
    );
    expect(failing.apply([grant("g", 10n)])).toEqual([{ failure: "failpoint writer.before_commit" }]);
    expect(state().balance).toBe(0n);
    expect(failing.apply([grant("g", 10n)])).toEqual([{ answer: { ok: true, balance: 10n } }]);
  });

  test("of none answers none", () => expect(books.apply([])).toEqual([]));
});

describe("the ledger", () => {
  for (const sql of [
    "update ledger set amount = 1",
    "update ledger set reason = 'x' where kind = 'grant'",
    "delete from ledger",
  ]) {
    test(`refuses "${sql}"`, () => {
      books.apply([account(), grant("g", 10n)]);
      expect(() => database.execute(sql)).toThrow("ledger rows are never");
      audit();
    });
  }

  test("refuses a replaced row", () => {
    books.apply([account(), grant("g", 10n)]);
    const replace = `insert or replace into ledger
      (seq, cause, account_id, counter, amount, balance_after, kind, created_at_ms)
      values (1, 'g:grant', 'a', 'funding', 999, 999, 'grant', 1)`;
    expect(() => database.execute(replace)).toThrow("ledger rows are never");
  });

  for (const sql of [
    "update accounts set balance = -1",
    "update accounts set held = balance + 1",
    "update holds set state = 'held'",
    "update holds set state = 'lost'",
  ]) {
    test(`a row that cannot be is refused: ${sql}`, () => {
      books.apply([account(), grant("g", 10n), hold("h", 1n), settle("h", 1n)]);
      expect(() => database.execute(sql)).toThrow();
    });
  }
});

test("500 holds against credit for 50 in random batches: exactly 50 are made, never one more", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 20, maxLength: 40 }), (sizes) => {
      const id = `a${Bun.hash(JSON.stringify(sizes))}`;
      books.apply([account(id), grant(id, 50n * 7n, id)]);
      const holds = Array.from({ length: 500 }, (_, i) => hold(`${id}-${i}`, 7n, { account: id }));
      const outcomes: Outcome[] = [];
      for (let i = 0; holds.length > 0; i += 1) {
        outcomes.push(...books.apply(holds.splice(0, sizes[i % sizes.length] as number)));
        audit();
      }
      expect(outcomes.filter((outcome) => "answer" in outcome && outcome.answer.ok)).toHaveLength(50);
    }),
    { ...RUNS, numRuns: 2 },
  );
});

/** What happens next, by small numbers, so that holds meet their ends and causes repeat. */
const step = fc.oneof(
  fc.record({
    do: fc.constant("grant" as const),
    n: fc.nat(5),
    who: fc.nat(1),
    amount: fc.integer({ min: -40, max: 60 }),
  }),
  fc.record({ do: fc.constant("hold" as const), n: fc.nat(12), who: fc.nat(1), amount: fc.nat(30) }),
  fc.record({ do: fc.constant("elastic" as const), n: fc.nat(12), who: fc.nat(1), amount: fc.nat(10) }),
  fc.record({ do: fc.constant("settle" as const), n: fc.nat(12), who: fc.nat(1), amount: fc.nat(60) }),
  fc.record({ do: fc.constant("void" as const), n: fc.nat(12), who: fc.nat(1), amount: fc.nat(0) }),
);

/** The rules of money in their plainest form. */
function createModel(names: readonly string[]) {
  const accounts = new Map(names.map((name) => [name, { balance: 0n, held: 0n }]));
  const grants = new Set<string>();
  const holds = new Map<string, { who: string; amount: bigint; open: boolean }>();
  const of = (who: string) => accounts.get(who) as { balance: bigint; held: bigint };
  return {
    accounts,
    apply(command: Command): void {
      if (command.kind === "grant") {
        const at = of(command.account);
        if (grants.has(command.cause) || at.balance + command.amount < at.held) return;
        grants.add(command.cause);
        at.balance += command.amount;
      } else if (command.kind === "hold") {
        const at = of(command.account);
        if (holds.has(command.hold)) return;
        let { amount } = command;
        if (command.elastic !== undefined) {
          const { tokenPrice, maxTokens, floorTokens } = command.elastic;
          const half = Number(((at.balance - at.held) / 2n - amount) / tokenPrice);
          amount += BigInt(Math.min(maxTokens, Math.max(floorTokens, half))) * tokenPrice;
        }
        if (at.balance - at.held < amount) return;
        at.held += amount;
        holds.set(command.hold, { who: command.account, amount, open: true });
      } else if (command.kind === "settle" || command.kind === "void") {
        const found = holds.get(command.hold);
        if (found?.open !== true) return;
        found.open = false;
        const at = of(found.who);
        at.held -= found.amount;
        const used = command.kind === "void" ? 0n : command.used;
        const most = at.balance - at.held;
        at.balance -= used < most ? used : most;
      }
    },
  };
}

test("any history in any batches comes to what the plain rules say, and every batch balances", () => {
  let round = 0;
  fc.assert(
    fc.property(fc.array(fc.array(step, { minLength: 1, maxLength: 8 }), { maxLength: 15 }), (batches) => {
      round += 1;
      const names = [`x${round}`, `y${round}`];
      const model = createModel(names);
      books.apply(names.map((name) => account(name)));
      for (const batch of batches) {
        const commands = batch.map((next): Command => {
          const who = names[next.who] as string;
          const amount = BigInt(next.amount);
          const id = `${round}-${next.n}`;
          switch (next.do) {
            case "grant":
              return grant(`${id}-${who}-${amount}`, amount, who);
            case "hold":
              return hold(id, amount, { account: who });
            case "elastic":
              return hold(id, amount, {
                account: who,
                elastic: { tokenPrice: 2n, maxTokens: 9, floorTokens: 2 },
              });
            case "settle":
              return settle(id, amount);
            case "void":
              return voided(id);
          }
        });
        const outcomes = books.apply(commands);
        expect(outcomes.filter((outcome) => "failure" in outcome)).toEqual([]);
        for (const command of commands) model.apply(command);
        for (const name of names) expect(state(name)).toEqual(model.accounts.get(name) as never);
        audit();
      }
    }),
    RUNS,
  );
});
