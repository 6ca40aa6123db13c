import { describe, expect, test } from "bun:test";
import { commandsFor } from "../../../test/ledger/books.ts";
import { stateRead } from "../../../test/ledger/state-read.ts";
import { taskCommandsFor } from "../../../test/ledger/task-commands.ts";
import type { MoneyCommand } from "../commands.ts";
import { decide } from "../decide/books.ts";
import { type Changes, noChanges } from "../decide/changes.ts";
import { batchOf, readChanges, WRITES } from "./batch.ts";
import { endsIn, gapStatement } from "./gaps.ts";

const { grant, hold, settle, voided } = commandsFor((name) => name);
const { submit, claim, cancel } = taskCommandsFor((name) => name);
const PING = { sql: "update store_health set pings = pings + 1", values: [] };

const changesOf = (...commands: readonly MoneyCommand[]): Changes => decide(stateRead({}), commands).changes;

describe("a batch goes to the journal first", () => {
  const settled = changesOf(settle("h", 25n));
  /** The charge, in a row beside which all is as it was. */
  const charged = (charge: bigint): Changes => ({
    ...settled,
    requests: settled.requests.map((row) => ({ ...row, charge })),
  });
  const at = (settledAtMs: number): Changes => ({
    ...settled,
    requests: settled.requests.map((row) => ({ ...row, settledAtMs })),
  });
  const cases: readonly (readonly [name: string, changes: Changes, isJournaled: boolean])[] = [
    ["where it charges a request", settled, true],
    ["where it frees the hold of a request", changesOf(voided("h")), true],
    ["not where it ends no request", changesOf(hold("x", 1n)), false],
    ["not where it gives credit as well", changesOf(settle("h", 25n), grant("g", 1n)), false],
    ["not where it makes a task as well", changesOf(settle("h", 25n), submit("x", 1n)), false],
    ["not where it is of a task", changesOf(submit("x", 1n), cancel("x")), false],
    ["with the largest number that a table takes", charged(2n ** 63n - 1n), true],
    ["with the smallest", charged(-(2n ** 63n)), true],
    ["not with a larger one, which the table refuses", charged(2n ** 63n), false],
    ["not with a smaller one", charged(-(2n ** 63n) - 1n), false],
    ["not with a time that is no whole number", at(0.5), false],
  ];
  for (const [name, changes, isJournaled] of cases)
    test(name, () => expect(batchOf([], changes).isJournaled).toBe(isJournaled));

  test("not where it writes a fact as well", () => {
    expect(batchOf([PING], settled).isJournaled).toBe(false);
  });
});

describe("a batch of the tables", () => {
  test("has no changes where nothing changed", () => {
    expect(batchOf([PING], noChanges())).toEqual({ records: [PING] });
  });

  test("is read as it was written, amounts and empty columns at the end too", () => {
    const { money } = batchOf([], changesOf(settle("h", 25n), hold("x", 1n)));
    const { rows, endedTasks } = readChanges(money![0]!.changes);
    const read = rows.flatMap((ofWrite, i) =>
      ofWrite.map((row) => {
        const { write, members } = WRITES[i]!;
        expect(row).toHaveLength(members.length);
        return [write.kind, write.rows.table, Object.fromEntries(members.map((name, n) => [name, row[n]]))];
      }),
    );
    expect(read).toMatchObject([
      ["insert", "price_versions", { version: "v", createdAtMs: 1 }],
      ["update", "accounts", { id: "a", balance: -25n, held: -59n }],
      ["update", "keys", { id: "k", spent: 25n, held: -59n }],
      ["insert", "holds", { id: "x", amount: 1n, settled: null, endedAtMs: null }],
      ["update", "holds", { id: "h", settled: 25n, state: "settled" }],
      ["insert", "ledger", { cause: "h:settle", amount: -25n }],
      ["insert", "requests", { id: "r", charge: 25n, cost: null }],
    ]);
    expect(endedTasks).toEqual([]);
  });

  test("has the end of a task that was never begun", () => {
    const { money } = batchOf([], changesOf(submit("x", 1n), cancel("x")));
    const { rows } = readChanges(money![0]!.changes);
    const at = WRITES.findIndex(({ write }) => write.kind === "insert" && write.rows.table === "tasks");
    expect(rows[at]?.[0]?.slice(-3)).toEqual([null, null, 2]);
  });

  test("has the requests of new tasks, and names the tasks that ended", () => {
    const read = stateRead({});
    const [made] = batchOf([], decide(read, [submit("x", 1n)]).changes).money!;
    expect([...made!.payloads.keys()]).toEqual(["x"]);
    const [claimed] = batchOf([], decide(read, [claim("x", { providerLimit: 1 })]).changes).money!;
    expect(readChanges(claimed!.changes).endedTasks).toEqual([]);
    read.tasks.set("x", { ...read.tasks.get("x")!, state: "pending" });
    const [ended] = batchOf([], decide(read, [cancel("x")]).changes).money!;
    expect(readChanges(ended!.changes).endedTasks).toEqual(["x"]);
  });
});

describe("a record that is set aside", () => {
  const text = batchOf([], changesOf(settle("h", 25n), hold("x", 1n), voided("x"))).money![0]!.changes;

  test("names the requests that it ends, whose they are and what they were charged", () => {
    expect(endsIn(text)).toEqual([
      { request: "r", account: "a", charge: 25n },
      { request: "req-x", account: "a", charge: 0n },
    ]);
    const { changes } = batchOf([], changesOf(grant("g", 1n))).money![0]!;
    expect(endsIn(changes)).toEqual([]);
  });

  test("is written down as it was, and so is a journal that is not complete", () => {
    const refused = { number: 7, text };
    expect(gapStatement({ kind: "refused", reason: "why", refused }, 5).values).toEqual([
      "refused",
      "why",
      7,
      text,
      5,
    ]);
    expect(gapStatement({ kind: "incomplete", reason: "why" }, 5).values).toEqual([
      "incomplete",
      "why",
      null,
      null,
      5,
    ]);
  });
});
