import { expect, test } from "bun:test";
import { openMemoryStore } from "../../../test/simulation/sqlite-memory.ts";
import type { JournalFile, JournalHome, JournalRecord, ReadJournal } from "./journal-file.ts";
import { takeOverJournal } from "./take-over.ts";

/** What is taken over of tables whose mark is 3, beside a journal as it is found. */
async function takenOver(row: { journal: string | null; isClosed: boolean }, found: ReadJournal | undefined) {
  const database = await openMemoryStore();
  database
    .prepare("update journal set journal = ?, is_closed = ?, number = 3")
    .run(row.journal, Number(row.isClosed));
  const home: JournalHome = { read: () => found, open: (id) => ({ id }) as JournalFile };
  const { journal, ...taken } = takeOverJournal(database, home, () => "new");
  database.close();
  return { ...taken, id: journal.id };
}

const records = (...numbers: readonly number[]): JournalRecord[] =>
  numbers.map((number) => ({ number, text: `record ${number}` }));
const ours = (...numbers: readonly number[]) => ({ id: "one", records: records(...numbers) });
const running = { journal: "one", isClosed: false };

test("the journal of the tables is gone on with, and its records after their mark are left", async () => {
  const goneOn = { id: "one", mark: 3, gap: undefined };
  expect(await takenOver(running, ours(2, 3, 4, 5))).toEqual({ ...goneOn, left: records(4, 5) });
  expect(await takenOver(running, ours(2, 3))).toEqual({ ...goneOn, left: [] });
  expect(await takenOver(running, ours())).toEqual({ ...goneOn, left: [] });
});

test("the first journal of new tables, and one after an end in order, lacks nothing", async () => {
  const anew = { id: "new", mark: 3, left: [], gap: undefined };
  expect(await takenOver({ journal: null, isClosed: false }, undefined)).toEqual(anew);
  expect(await takenOver({ journal: "one", isClosed: true }, undefined)).toEqual(anew);
  expect(await takenOver({ journal: "one", isClosed: true }, { id: "two", records: records(4) })).toEqual(
    anew,
  );
});

test("tables that were copied while they were used, without their journal, lack charges", async () => {
  for (const found of [undefined, { id: "two", records: records(4) }]) {
    const { id, left, gap } = await takenOver(running, found);
    expect([id, left, gap?.kind]).toEqual(["new", [], "incomplete"]);
    expect(gap?.reason).toBe(
      "The database was copied from a running gateway without its journal: charges of the last moments before are missing.",
    );
  }
});

test("tables that are older than their journal do not get what follows a gap", async () => {
  for (const [found, first] of [
    [ours(5, 6), 5],
    [ours(4, 6), 4],
  ] as const) {
    const { id, left, gap } = await takenOver({ journal: "one", isClosed: true }, found);
    expect([id, left, gap?.kind]).toEqual(["new", [], "incomplete"]);
    expect(gap?.reason).toBe(
      `The database is older than the journal beside it (record ${first}, and the database has 3): grants, keys and charges since then are missing. The journal was set aside as *.before-new.`,
    );
  }
});
