import { describe, expect, test } from "bun:test";
import { commandsFor } from "../../../test/ledger/books.ts";
import { stateRead } from "../../../test/ledger/state-read.ts";
import { decide } from "../decide/books.ts";
import type { BooksState, References } from "../decide/state.ts";
import { batchOf } from "./batch.ts";
import { type CheckedJournal, journalFaults } from "./journal-check.ts";
import type { JournalRecord } from "./journal-file.ts";

const { hold, settle } = commandsFor((name) => name);

/** Two records, which charge 25 and 5. */
const [FIRST, SECOND] = (() => {
  const read = stateRead({});
  const textOf = (name: string, used: bigint) =>
    batchOf([], decide(read, [settle(name, used)]).changes).money![0]!.changes;
  const first = textOf("h", 25n);
  decide(read, [hold("x", 5n)]);
  return [first, textOf("x", 5n)];
})();
const RECORDS: readonly JournalRecord[] = [
  { number: 4, text: FIRST },
  { number: 5, text: SECOND },
];

/** A journal whose two records the tables do not have yet, and that is right unless told otherwise. */
interface Given {
  readonly journal?: Partial<CheckedJournal>;
  readonly records?: readonly JournalRecord[];
  readonly gathered?: readonly JournalRecord[];
  readonly known?: BooksState;
  readonly found?: BooksState;
}

const amounts = (balance: bigint, spent: bigint): BooksState =>
  stateRead({ account: { balance }, key: { spent } });

async function faults({ journal, records = RECORDS, gathered = RECORDS, known, found }: Given) {
  const asked: References[] = [];
  const wrong = await journalFaults(
    { files: { id: "one", records }, id: "one", mark: 3, written: 5, ...journal },
    gathered,
    {
      known: known ?? amounts(70n, 30n),
      load: async (references) => {
        asked.push(references);
        return found ?? amounts(100n, 0n);
      },
    },
  );
  return { wrong, asked };
}

describe("a journal is right", () => {
  const cases: readonly (readonly [name: string, given: Given])[] = [
    ["where the tables and its records come to what is in memory", {}],
    ["where this run has written nothing yet", { journal: { written: 0 } }],
    ["where it has nothing, and nothing was written", { records: [], gathered: [], journal: { written: 0 } }],
    ["where the tables have all of it", { journal: { mark: 5 }, gathered: [], known: amounts(1n, 1n) }],
    [
      "where the tables have a record that will come once more",
      { journal: { mark: 4 }, known: amounts(95n, 5n), gathered: RECORDS },
    ],
  ];
  for (const [name, given] of cases) test(name, async () => expect((await faults(given)).wrong).toEqual([]));

  test("of accounts and keys that are not in memory, or not in the tables", async () => {
    const without = (...gone: readonly ("accounts" | "keys")[]): BooksState => {
      const state = amounts(1n, 1n);
      for (const rows of gone) state[rows].clear();
      return state;
    };
    const none = without("accounts", "keys");
    expect((await faults({ known: none })).wrong).toEqual([]);
    expect((await faults({ found: none })).wrong).toEqual([]);
  });

  test("and only what it changes is read", async () => {
    const { asked } = await faults({});
    expect(asked).toMatchObject([{ accounts: new Set(["a"]), keys: new Set(["k"]), holds: new Set() }]);
  });
});

describe("a journal is wrong", () => {
  const gone = "the files of the journal are gone or of another one";
  const cases: readonly (readonly [name: string, given: Given, wrong: string])[] = [
    ["where it is gone", { journal: { files: undefined } }, gone],
    ["where it is another", { journal: { id: "two" } }, gone],
    [
      "where it lacks the last record",
      { records: RECORDS.slice(0, 1) },
      "the journal ends at record 4, and 5 was written",
    ],
    [
      "where all of it is gone",
      { records: [], journal: { written: 1 } },
      "the journal ends at record 0, and 1 was written",
    ],
    [
      "where it has a record that is not due",
      { gathered: RECORDS.slice(0, 1) },
      "2 records follow the tables' mark 3, and 1 should",
    ],
    [
      "where a record is not what was written",
      { gathered: RECORDS.map((record) => ({ ...record, text: FIRST })) },
      "2 records follow the tables' mark 3, and 2 should",
    ],
    ["where an account has more", { known: amounts(71n, 30n) }, "a"],
    ["where a key has spent less", { known: amounts(70n, 29n) }, "k"],
  ];
  for (const [name, given, wrong] of cases)
    test(name, async () => expect((await faults(given)).wrong).toEqual([wrong]));
});
